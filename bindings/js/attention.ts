// SPDX-License-Identifier: Apache-2.0
/** `attention`: its options against what it supports, its tensors against each other, one crossing. */

import { Arena, type Slot } from './arena.js';
import { type AttentionResult, type Given, readOptions, where } from './attention-options.js';
import { type Rules, readRules } from './attention-rules.js';
import { readScores, type Scores } from './attention-scores.js';
import { checkHeads, mismatch, readShapes, type Shapes } from './attention-shapes.js';
import type { Engine } from './engine.js';
import { encodingOf, type Held, requireLive } from './handles.js';
import { isArray } from './intrinsics.js';
import { captureMask, type Mask } from './mask.js';
import { type CapturedPositions, capturePositions } from './positions.js';
import type { RawAttention } from './raw.js';
import { captureTarget, freshTarget } from './target.js';
import { capture, type Source } from './tensor.js';
import { boolean, choice, reading, sizeOf } from './validate.js';

export function attention(
  engine: Engine,
  q: unknown,
  k: unknown,
  v: unknown,
  options: unknown,
): AttentionResult {
  engine.requireUsable();
  const given = readOptions(options);
  const question = readQuestion(engine, q, k, v, given);
  return compute(engine, question, given);
}

/** What is asked, forward and backward alike. */
export function readQuestion(
  engine: Engine,
  q: unknown,
  k: unknown,
  v: unknown,
  given: Given,
): Question {
  const layout = choice(where, 'layout', given.get('layout') ?? 'bhnd', ['bhnd', 'bnhd']);
  const encodings = readEncodings(engine, given.get('encoding'));
  const sources = [q, k, v].map((one, i) => capture(engine, where, 'qkv'[i], one));
  const shapes = readShapes(sources, layout);
  checkHeads(shapes);
  const scores = readScores(engine, given, shapes);
  const rules = readRules(given, shapes);
  const places = readPositions(given, encodings, shapes);
  const mask = captureMask(engine, given.get('mask'), shapes);
  return {
    sources,
    shapes,
    encodings,
    mask,
    places,
    layout: layout === 'bnhd' ? 1 : 0,
    scores,
    rules,
  };
}

function readEncodings(engine: Engine, given: unknown): readonly Held[] {
  if (given === undefined) return [];
  if (!isArray(given)) return [encodingOf(engine, where, 'encoding', given)];
  // Not map(), which steps over holes.
  return reading(where, 'encoding', given, () =>
    Array.from({ length: given.length }, (_, i) =>
      encodingOf(engine, where, `encoding[${i}]`, given[i]),
    ),
  );
}

interface Places {
  axes: number;
  query?: CapturedPositions;
  key?: CapturedPositions;
}

function readPositions(given: Given, encodings: readonly Held[], shapes: Shapes): Places {
  const axes = Math.max(1, ...encodings.map(({ info }) => info.axes));
  const integer = encodings.some(({ info }) => info.positions !== 'real');
  const countable = encodings.every(({ info }) => info.axes === 1 || info.textAxes);
  const read = (field: 'queryPositions' | 'keyPositions', rows: number) => {
    const value = given.get(field);
    if (value === undefined && countable) return undefined;
    if (value === undefined)
      throw mismatch('MISSING_OPTION', field, `given for ${axes} axes`, undefined);
    return capturePositions(where, field, value, { axes, integer, rows, batch: shapes.batch });
  };
  const query = read('queryPositions', shapes.queries);
  const key = read('keyPositions', shapes.keys);
  return { axes, ...(query && { query }), ...(key && { key }) };
}

export interface Question {
  sources: readonly Source[];
  shapes: Shapes;
  encodings: readonly Held[];
  mask: Mask | undefined;
  places: Places;
  layout: number;
  scores: Scores;
  rules: Rules;
}

export const nowhere: Slot = { address: 0 };
const none = new Float64Array(0);

