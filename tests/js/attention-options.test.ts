// SPDX-License-Identifier: Apache-2.0
/** Options of attention against the same thing done by hand: masks, smaller calls, prepared inputs. */

import { type AttentionOptions, fromTotal, type Tensor } from 'posenc';
import { describe, expect, it } from 'vitest';
import { pe } from './support/instance.ts';
import { expectClose, expectSame, randomTensor, tensor } from './support/numbers.ts';

const near = { rtol: 1e-5, atol: 1e-5 };
const [B, H, G, T, S, D, E] = [2, 4, 2, 21, 37, 8, 5];
const q = randomTensor([B, H, T, D], 1);
const k = randomTensor([B, G, S, D], 2);
const v = randomTensor([B, G, S, E], 3);
const everything = { weights: true, logSumExp: true };
const count = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

/** Rows from … to of one entry of [B, heads, rows, width], as a batch of its own. */
function rows(x: Tensor, b: number, from: number, to: number): Tensor {
  const [, heads, n, w] = x.shape;
  const data = count(heads).flatMap((h) =>
    Array.from(x.data.subarray(((b * heads + h) * n + from) * w, ((b * heads + h) * n + to) * w)),
  );
  return tensor([1, heads, to - from, w], data);
}
/** What each row of the whole gives, from one entry's rows. */
function put(whole: Float32Array, x: Tensor, b: number, from: number, n: number): void {
  const [, heads, count, w] = x.shape;
  for (let h = 0; h < heads; ++h)
    whole.set(
      x.data.subarray(h * count * w, (h + 1) * count * w),
      ((b * heads + h) * n + from) * w,
    );
}
const maskOf = (sees: (b: number, t: number, j: number) => boolean) => ({
  shape: [B, 1, T, S],
  data: Uint8Array.from({ length: B * T * S }, (_, i) =>
    Number(sees(Math.floor(i / (T * S)), Math.floor(i / S) % T, i % S)),
  ),
});
const place = (t: number) => S - T + t;

describe('rules that hide keys', () => {
  const [lengths, offsets, prefixes] = [
    [30, 5],
    [3, 16],
    [2, 0],
  ];
  const rules: [string, AttentionOptions, (b: number, t: number, j: number) => boolean][] = [
    [
      'window',
      { window: { left: 4, right: 2 } },
      (_, t, j) => j >= place(t) - 4 && j <= place(t) + 2,
    ],
    [
      'fromTotal',
      { causal: true, window: fromTotal(5) },
      (_, t, j) => j > place(t) - 5 && j <= place(t),
    ],
    [
      'first keys',
      { causal: true, window: { left: 3, first: 2 } },
      (_, t, j) => j <= place(t) && (j >= place(t) - 3 || j < 2),
    ],
    ['infinite sides', { window: { left: Infinity, right: 1 } }, (_, t, j) => j <= place(t) + 1],
    ['prefix', { causal: true, prefix: 25 }, (_, t, j) => j <= place(t) || j < 25],
    [
      'prefixes',
      { causal: true, prefix: prefixes, queryOffset: 1 },
      (b, t, j) => j <= t + 1 || j < prefixes[b],
    ],
    ['key lengths', { keyLengths: lengths }, (b, _, j) => j < lengths[b]],
    ['query lengths', { queryLengths: [5, 20] }, (b, t) => t < [5, 20][b]],
    ['offsets', { causal: true, queryOffset: offsets }, (b, t, j) => j <= offsets[b] + t],
    [
      'all at once',
      {
        causal: true,
        window: { left: 6, first: 3 },
        prefix: [0, 9],
        keyLengths: Int32Array.from(lengths),
      },
      (b, t, j) =>
        j < lengths[b] && (j < [0, 9][b] || (j <= place(t) && (j >= place(t) - 6 || j < 3))),
    ],
  ];
  for (const [name, options, sees] of rules)
    it(`${name}: to the bit what the mask gives`, () => {
      const got = pe.attention(q, k, v, { ...options, ...everything });
      const want = pe.attention(q, k, v, { mask: maskOf(sees), ...everything });
      expectSame(got.output.data, want.output.data);
      expectSame(got.weights?.data ?? [], want.weights?.data ?? []);
      expectSame(got.logSumExp?.data ?? [], want.logSumExp?.data ?? []);
    });

  it('holds beside masks, sinks, caps and every layout', () => {
    const options = {
      causal: true,
      window: { left: 7 },
      keyLengths: [30, 20],
      softcap: 2,
      sinks: [0, 1, -Infinity, 2],
      scale: 0.7,
    };
    const swap = (x: Tensor) => {
      const [b, heads, n, w] = x.shape;
      const data = count(b * n * heads * w).map((i) => {
        const [c, h, t] = [i % w, Math.floor(i / w) % heads, Math.floor(i / (w * heads)) % n];
        return x.data[((Math.floor(i / (w * heads * n)) * heads + h) * n + t) * w + c];
      });
      return tensor([b, n, heads, w], data);
    };
    const want = pe.attention(q, k, v, { ...options, ...everything });
    const got = pe.attention(swap(q), swap(k), swap(v), {
      ...options,
      ...everything,
      layout: 'bnhd',
    });
    expectSame(got.output.data, swap(want.output).data);
    expectSame(got.weights?.data ?? [], want.weights?.data ?? []);
    expectSame(got.logSumExp?.data ?? [], want.logSumExp?.data ?? []);
    const owned = pe.tensor(want.output.shape);
    pe.attention(q, k, v, { ...options, out: owned });
    expectSame(owned.data, want.output.data);
    owned.dispose();
  });
});

