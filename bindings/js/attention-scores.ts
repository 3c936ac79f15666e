// SPDX-License-Identifier: Apache-2.0
/** What happens to queries, keys and scores on their way to the softmax, beside encodings. */

import type { Arena, Slot } from './arena.js';
import { type Given, where } from './attention-options.js';
import { mismatch, type Shapes } from './attention-shapes.js';
import type { Engine } from './engine.js';
import { fault, shapeText, text } from './errors.js';
import { isArray, isView } from './intrinsics.js';
import { copyNumbers } from './number-lists.js';
import type { RawAttention } from './raw.js';
import { capture, type Source } from './tensor.js';
import { choice, finite, or, record, unknownOption } from './validate.js';

type Numbers = Pick<
  RawAttention,
  | 'scale'
  | 'softcap'
  | 'queryScaleKind'
  | 'queryScaleLength'
  | 'queryScaleFactor'
  | 'qNormKind'
  | 'qNormHeads'
  | 'qNormEpsilon'
  | 'qNormAfter'
  | 'kNormKind'
  | 'kNormHeads'
  | 'kNormEpsilon'
  | 'kNormAfter'
>;

export interface Scores {
  numbers: Numbers;
  /** Puts what is more than a number where the call finds it. */
  place(arena: Arena): { sinks: Slot; qNormWeight: Slot; kNormWeight: Slot };
  /** What is read where it lies, and so must not be written to. */
  sources: readonly Source[];
  /** The shapes of what can be learned, where it was given. */
  shapes: Readonly<Record<'sinks' | 'qNorm' | 'kNorm', readonly number[] | undefined>>;
}

const nowhere: Slot = { address: 0 };
type Place = (arena: Arena) => Slot;
const noPlace: Place = () => nowhere;

export function readScores(engine: Engine, given: Given, shapes: Shapes): Scores {
  const scale = given.get('scale');
  const softcap = finite(where, 'softcap', or(given.get('softcap'), 0), { min: 0 });
  if (softcap > 0) requireFloat('softcap', softcap);
  const sinks = readSinks(where, given.get('sinks'), shapes.heads);
  const { kind, length, factor } = readQueryScale(given.get('queryScale'));
  const q = readNorm(engine, 'qNorm', given.get('qNorm'), shapes.heads, shapes.headDim);
  const k = readNorm(engine, 'kNorm', given.get('kNorm'), shapes.kvHeads, shapes.headDim);
  return {
    numbers: {
      // A scale of 0 makes every weight the same: always a slip, and the answer would look plausible.
      scale:
        scale === undefined ? Number.NaN : requireFloat('scale', finite(where, 'scale', scale)),
      softcap,
      queryScaleKind: kind,
      queryScaleLength: length,
      queryScaleFactor: factor,
      qNormKind: q.kind,
      qNormHeads: q.heads,
      qNormEpsilon: q.epsilon,
      qNormAfter: q.after,
      kNormKind: k.kind,
      kNormHeads: k.heads,
      kNormEpsilon: k.epsilon,
      kNormAfter: k.after,
    },
    place: (arena) => ({
      sinks: sinks(arena),
      qNormWeight: q.weight(arena),
      kNormWeight: k.weight(arena),
    }),
    sources: [q.source, k.source].filter((one) => one !== undefined),
    shapes: {
      sinks: given.get('sinks') === undefined ? undefined : [shapes.heads],
      qNorm: q.shape,
      kNorm: k.shape,
    },
  };
}

/** The core computes in float32, where the extremes become 0 or infinite. */
function requireFloat(field: string, value: number): number {
  const used = Math.fround(value);
  if (used === 0 || !Number.isFinite(used))
    throw mismatch('OUT_OF_RANGE', field, 'a float32 number other than 0', value);
  return value;
}

