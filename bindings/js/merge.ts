// SPDX-License-Identifier: Apache-2.0
/** `merge`: attention over split keys put together again through the logSumExp of each part. */

import { Arena } from './arena.js';
import type { AttentionResult } from './attention-options.js';
import { readSinks } from './attention-scores.js';
import type { Engine } from './engine.js';
import { fault, shapeText, text } from './errors.js';
import { isArray } from './intrinsics.js';
import { captureTarget, freshTarget } from './target.js';
import { capture } from './tensor.js';
import type { Tensor, TensorInput } from './types.js';
import { choice, options, or, reading, sameShape, sizeOf, wrongType } from './validate.js';

/** What `attention` gives when asked for `logSumExp`; any more is not looked at. */
export interface PartialAttention {
  readonly output: TensorInput;
  readonly logSumExp?: TensorInput;
}

export interface MergeOptions {
  /** Of the outputs. @default 'bhnd' */
  layout?: 'bhnd' | 'bnhd';
  /** Logits [H] of the whole, as `attention` takes them; the parts are then computed without. */
  sinks?: ArrayLike<number>;
  /** Where the output goes. */
  out?: Tensor;
}

const where = 'merge';

export function merge(
  engine: Engine,
  results: unknown,
  given: unknown,
): Required<Pick<AttentionResult, 'output' | 'logSumExp'>> {
  engine.requireUsable();
  const read = options(where, given, ['layout', 'sinks', 'out']);
  const layout = choice(where, 'layout', or(read.get('layout'), 'bhnd'), ['bhnd', 'bnhd']);
  const parts = readParts(engine, results);
  const [{ output: first }] = parts;
  const { batch, heads, queries, width, rows } = axesOf(first.shape, layout);
  for (const [i, { output, logSumExp }] of parts.entries()) {
    requireShape(`results[${i}].output`, output.shape, first.shape);
    requireShape(`results[${i}].logSumExp`, logSumExp.shape, rows);
  }
  const sources = parts.flatMap(({ output, logSumExp }) => [output, logSumExp]);
  const sinks = readSinks(where, read.get('sinks'), heads);
  const target = captureTarget(engine, where, read.get('out'), first.shape, { sources });
  const sums = freshTarget(where, rows);
  const arena = new Arena(engine);
  const slots = sources.map((source) => arena.input(source));
  const out = arena.output(target);
  const sumsAt = arena.output(sums);
  const sinksAt = sinks(arena);
  const list = arena.bytes(slots.length * 4, (at) => {
    for (const [i, { address }] of slots.entries()) engine.u32[at / 4 + i] = address;
  });
  return arena.run(where, () => {
    engine.check(where, (raw) =>
      raw.merge(
        list.address,
        parts.length,
        sinksAt.address,
        out.address,
        sumsAt.address,
        batch,
        heads,
        queries,
        width,
        layout === 'bnhd' ? 1 : 0,
      ),
    );
    return {
      output: target.finish(engine, out.address),
      logSumExp: sums.finish(engine, sumsAt.address),
    };
  });
}

function readParts(engine: Engine, results: unknown) {
  const expected = 'a list of what attention gave, at least one';
  if (!isArray(results)) throw wrongType(where, 'results', expected, results);
  const one = (i: number) => {
    const field = `results[${i}]`;
    const part: unknown = results[i];
    if (typeof part !== 'object' || part === null)
      throw wrongType(where, field, 'an object with output and logSumExp', part);
    return reading(where, field, part, () => {
      const { output, logSumExp } = part as { output?: unknown; logSumExp?: unknown };
      if (logSumExp === undefined)
        throw fault('MISSING_OPTION', {
          where,
          field: `${field}.logSumExp`,
          expected: 'there: ask attention for { logSumExp: true }',
        });
      return {
        output: capture(engine, where, `${field}.output`, output),
        logSumExp: capture(engine, where, `${field}.logSumExp`, logSumExp),
      };
    });
  };
  return reading(where, 'results', results, () => {
    const { length } = results;
    if (length === 0)
      throw fault('BAD_SHAPE', { where, field: 'results', expected, received: text('none') });
    // Not map(), which steps over holes.
    return Array.from({ length }, (_, i) => one(i));
  });
}

function axesOf(shape: readonly number[], layout: 'bhnd' | 'bnhd') {
  if (shape.length !== 3 && shape.length !== 4)
    throw fault('SHAPE_MISMATCH', {
      where,
      field: 'results[0].output',
      expected: `of shape ${layout === 'bhnd' ? '[B, H, T, D]' : '[B, T, H, D]'} or without B`,
      received: text(shapeText(shape)),
    });
  const [batch, second, third, width] = shape.length === 4 ? shape : [1, ...shape];
  const [heads, queries] = layout === 'bhnd' ? [second, third] : [third, second];
  return {
    batch,
    heads,
    queries,
    width,
    rows: shape.length === 4 ? [batch, heads, queries] : [heads, queries],
  };
}

function requireShape(field: string, got: readonly number[], wanted: readonly number[]): void {
  if (sameShape(got, wanted)) return;
  throw fault('SHAPE_MISMATCH', {
    where,
    field,
    expected: `of shape ${shapeText(wanted)}, ${sizeOf(wanted)} numbers`,
    received: text(shapeText(got)),
  });
}