describe('packed sequences', () => {
  const [qs, ks] = [
    [0, 6, 6, 14, 21],
    [0, 9, 12, 30, 37],
  ];
  const one = { q: rows(q, 0, 0, T), k: rows(k, 0, 0, S), v: rows(v, 0, 0, S) };
  const encodings = {
    nothing: () => [],
    rope: () => [pe.encoding('rope', { headDim: D })],
    'rope and alibi': () => [
      pe.encoding('rope', { headDim: D }),
      pe.encoding('alibi', { heads: H }),
    ],
    'a scaling by length': () => [
      pe.encoding('rope-dynamic-ntk', { headDim: D, factor: 4, originalLength: 8 }),
    ],
    't5 and shaw': () => [
      pe.encoding('t5', { heads: H, table: randomTensor([32, H], 4) }),
      pe.encoding('shaw', {
        headDim: D,
        maxDistance: 2,
        keyTable: randomTensor([5, D], 5),
        valueTable: randomTensor([5, E], 6),
      }),
    ],
  };
  for (const [name, make] of Object.entries(encodings))
    for (const given of [false, true])
      it(`are calls of their own with ${name}${given ? ' at given positions' : ''}`, () => {
        const encoding = make();
        if (name === 't5 and shaw') encoding.splice(0, 1); // they wish for different scales
        const options = { encoding, causal: true, window: { left: 5 }, ...everything };
        const positions = given
          ? { queryPositions: count(T, 3).map((p) => 2 * p), keyPositions: count(S) }
          : {};
        const packed = pe.attention(one.q, one.k, one.v, {
          ...options,
          ...positions,
          cuSeqlens: { q: qs, k: ks },
        });
        const output = new Float32Array(H * T * E);
        const sums = new Float32Array(H * T).fill(-Infinity);
        for (const [i, first] of qs.slice(0, -1).entries()) {
          const [last, begin, end] = [qs[i + 1], ks[i], ks[i + 1]];
          const part = pe.attention(
            rows(one.q, 0, first, last),
            rows(one.k, 0, begin, end),
            rows(one.v, 0, begin, end),
            {
              ...options,
              ...(given && {
                queryPositions: positions.queryPositions?.slice(first, last) ?? [],
                keyPositions: positions.keyPositions?.slice(begin, end) ?? [],
              }),
            },
          );
          put(output, part.output, 0, first, T);
          const lse = part.logSumExp?.data ?? [];
          put(sums, tensor([1, H, last - first, 1], lse), 0, first, T);
        }
        expectSame(packed.output.data, output);
        expectSame(packed.logSumExp?.data ?? [], sums);
        for (const one of encoding) one.dispose();
      });
});