function compute(engine: Engine, question: Question, given: Given): AttentionResult {
  const { shapes, sources } = question;
  const wants = (name: 'weights' | 'logSumExp') => boolean(where, name, given.get(name) ?? false);
  const [wantsWeights, wantsLogSumExp] = [wants('weights'), wants('logSumExp')];
  const output = captureTarget(engine, where, given.get('out'), shapes.output, { sources });
  const weights = wantsWeights ? freshTarget(where, shapes.weights) : undefined;
  const logSumExp = wantsLogSumExp ? freshTarget(where, shapes.rows) : undefined;
  const arena = new Arena(engine);
  const out = arena.output(output);
  const weightsAt = weights === undefined ? nowhere : arena.output(weights);
  const logSumExpAt = logSumExp === undefined ? nowhere : arena.output(logSumExp);
  // An empty output needs no positions, of which a made-up shape has very many.
  const idle = sizeOf(shapes.output) === 0 && weights === undefined && logSumExp === undefined;
  const placed = place(arena, question, idle);
  return arena.run(where, () => {
    const call = placed(out, weightsAt, logSumExpAt);
    engine.check(where, (raw) => raw.attention(call));
    return {
      output: output.finish(engine, out.address),
      ...(weights && { weights: weights.finish(engine, weightsAt.address) }),
      ...(logSumExp && { logSumExp: logSumExp.finish(engine, logSumExpAt.address) }),
    };
  });
}

/**
 * Puts all that a question reads where the call finds it. What comes back looks at the mask's values,
 * so it is for inside the run and before the crossing.
 */
export function place(
  arena: Arena,
  question: Question,
  idle: boolean,
): (out: Slot, weights: Slot, logSumExp: Slot) => RawAttention {
  const { shapes, sources, places, mask, encodings, layout } = question;
  const [q, k, v] = sources.map((source) => arena.input(source));
  const positions = (given: CapturedPositions | undefined) =>
    given === undefined ? nowhere : arena.doubles(idle ? none : given.values);
  const [queryAt, keyAt] = [positions(places.query), positions(places.key)];
  const maskAt = mask === undefined ? nowhere : mask.place(arena);
  arena.requires(() => {
    for (const one of encodings) requireLive(where, one);
  });
  const { sinks, qNormWeight, kNormWeight } = question.scores.place(arena);
  const { sequences, ...rules } = question.rules;
  const sequencesAt = arena.words(sequences);
  const handles = arena.words(encodings.map(({ handle }) => handle));
  return (out, weights, logSumExp) => {
    mask?.check(maskAt.address);
    return {
      q: q.address,
      k: k.address,
      v: v.address,
      out: out.address,
      weights: weights.address,
      logSumExp: logSumExp.address,
      batch: shapes.batch,
      heads: shapes.heads,
      kvHeads: shapes.kvHeads,
      queries: shapes.queries,
      keys: shapes.keys,
      headDim: shapes.headDim,
      valueDim: shapes.valueDim,
      layout,
      ...question.scores.numbers,
      sinks: sinks.address,
      qNormWeight: qNormWeight.address,
      kNormWeight: kNormWeight.address,
      ...rules,
      sequences: sequences.length === 0 ? 0 : sequencesAt.address,
      sequenceCount: sequences.length / 7,
      queryPositions: queryAt.address,
      keyPositions: keyAt.address,
      queryPositionRows: places.query?.batch ?? 1,
      keyPositionRows: places.key?.batch ?? 1,
      axes: places.axes,
      mask: maskAt.address,
      maskIsFloat: mask?.isFloat ?? false,
      maskBatchStride: mask?.strides[0] ?? 0,
      maskHeadStride: mask?.strides[1] ?? 0,
      maskRowStride: mask?.strides[2] ?? 0,
      maskColumnStride: mask?.strides[3] ?? 0,
      encodings: encodings.length === 0 ? 0 : handles.address,
      encodingCount: encodings.length,
    };
  };
}
