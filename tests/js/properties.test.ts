// SPDX-License-Identifier: Apache-2.0
/** What must hold for every input, tried on random ones. */

import fc from 'fast-check';
import type { AttentionOptions } from 'posenc';
import { describe, it } from 'vitest';
import { pe } from './support/instance.ts';
import { expectClose, expectSame, noise, randomTensor, sizeOf, tensor } from './support/numbers.ts';
import { referenceAttention } from './support/reference.ts';
import { runs } from './support/runs.ts';

const seeds = fc.integer({ min: 1, max: 2 ** 31 });
const position = fc.oneof(
  fc.integer({ min: -5000, max: 5000 }),
  fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
  fc.double({ min: -1e5, max: 1e5, noNaN: true }),
);

describe('rotation', () => {
  const geometry = fc.record({
    headDim: fc.integer({ min: 1, max: 40 }).map((n) => n * 2),
    layout: fc.constantFrom('half' as const, 'interleaved' as const),
    rows: fc.integer({ min: 0, max: 9 }),
    seed: seeds,
  });
  const withPositions = geometry.chain((g) =>
    fc.record({
      g: fc.constant(g),
      positions: fc.array(position, { minLength: g.rows, maxLength: g.rows }),
    }),
  );

  it('is undone by its inverse, and keeps lengths', () => {
    fc.assert(
      fc.property(withPositions, ({ g, positions }) => {
        const rope = pe.encoding('rope', { headDim: g.headDim, layout: g.layout });
        const x = randomTensor([g.rows, g.headDim], g.seed);
        const turned = rope.rotate(x, positions);
        const back = rope.rotate(turned, positions, { inverse: true });
        expectClose(back.data, x.data, { rtol: 0, atol: 1e-6 });
        const square = (data: Float32Array) => data.reduce((sum, value) => sum + value * value, 0);
        expectClose([square(turned.data)], [square(x.data)], { rtol: 1e-5, atol: 1e-6 });
        rope.dispose();
      }),
      runs(200),
    );
  });

  it('agrees between layouts, up to the order of channels', () => {
    fc.assert(
      fc.property(withPositions, ({ g, positions }) => {
        const { headDim, rows } = g;
        const half = pe.encoding('rope', { headDim, layout: 'half' });
        const turns = pe.encoding('rope', { headDim, layout: 'interleaved' });
        const x = randomTensor([rows, headDim], g.seed);
        // Channel c of the half layout is channel order[c] of the other.
        const order = Array.from({ length: headDim }, (_, c) =>
          c < headDim / 2 ? 2 * c : 2 * (c - headDim / 2) + 1,
        );
        const permuted = tensor(
          x.shape,
          Array.from(x.data, (_, i) => x.data[i - (i % headDim) + order[i % headDim]]),
        );
        const a = half.rotate(permuted, positions).data;
        const b = turns.rotate(x, positions).data;
        expectSame(
          a,
          Float32Array.from(b, (_, i) => b[i - (i % headDim) + order[i % headDim]]),
        );
        half.dispose();
        turns.dispose();
      }),
      runs(200),
    );
  });

  it('matches sines and cosines in float64', () => {
    fc.assert(
      fc.property(
        withPositions,
        fc.double({ min: 1.5, max: 1e7, noNaN: true }),
        ({ g, positions }, base) => {
          const rope = pe.encoding('rope', { headDim: g.headDim, base });
          const x = randomTensor([g.rows, g.headDim], g.seed);
          const { data } = rope.rotate(x, positions);
          const n = g.headDim / 2;
          const want = Float64Array.from(x.data, (_, i) => {
            const [t, c] = [Math.floor(i / g.headDim), i % g.headDim];
            const angle = positions[t] * base ** (-(c % n) / n);
            const [a, b] = [x.data[t * g.headDim + (c % n)], x.data[t * g.headDim + (c % n) + n]];
            return c < n
              ? a * Math.cos(angle) - b * Math.sin(angle)
              : b * Math.cos(angle) + a * Math.sin(angle);
          });
          // A position of 10^12 leaves an angle of about 10^-4 that is right.
          const largest = Math.max(1, ...positions.map(Math.abs));
          expectClose(data, want, { rtol: 0, atol: 1e-6 + largest * 1e-15 });
          rope.dispose();
        },
      ),
      runs(200),
    );
  });

  it('takes positions in any form', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.integer({ min: 1, max: 6 }),
        (start, n) => {
          const rope = pe.encoding('rope', { headDim: 6 });
          const x = randomTensor([n, 6], n);
          const list = Array.from({ length: n }, (_, i) => start + i);
          const want = rope.rotate(x, list).data;
          for (const form of [
            { start },
            Int32Array.from(list),
            Float64Array.from(list),
            BigInt64Array.from(list.map(BigInt)),
          ])
            expectSame(rope.rotate(x, form).data, want);
          rope.dispose();
        },
      ),
      runs(50),
    );
  });
});

