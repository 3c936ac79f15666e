// SPDX-License-Identifier: Apache-2.0
/** Gradients through the public functions. The C++ tests compare every option with differences. */

import type { AttentionOptions, BackwardOptions, Encoding, Tensor } from 'posenc';
import { describe, expect, it } from 'vitest';
import { caught } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectClose, expectSame, randomTensor, sizeOf, tensor } from './support/numbers.ts';

const [B, H, G, T, S, D, E] = [2, 4, 2, 5, 9, 6, 3];
const q = randomTensor([B, H, T, D], 1);
const k = randomTensor([B, G, S, D], 2);
const v = randomTensor([B, G, S, E], 3);
const gradOutput = randomTensor([B, H, T, E], 4);

function backward(
  options: Omit<AttentionOptions, 'out'> = {},
  more: BackwardOptions = {},
  by = gradOutput,
) {
  const { output, logSumExp } = pe.attention(q, k, v, { ...options, logSumExp: true });
  return pe.attentionBackward(q, k, v, output, logSumExp as Tensor, by, { ...options, ...more });
}

const product = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, x, i) => sum + x * b[i], 0);

/** Of the sum of output * gradOutput, when `move(step)` gives the options. */
function slope(move: (step: number) => AttentionOptions): number {
  const step = 2 ** -8;
  const [above, below] = [step, -step].map((by) =>
    product(pe.attention(q, k, v, move(by)).output.data, gradOutput.data),
  );
  return (above - below) / (2 * step);
}