describe('what happens to queries, keys and scores', () => {
  /** x with each row changed. */
  const mapped = (
    x: Tensor,
    change: (row: Float64Array, head: number, t: number) => ArrayLike<number>,
  ) => {
    const [b, heads, n, w] = x.shape;
    const data = count(b * heads * n).flatMap((i) =>
      Array.from(
        change(
          Float64Array.from(x.data.subarray(i * w, (i + 1) * w)),
          Math.floor(i / n) % heads,
          i % n,
        ),
      ),
    );
    return tensor(x.shape, data);
  };
  const scales = {
    logn: (m: number) => Math.max(1, Math.log(m + 1) / Math.log(20)),
    llama4: (m: number) => 1 + 0.3 * Math.log(1 + Math.floor((m + 1) / 4)),
    ministral: (m: number) => 1 + 0.2 * Math.log(1 + Math.floor(m / 3)),
  };
  const asked = {
    logn: { kind: 'logn', length: 20 },
    llama4: { kind: 'llama4', length: 4, factor: 0.3 },
    ministral: { kind: 'ministral', length: 3, factor: 0.2 },
  } as const;
  for (const kind of ['logn', 'llama4', 'ministral'] as const)
    it(`multiplies queries by ${kind} at their places and positions`, () => {
      const encoding = pe.encoding('rope', { headDim: D });
      const queryPositions = count(T, 40);
      for (const [options, first] of [
        [{}, S - T],
        [{ queryPositions }, 40],
      ] as const) {
        const want = pe.attention(
          mapped(q, (row, _, t) => row.map((x) => x * scales[kind](first + t))),
          k,
          v,
          { encoding, causal: true, ...options },
        );
        const got = pe.attention(q, k, v, {
          encoding,
          causal: true,
          queryScale: asked[kind],
          ...options,
        });
        expectClose(got.output.data, want.output.data, near, kind);
      }
      encoding.dispose();
    });

  const norms = {
    rms: (row: Float64Array) =>
      Math.sqrt(row.reduce((sum, x) => sum + x * x, 0) / row.length + 0.01),
    l2: (row: Float64Array) => Math.max(0.01, Math.hypot(...row)),
  };
  for (const kind of ['rms', 'l2'] as const)
    for (const place of ['before', 'after'] as const)
      it(`normalises by ${kind} ${place} the rotation`, () => {
        const rope = pe.encoding('rope', { headDim: D });
        const [shared, each] = [randomTensor([D], 7), randomTensor([G, D], 8)];
        const norm = { kind, place, epsilon: 0.01 };
        const got = pe.attention(q, k, v, {
          encoding: rope,
          causal: true,
          qNorm: { ...norm, weight: Array.from(shared.data) },
          kNorm: { ...norm, weight: each },
        });
        const normalise = (x: Tensor, weight: Tensor) =>
          mapped(x, (row, head) => {
            const at = weight.shape.length === 1 ? 0 : head * D;
            return row.map((one, c) => (one / norms[kind](row)) * weight.data[at + c]);
          });
        const positions = { q: count(T, S - T), k: count(S) };
        const [turnedQ, turnedK] =
          place === 'before'
            ? [
                rope.rotate(normalise(q, shared), positions.q),
                rope.rotate(normalise(k, each), positions.k),
              ]
            : [
                normalise(rope.rotate(q, positions.q), shared),
                normalise(rope.rotate(k, positions.k), each),
              ];
        const want = pe.attention(turnedQ, turnedK, v, { causal: true });
        expectClose(got.output.data, want.output.data, near, kind);
        rope.dispose();
      });

  it('takes an explicit scale to the letter, whatever encodings multiply logits by', () => {
    const yarn = { headDim: D, factor: 40, originalLength: 4096, mscale: 1, mscaleAllDim: 1 };
    const encoding = pe.encoding('rope-yarn', { ...yarn, scaleLogits: true });
    const { logitScale } = encoding.plan();
    expect(logitScale).toBeGreaterThan(1.5);
    const at = (options: AttentionOptions) =>
      pe.attention(q, k, v, { encoding, ...options, logSumExp: true }).logSumExp?.data ?? [];
    expectSame(at({}), at({ scale: logitScale / Math.sqrt(D) }));
    const plain = pe.encoding('rope-yarn', yarn);
    expectSame(at({ scale: 0.3 }), at({ scale: 0.3, encoding: plain }));
    encoding.dispose();
    plain.dispose();
  });

  it('adds biases after the cap and content terms before it, in any order of encodings', () => {
    const alibi = pe.encoding('alibi', { heads: H });
    const cope = pe.encoding('cope', { headDim: D, table: randomTensor([D, 6], 9) });
    const options = { softcap: 1.5, causal: true, logSumExp: true };
    const [one, other] = [
      [alibi, cope],
      [cope, alibi],
    ].map((encoding) => pe.attention(q, k, v, { ...options, encoding }));
    expectSame(one.output.data, other.output.data);
    const { data, shape } = alibi.bias(count(T, S - T), count(S));
    const masked = pe.attention(q, k, v, { ...options, encoding: cope, mask: { data, shape } });
    expectClose(one.logSumExp?.data ?? [], masked.logSumExp?.data ?? [], near, 'logSumExp');
    alibi.dispose();
    cope.dispose();
  });

  it('lets an encoding of one axis work beside three that are text', () => {
    const mrope = pe.encoding('mrope', { headDim: D, sections: [2, 1, 1] });
    const alibi = pe.encoding('alibi', { heads: H });
    const encoding = [mrope, alibi];
    const want = pe.attention(q, k, v, { encoding, causal: true });
    const [a, b] = [count(T, S - T), count(S)];
    const got = pe.attention(q, k, v, {
      encoding,
      causal: true,
      queryPositions: [a, a, a],
      keyPositions: [b, b, b],
    });
    expectSame(got.output.data, want.output.data);
    mrope.dispose();
    alibi.dispose();
  });
});