describe('attention', () => {
  const small = (max: number) => fc.integer({ min: 1, max });
  const problem = fc.record({
    B: small(2),
    G: small(3),
    group: small(3),
    T: fc.integer({ min: 0, max: 19 }),
    S: fc.integer({ min: 0, max: 37 }),
    D: small(17),
    E: small(9),
    causal: fc.boolean(),
    mask: fc.constantFrom('none', 'allowed', 'added'),
    bias: fc.boolean(),
    seed: seeds,
  });
  type Problem = typeof problem extends fc.Arbitrary<infer P> ? P : never;

  function pose({ B, G, group, T, S, D, E, seed, ...rules }: Problem) {
    const H = G * group;
    const [q, k, v] = [
      [B, H, T, D],
      [B, G, S, D],
      [B, G, S, E],
    ].map((shape, i) => randomTensor(shape, seed + i));
    const next = noise(seed + 9);
    const shape = [next() > 0 ? B : 1, next() > 0 ? H : 1, next() > 0 ? T : 1, S];
    const data = Float32Array.from({ length: sizeOf(shape) }, next);
    const mask =
      rules.mask === 'allowed'
        ? { data: Uint8Array.from(data, (x) => (x > -0.4 ? 3 : 0)), shape }
        : { data: data.map((x) => (x > -0.7 ? x : -Infinity)), shape };
    const options: AttentionOptions = {
      causal: rules.causal,
      ...(rules.mask === 'none' ? {} : { mask }),
      ...(rules.bias ? { encoding: pe.encoding('alibi', { heads: H, form: 'symmetric' }) } : {}),
    };
    return { q, k, v, options, H };
  }

  it('matches the plain formula in float64', () => {
    fc.assert(
      fc.property(problem, (one) => {
        const { q, k, v, options, H } = pose(one);
        const got = pe.attention(q, k, v, { ...options, weights: true, logSumExp: true });
        const { T, S } = one;
        const slopes = one.bias
          ? Array.from(pe.encoding('alibi', { heads: H }).bias([1], [0]).data, (x) => -x)
          : new Array<number>(H).fill(0);
        const { mask } = options;
        const at = (b: number, h: number, i: number, j: number) => {
          if (mask === undefined) return 0;
          const [mb, mh, mi] = mask.shape.map((n, axis) => (n === 1 ? 0 : [b, h, i][axis]));
          const value = mask.data[((mb * mask.shape[1] + mh) * mask.shape[2] + mi) * S + j];
          return one.mask === 'added' ? value : value === 0 ? -Infinity : 0;
        };
        const want = referenceAttention(q, k, v, {
          bias: (b, h, i, j) => at(b, h, i, j) - slopes[h] * Math.abs(i + S - T - j),
          sees: (b, h, i, j) => at(b, h, i, j) > -Infinity && !(one.causal && j > i + S - T),
        });
        expectClose(got.output.data, want.output, { rtol: 2e-5, atol: 5e-6 }, 'output');
        expectClose(got.weights?.data ?? [], want.weights, { rtol: 2e-5, atol: 2e-6 }, 'weights');
        expectClose(got.logSumExp?.data ?? [], want.logSumExp, { rtol: 2e-5, atol: 5e-6 }, 'lse');
        expectSame(pe.attention(q, k, v, options).output.data, got.output.data);
      }),
      runs(150),
    );
  });

  it('agrees between layouts bit for bit', () => {
    fc.assert(
      fc.property(problem, (one) => {
        const { q, k, v, options } = pose(one);
        const swap = ({ data, shape: [B, H, n, D] }: typeof q) => {
          const out = new Float32Array(data.length);
          for (let i = 0; i < data.length; ++i) {
            const [d, t, h, b] = [
              i % D,
              Math.floor(i / D) % n,
              Math.floor(i / (D * n)) % H,
              Math.floor(i / (D * n * H)),
            ];
            out[((b * n + t) * H + h) * D + d] = data[i];
          }
          return { data: out, shape: [B, n, H, D] };
        };
        const a = pe.attention(q, k, v, options).output;
        const b = pe.attention(swap(q), swap(k), swap(v), { ...options, layout: 'bnhd' }).output;
        expectSame(b.data, swap(a).data);
      }),
      runs(100),
    );
  });

  it('gives each batch entry what it would get alone', () => {
    fc.assert(
      fc.property(problem, ({ B: _, ...rest }) => {
        const { q, k, v } = pose({ ...rest, B: 2, mask: 'none' });
        const both = pe.attention(q, k, v, { causal: rest.causal }).output.data;
        const half = (x: typeof q, b: number) => {
          const n = x.data.length / 2;
          return tensor(x.shape.slice(1), x.data.slice(b * n, (b + 1) * n));
        };
        for (const b of [0, 1]) {
          const [qb, kb, vb] = [q, k, v].map((x) => half(x, b));
          const n = both.length / 2;
          const alone = pe.attention(qb, kb, vb, { causal: rest.causal }).output.data;
          expectSame(both.slice(b * n, (b + 1) * n), alone);
        }
      }),
      runs(60),
    );
  });

  it('decodes what it prefills', () => {
    fc.assert(
      fc.property(problem, (one) => {
        const rope = pe.encoding('rope', { headDim: 2 * one.D });
        const [q, k, v] = [1, 2, 3].map((i) =>
          randomTensor([one.G, one.S, 2 * one.D], one.seed + i),
        );
        const whole = pe.attention(q, k, v, { encoding: rope, causal: true }).output.data;
        const width = 2 * one.D;
        const rows = (x: typeof q, from: number, to: number) => {
          const parts = Array.from({ length: one.G }, (_, g) =>
            Array.from(x.data.slice((g * one.S + from) * width, (g * one.S + to) * width)),
          );
          return tensor([one.G, to - from, width], parts.flat());
        };
        for (let t = 0; t < one.S; t += 5) {
          const [kt, vt] = [rows(k, 0, t + 1), rows(v, 0, t + 1)];
          const step = pe.attention(rows(q, t, t + 1), kt, vt, { encoding: rope, causal: true });
          const want = rows(tensor(v.shape, whole), t, t + 1).data;
          expectClose(step.output.data, want, { rtol: 1e-5, atol: 2e-6 });
        }
        rope.dispose();
      }),
      runs(60),
    );
  });
});