describe('attentionBackward', () => {
  it('gives what attention does not: gradients in the shapes of the inputs', () => {
    const { dq, dk, dv, encodings, ...others } = backward({ causal: true });
    expect([dq.shape, dk.shape, dv.shape]).toEqual([q.shape, k.shape, v.shape]);
    expect(encodings).toEqual([]);
    expect(others).toEqual({});
  });

  it('is the derivative of the output along q, k and v', () => {
    const options = { causal: true, softcap: 3, encoding: pe.encoding('rope', { headDim: D }) };
    const { dq, dk, dv } = backward(options);
    for (const [index, gradient] of [dq, dk, dv].entries()) {
      const inputs = [q, k, v];
      const direction = randomTensor(gradient.shape, 9 + index).data;
      const [above, below] = [2 ** -8, -(2 ** -8)].map((by) => {
        const data = inputs[index].data.map((x, i) => x + by * direction[i]);
        const moved = inputs.map((x, i) => (i === index ? { data, shape: x.shape } : x));
        const { output } = pe.attention(moved[0], moved[1], moved[2], options);
        return product(output.data, gradOutput.data);
      });
      expect(product(gradient.data, direction)).toBeCloseTo((above - below) * 2 ** 7, 2);
    }
  });

  it('names the gradients of learned tables, lists and numbers, one object for each encoding', () => {
    const table = randomTensor([8, H], 5);
    const fire = {
      heads: H,
      hiddenWeight: randomTensor([7], 6),
      hiddenBias: randomTensor([7], 7),
      outWeight: randomTensor([H, 7], 8),
      l: 20,
    };
    const encoding = [
      pe.encoding('rope', { headDim: D }),
      pe.encoding('t5', { heads: H, buckets: 8, maxDistance: 20, table }),
      pe.encoding('alibi', { heads: H, slopes: [0.1, 0.2, 0.3, 0.4] }),
      pe.encoding('alibi', { heads: H }),
      pe.encoding('fire', fire),
    ];
    const replaced = (at: number, other: Encoding) =>
      encoding.map((one: Encoding, i) => (i === at ? other : one));
    const { encodings } = backward({ encoding });
    const shapes = encodings.map((tables) =>
      Object.fromEntries(Object.entries(tables).map(([name, { shape }]) => [name, shape])),
    );
    expect(shapes).toEqual([
      {},
      { table: [8, H] },
      { slopes: [H] },
      {},
      { hiddenWeight: [7], hiddenBias: [7], outWeight: [H, 7], c: [], multiplier: [] },
    ]);
    const want = slope((step) => {
      const data = table.data.map((x, i) => (i === 5 ? x + step : x));
      const moved = { heads: H, buckets: 8, maxDistance: 20, table: { data, shape: table.shape } };
      return { encoding: replaced(1, pe.encoding('t5', moved)) };
    });
    expect(encodings[1].table.data[5]).toBeCloseTo(want, 3);
    const wantC = slope((step) => ({
      encoding: replaced(4, pe.encoding('fire', { ...fire, c: 0.1 + step / 8 })),
    }));
    expect(encodings[4].c.data[0]).toBeCloseTo(8 * wantC, 2);
  });

  it('gives the gradients of sinks, norms and a mask of floats where they were given', () => {
    const sinks = [0.5, -1, 0, 2];
    const mask = randomTensor([H, 1, S], 5);
    const weight = randomTensor([H, D], 6);
    const options = { sinks, mask, qNorm: { weight }, kNorm: {}, causal: true } as const;
    const { dSinks, dMask, dQNorm, dKNorm } = backward(options, { maskGradient: true });
    expect([dSinks?.shape, dMask?.shape, dQNorm?.shape]).toEqual([[H], mask.shape, weight.shape]);
    expect(dKNorm).toBeUndefined();
    const moved = (x: ArrayLike<number>, by: number) =>
      Float32Array.from(x, (value, i) => (i === 1 ? value + by : value));
    const wants = [
      slope((by) => ({ ...options, sinks: moved(sinks, by) })),
      slope((by) => ({ ...options, mask: { data: moved(mask.data, by), shape: mask.shape } })),
      slope((by) => ({
        ...options,
        qNorm: { weight: { data: moved(weight.data, by), shape: weight.shape } },
      })),
    ];
    const got = [dSinks, dMask, dQNorm].map((one) => one?.data[1] ?? Number.NaN);
    expectClose(got, wants, { rtol: 0, atol: 2e-3 });
  });

  it('reads and writes both layouts', () => {
    const swap = ({ data, shape: [b, n, m, w] }: Tensor): Tensor => {
      const out = new Float32Array(data.length);
      for (let i = 0; i < data.length / w; ++i) {
        const [at, x, y] = [Math.floor(i / (n * m)), Math.floor(i / m) % n, i % m];
        out.set(data.subarray(i * w, (i + 1) * w), ((at * m + y) * n + x) * w);
      }
      return { data: out, shape: [b, m, n, w] };
    };
    const [sq, sk, sv] = [q, k, v].map(swap);
    const options = { causal: true, layout: 'bnhd' } as const;
    const { output, logSumExp } = pe.attention(sq, sk, sv, { ...options, logSumExp: true });
    const got = pe.attentionBackward(
      sq,
      sk,
      sv,
      output,
      logSumExp as Tensor,
      swap(gradOutput),
      options,
    );
    const want = backward({ causal: true });
    for (const name of ['dq', 'dk', 'dv'] as const)
      expectSame(swap(got[name]).data, want[name].data);
  });

  it('puts gradients where it is told, in memory of its own without a copy', () => {
    const want = backward();
    const dq = tensor(q.shape, new Float32Array(sizeOf(q.shape)));
    using dk = pe.tensor(k.shape);
    const got = backward({}, { out: { dq, dk } });
    expect(got.dq).toBe(dq);
    expect(got.dk).toBe(dk);
    for (const name of ['dq', 'dk', 'dv'] as const) expectSame(got[name].data, want[name].data);
  });

  it('gives zeros to padding and to what is hidden', () => {
    const options = { keyLengths: [4, 9], queryLengths: [5, 2] };
    const { dq, dk, dv } = backward(options);
    for (const [x, width, rows, first] of [
      [dk, D, S, 4],
      [dv, E, S, 4],
    ] as const)
      for (let g = 0; g < G; ++g) {
        const padding = x.data.subarray((g * rows + first) * width, (g + 1) * rows * width);
        expectSame(padding, new Float32Array(padding.length));
      }
    for (let h = 0; h < H; ++h) {
      const start = ((H + h) * T + 2) * D;
      expectSame(dq.data.subarray(start, start + 3 * D), new Float32Array(3 * D));
    }
  });

  it('refuses what does not fit, by name', () => {
    const { output, logSumExp } = pe.attention(q, k, v, { logSumExp: true });
    const rows = logSumExp as Tensor;
    const call = (tensors: Record<string, unknown>, options: object = {}) =>
      caught(() => {
        const all = { q, k, v, output, logSumExp: rows, gradOutput, ...tensors };
        const values = Object.values(all) as [Tensor, Tensor, Tensor, Tensor, Tensor, Tensor];
        pe.attentionBackward(...values, options);
      });
    const cases: [string, string, Record<string, unknown>, object?][] = [
      ['SHAPE_MISMATCH', 'output', { output: q }],
      ['SHAPE_MISMATCH', 'logSumExp', { logSumExp: output }],
      ['SHAPE_MISMATCH', 'gradOutput', { gradOutput: k }],
      ['WRONG_TYPE', 'logSumExp', { logSumExp: undefined }],
      ['UNKNOWN_OPTION', 'weights', {}, { weights: true }],
      ['UNKNOWN_OPTION', 'out.dx', {}, { out: { dx: q } }],
      ['BAD_OUT', 'out.dk', {}, { out: { dk: randomTensor([2]) } }],
      ['OVERLAP', 'out.dq', {}, { out: { dq: q } }],
      ['OPTION_NOT_APPLICABLE', 'maskGradient', {}, { maskGradient: true }],
    ];
    for (const [code, field, tensors, options] of cases)
      expect(call(tensors, options), field).toMatchObject({ code, field });
    const shared = randomTensor(k.shape);
    const square = [k, k, k].map((x) => ({ ...x }));
    const same = pe.attention(square[0], square[1], square[2], { logSumExp: true });
    const error = caught(() =>
      pe.attentionBackward(
        square[0],
        square[1],
        square[2],
        same.output,
        same.logSumExp as Tensor,
        k,
        { out: { dk: shared, dv: shared } },
      ),
    );
    expect(error).toMatchObject({ code: 'OVERLAP', field: 'out.dv' });
  });

  it('is named by its errors, whoever finds them', () => {
    const { output, logSumExp } = pe.attention(q, k, v, { logSumExp: true });
    const failing = (options: object) =>
      caught(() => pe.attentionBackward(q, k, v, output, logSumExp as Tensor, gradOutput, options));
    const cases: [string, object][] = [
      ['scale', { scale: Number.NaN }],
      ['window.left', { window: { left: -1 } }],
      ['chunk', { chunk: -1 }],
      ['mask', { mask: { data: Float32Array.of(Number.NaN), shape: [1] } }],
      ['qNorm.kind', { qNorm: { kind: 'no' } }],
      ['nothing', { nothing: 1 }],
      ['heads', { encoding: pe.encoding('alibi', { heads: 3 }) }],
    ];
    for (const [field, options] of cases) {
      const error = failing(options);
      expect(error.message).toMatch(/^attentionBackward: /);
      expect(error).toMatchObject({ field, kind: 'argument' });
    }
  });

  it('leaves memory as it was', () => {
    const options = { encoding: pe.encoding('alibi', { heads: H, slopes: [1, 2, 3, 4] }) };
    backward(options);
    const before = pe.info.memory().liveBytes;
    backward(options);
    expect(pe.info.memory().liveBytes).toBe(before);
  });
});

