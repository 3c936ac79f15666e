// SPDX-License-Identifier: Apache-2.0
/** A random question to attention: plain data, so that it shrinks and prints. */

import fc from 'fast-check';
import { encodings } from 'posenc';

export interface Case {
  sizes: { B: number; G: number; group: number; T: number; S: number; D: number; E: number };
  seed: number;
  amplitude: number;
  encodings: readonly { id: string; seed: number; optional: boolean }[];
  positions: 'counted' | 'given' | 'each batch entry';
  layout: 'bhnd' | 'bnhd';
  /** Without the batch axis, where there is one entry. */
  rank3: boolean;
  scale?: number;
  causal: boolean;
  queryOffset?: number | readonly number[];
  mask?: { float: boolean; rank: number; full: readonly boolean[]; density: number };
  weights: boolean;
  logSumExp: boolean;
  out: 'none' | 'plain' | 'owned';
  owned: boolean;
  /** What no query sees holds NaN. */
  poison: boolean;
  /** Asked again with NaN and infinities in some rows. */
  spoilt: boolean;
  window?: { left?: number; right?: number; first?: number };
  chunk?: number;
  prefix?: number | readonly number[];
  lengths?: { keys: readonly number[] | null; queries: readonly number[] | null };
  /** Cuts between packed sequences, in percent. */
  packed?: { q: readonly number[]; k: readonly number[] | null };
  softcap?: number;
  sinks: boolean;
  queryScale?: QueryScaleCase;
  qNorm?: NormCase;
  kNorm?: NormCase;
}

export interface QueryScaleCase {
  kind: 'logn' | 'llama4' | 'ministral';
  length: number;
  factor: number;
}
export interface NormCase {
  kind: 'rms' | 'l2';
  weight: 'none' | 'shared' | 'per head';
  place: 'before' | 'after';
}
/** With its numbers. */
export interface Norm extends Omit<NormCase, 'weight'> {
  weight?: Float32Array;
  /** 1, or as many as the tensor has. */
  heads: number;
  epsilon: number;
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>, weight = 2) =>
  fc.option(arbitrary, { nil: undefined, freq: weight });
const rows = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 9 }), weight: 8 },
  // Around the edges of vectors, blocks of queries and tiles of keys.
  { arbitrary: fc.constantFrom(15, 16, 17, 31, 33), weight: 2 },
  { arbitrary: fc.constantFrom(63, 64, 65, 127, 128, 129, 150, 257), weight: 1 },
);
const width = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 9 }), weight: 4 },
  { arbitrary: fc.constantFrom(0, 12, 16, 17, 24, 32, 33), weight: 2 },
);
const few = fc.integer({ min: 0, max: 12 });

const offset = fc.integer({ min: -10, max: 20 });
const norm = fc.record({
  kind: fc.constantFrom('rms', 'l2'),
  weight: fc.constantFrom('none', 'shared', 'per head'),
  place: fc.constantFrom('before', 'after'),
});

/** All but those that are only added to embeddings, which attention refuses. */
const ids = encodings
  .filter(({ sites }) => sites.length === 0 || sites.some((site) => site !== 'embed'))
  .map(({ id }) => id);

export function cases(): fc.Arbitrary<Case> {
  return fc.record({
    sizes: fc.record({
      B: fc.oneof({ arbitrary: fc.constantFrom(1, 2), weight: 9 }, fc.constantFrom(0, 3)),
      G: fc.constantFrom(1, 1, 2, 3),
      group: fc.constantFrom(1, 1, 2, 3),
      T: rows,
      S: rows,
      D: width,
      E: width,
    }),
    seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    amplitude: fc.constantFrom(1, 1, 3),
    encodings: fc.array(
      fc.record({
        id: fc.constantFrom(...ids),
        seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        optional: fc.boolean(),
      }),
      { maxLength: 3 },
    ),
    positions: fc.constantFrom('counted', 'counted', 'given', 'each batch entry'),
    layout: fc.constantFrom('bhnd', 'bnhd'),
    rank3: fc.boolean(),
    scale: maybe(fc.double({ min: 0.05, max: 2, noNaN: true })),
    causal: fc.boolean(),
    queryOffset: maybe(fc.oneof(offset, fc.array(offset, { minLength: 1, maxLength: 3 }))),
    mask: maybe(
      fc.record({
        float: fc.boolean(),
        rank: fc.integer({ min: 1, max: 4 }),
        full: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
        density: fc.constantFrom(0, 0.3, 0.7, 1),
      }),
    ),
    weights: fc.boolean(),
    logSumExp: fc.boolean(),
    out: fc.constantFrom('none', 'plain', 'owned'),
    owned: fc.boolean(),
    poison: fc.boolean(),
    spoilt: fc.boolean(),
    window: maybe(
      fc.record(
        { left: few, right: few, first: fc.integer({ min: 0, max: 5 }) },
        { requiredKeys: [] },
      ),
    ),
    chunk: maybe(fc.integer({ min: 1, max: 40 })),
    prefix: maybe(fc.oneof(few, fc.array(few, { minLength: 1, maxLength: 3 }))),
    lengths: maybe(fc.record({ keys: fractions(3), queries: fractions(3) })),
    packed: maybe(fc.record({ q: fc.array(fraction, { maxLength: 3 }), k: fractions(3) })),
    softcap: maybe(fc.double({ min: 0.5, max: 30, noNaN: true })),
    sinks: fc.boolean(),
    queryScale: maybe(
      fc.record({
        kind: fc.constantFrom('logn', 'llama4', 'ministral'),
        length: fc.constantFrom(2, 5, 40),
        factor: fc.constantFrom(0.1, 0.5),
      }),
    ),
    qNorm: maybe(norm),
    kNorm: maybe(norm),
  }) as fc.Arbitrary<Case>;
}

const fraction = fc.integer({ min: 0, max: 100 });
const fractions = (count: number) =>
  fc.option(fc.array(fraction, { minLength: count, maxLength: count }));