export function readSinks(where: string, value: unknown, heads: number): Place {
  if (value === undefined) return noPlace;
  const about = { where, field: 'sinks', expected: `${heads} logits, one for each query head` };
  const sinks = copyNumbers(where, 'sinks', value, about.expected);
  if (sinks.length !== heads)
    throw fault('SHAPE_MISMATCH', { ...about, received: text(`${sinks.length} numbers`) });
  for (let h = 0; h < heads; ++h)
    if (sinks[h] !== -Infinity && !Number.isFinite(Math.fround(sinks[h])))
      throw fault('NOT_FINITE', {
        ...about,
        field: `sinks[${h}]`,
        expected: 'a finite float32 number, or -Infinity',
        received: sinks[h],
      });
  return (arena) => arena.floats(sinks);
}

const queryScales = ['logn', 'llama4', 'ministral'] as const;

function readQueryScale(value: unknown) {
  if (value === undefined) return { kind: 0, length: 0, factor: 0 };
  const read = record(where, 'queryScale', value);
  const kind = choice(where, 'queryScale.kind', read.get('kind'), queryScales);
  const known = kind === 'logn' ? ['kind', 'length'] : ['kind', 'length', 'factor'];
  for (const name of read.keys())
    if (!known.includes(name)) throw unknownOption(where, `queryScale.${name}`, known);
  const [length, factor] = kind === 'llama4' ? [8192, 0.1] : [undefined, undefined];
  const least = kind === 'logn' ? 2 : 1;
  return {
    kind: 1 + queryScales.indexOf(kind),
    length: finite(where, 'queryScale.length', or(read.get('length'), length), { min: least }),
    factor:
      kind === 'logn' ? 0 : finite(where, 'queryScale.factor', or(read.get('factor'), factor), {}),
  };
}

const known = ['kind', 'weight', 'epsilon', 'place'];
const norms = ['rms', 'l2'] as const;

export function readNorm(
  engine: Engine,
  field: string,
  value: unknown,
  heads: number,
  width: number,
  where = 'attention',
) {
  if (value === undefined)
    return {
      kind: 0,
      heads: 1,
      epsilon: 0,
      after: false,
      weight: noPlace,
      shape: undefined,
      source: undefined,
    };
  const read = record(where, field, value);
  for (const name of read.keys())
    if (!known.includes(name)) throw unknownOption(where, `${field}.${name}`, known);
  const kind = choice(where, `${field}.kind`, or(read.get('kind'), 'rms'), norms);
  const place = choice(where, `${field}.place`, or(read.get('place'), 'before'), [
    'before',
    'after',
  ]);
  const usual = kind === 'rms' ? 1e-6 : 1e-12;
  return {
    kind: 1 + norms.indexOf(kind),
    epsilon: finite(where, `${field}.epsilon`, or(read.get('epsilon'), usual), { min: 0 }),
    after: place === 'after',
    ...readWeight(engine, `${field}.weight`, read.get('weight'), heads, width),
  };
}

function readWeight(
  engine: Engine,
  field: string,
  value: unknown,
  heads: number,
  width: number,
): {
  weight: Place;
  heads: number;
  shape: readonly number[] | undefined;
  source: Source | undefined;
} {
  const none = { shape: undefined, source: undefined };
  if (value === undefined) return { weight: noPlace, heads: 1, ...none };
  const refuse = (shape: readonly number[]) =>
    mismatch(
      'SHAPE_MISMATCH',
      field,
      `of shape [${width}] or [${heads}, ${width}]`,
      text(shapeText(shape)),
    );
  if (isArray(value) || isView(value)) {
    const copy = copyNumbers(where, field, value, `a list of ${width} numbers`);
    if (copy.length !== width) throw refuse([copy.length]);
    return { weight: (arena) => arena.floats(copy), heads: 1, shape: [width], source: undefined };
  }
  const source = capture(engine, where, field, value);
  const { shape } = source;
  const each = shape.length === 2 && shape[0] === heads;
  if (shape[shape.length - 1] !== width || !(shape.length === 1 || each)) throw refuse(shape);
  return { weight: (arena) => arena.input(source), heads: each ? heads : 1, shape, source };
}