describe('gradients of single sites', () => {
  it('go to the rows of a learned table', () => {
    const learned = pe.encoding('learned', { table: randomTensor([6, 3]), offset: 1 });
    const { table } = learned.embedBackward(
      tensor([2, 2, 3], [1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1]),
      [0, 3],
    );
    expect(table.shape).toEqual([6, 3]);
    expectSame(table.data, [0, 0, 0, 2, 3, 4, 0, 0, 0, 0, 0, 0, 5, 6, 7, 0, 0, 0]);
    const sinusoidal = pe.encoding('sinusoidal', { dim: 3 });
    expect(sinusoidal.embedBackward(randomTensor([4, 3]))).toEqual({});
    expect(caught(() => learned.embedBackward(randomTensor([2, 4])))).toMatchObject({
      code: 'SHAPE_MISMATCH',
    });
  });

  it('turn back by the transposed rotation, whose amplitude stays', () => {
    const encodings = [
      pe.encoding('rope', { headDim: D, layout: 'interleaved' }),
      pe.encoding('xpos', { headDim: D }),
      pe.encoding('rope-yarn', { headDim: D, factor: 8, originalLength: 32 }),
    ];
    const [x, y] = [randomTensor([3, 7, D], 1), randomTensor([3, 7, D], 2)];
    for (const encoding of encodings)
      for (const role of ['query', 'key'] as const) {
        const forward = encoding.rotate(x, { start: 5 }, { role });
        const back = encoding.rotateBackward(y, { start: 5 }, { role });
        expect(product(forward.data, y.data)).toBeCloseTo(product(x.data, back.data), 4);
      }
    const pope = pe.encoding('pope', { heads: 1, headDim: D });
    expect(caught(() => pope.rotateBackward(x))).toMatchObject({ code: 'UNSUPPORTED' });
  });
});