describe('merge', () => {
  it('puts attention over split keys together, in either layout and in place', () => {
    const sinks = [0.5, -1, 2, 0];
    const options = { causal: true, window: { left: 9 }, logSumExp: true };
    const want = pe.attention(q, k, v, { ...options, sinks });
    const parts = [
      [0, 11],
      [11, 12],
      [12, S],
    ].map(([from, to]) => {
      const halves = [0, 1].map((b) =>
        pe.attention(rows(q, b, 0, T), rows(k, b, from, to), rows(v, b, from, to), {
          ...options,
          queryOffset: S - T - from,
        }),
      );
      const both = (pick: (one: (typeof halves)[0]) => Tensor | undefined, shape: number[]) =>
        tensor(
          shape,
          halves.flatMap((half) => Array.from(pick(half)?.data ?? [])),
        );
      return {
        output: both((one) => one.output, [B, H, T, E]),
        logSumExp: both((one) => one.logSumExp, [B, H, T]),
      };
    });
    const out = pe.tensor([B, H, T, E]);
    const merged = pe.merge(parts, { sinks, out });
    expect(merged.output).toBe(out);
    expectClose(out.data, want.output.data, near, 'output');
    expectClose(merged.logSumExp.data, want.logSumExp?.data ?? [], near, 'logSumExp');
    expect(merged.logSumExp.shape).toEqual([B, H, T]);
    out.dispose();
  });

  it('keeps NaN, however parts are grouped', () => {
    const part = (value: number, logSumExp: number) => ({
      output: tensor([1, 1, 1, 1], [value]),
      logSumExp: tensor([1, 1, 1], [logSumExp]),
    });
    const bad = part(Number.NaN, Number.NaN);
    for (const sinks of [undefined, [0]])
      for (const merged of [
        pe.merge([bad], { sinks }),
        pe.merge([bad, part(7, 1)], { sinks }),
        pe.merge([pe.merge([bad]), part(7, 1)], { sinks }),
      ])
        expect([merged.output.data[0], merged.logSumExp.data[0]]).toEqual([Number.NaN, Number.NaN]);
    const nothing = pe.merge([part(0, -Infinity)], { sinks: [0] });
    expect([nothing.output.data[0], nothing.logSumExp.data[0]]).toEqual([0, -Infinity]);
  });
});
