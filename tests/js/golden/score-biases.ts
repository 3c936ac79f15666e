// SPDX-License-Identifier: Apache-2.0
/** Biases that depend on positions, and the families that change a given matrix of scores. */

import type { ScoreMethods, Tensor } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose, tensor } from '../support/numbers.ts';
import { type GoldenArray, type GoldenCase, tensorOf } from './cases.ts';

const count = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

/**
 * The scores [H, T, S] after an encoding changed them. With one key, the log-sum-exp of a query is
 * its score: q = (score, 0) meets k = (1, 0), for each pair of positions on its own.
 */
function changed(encoding: Parameters<typeof pe.attention>[3], scores: GoldenArray, first: number) {
  const [heads, queries, keys] = scores.shape;
  const out = new Float32Array(scores.data.length);
  const one = tensor([1, heads, 1, 1], new Array(heads).fill(1));
  for (const t of count(queries))
    for (const j of count(keys)) {
      const at = (h: number) => (h * queries + t) * keys + j;
      const q = tensor(
        [1, heads, 1, 1],
        count(heads).map((h) => scores.data[at(h)]),
      );
      const { logSumExp } = pe.attention(q, one, one, {
        ...encoding,
        scale: 1,
        queryPositions: [first + t],
        keyPositions: [j],
        logSumExp: true,
      });
      for (const h of count(heads)) out[at(h)] = logSumExp?.data[h] ?? Number.NaN;
    }
  return out;
}

export function runKerple(one: GoldenCase): void {
  const { case: name, params, inputs, expected, tolerance } = one;
  const { heads } = params;
  const list = (array: GoldenArray | undefined) => array && Float64Array.from(array.data);
  const log = name.startsWith('kerple_log_');
  const given = log
    ? { r1: list(inputs.p), r2: list(inputs.a) }
    : {
        r1: list(inputs.bias_a),
        r2: list(inputs.bias_p),
        w1: list(inputs.wei_a),
        w2: list(inputs.wei_p),
      };
  const { r1 = [], r2 = new Array(heads).fill(1), w1, w2 } = given as Record<string, Float64Array>;
  const encoding = pe.encoding('kerple', {
    heads,
    kind: log ? 'log' : 'power',
    r1,
    r2,
    ...(w1 && w2 ? { w1, w2 } : {}),
    minimum: 0.01, // the reference lifts its parameters to that
  });
  const [, queries, keys] = inputs.scores.shape;
  const got = changed({ encoding }, inputs.scores, keys - queries);
  expectClose(got, expected.scores.data, tolerance.f32, 'scores');
  if (w1) return;
  const { data } = encoding.bias(count(queries, keys - queries), count(keys));
  const added = data.map((x, i) => x + inputs.scores.data[i]);
  expectClose(added, expected.scores.data, tolerance.f32, 'bias');
}

export function runFire({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { heads, mlp_width: width, seq } = params;
  const fire = pe.encoding('fire', {
    heads,
    c: params.c,
    l: params.init_L,
    multiplier: params.L_multiplier,
    epsilon: params.eps,
    hiddenWeight: tensorOf(inputs['mlp.0.weight'], [width]),
    hiddenBias: tensorOf(inputs['mlp.0.bias']),
    outWeight: tensorOf(inputs['mlp.2.weight']),
    outBias: tensorOf(inputs['mlp.2.bias']),
  });
  expectClose(fire.bias(count(seq), count(seq)).data, expected.bias.data, tolerance.f32, 'bias');
}

/** The table of gates comes from the tokens: ln sigmoid(w x + b), as the reference computes it. */
export function runForgetting({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { heads } = params;
  const [, tokens, width] = inputs.x.shape;
  const gates = count(heads).flatMap((h) =>
    count(tokens).map((t) => {
      const logit = count(width).reduce(
        (sum, c) => sum + inputs.weight.data[h * width + c] * inputs.x.data[t * width + c],
        inputs.bias.data[h],
      );
      return -Math.log1p(Math.exp(-logit));
    }),
  );
  const sums = gates.map((_, i) =>
    gates.slice(i - (i % tokens), i + 1).reduce((sum, gate) => sum + gate, 0),
  );
  for (const [form, data] of [
    ['gates', gates],
    ['cumulative', sums],
  ] as const) {
    const table = tensor([heads, tokens], data);
    const bias = pe
      .encoding('forgetting', { heads, form, table })
      .bias(count(tokens), count(tokens));
    expectClose(bias.data, expected.bias.data, tolerance.f32, form);
  }
}

/** No reference implementation's file: the numbers are published, in float64, for these distances. */
export const sandwichNumbers = {
  distances: [0, 1, 2, 8, 64, 1024],
  start0: [0, -1.90631619, -6.61813945, -18.2794859, -33.479941, -50.9157492],
  start1: [0, -1.44661851, -5.20199263, -17.1339862, -32.8718187, -50.9083411],
};
export function sandwichBias(start: number): Tensor {
  const sandwich: ScoreMethods = pe.encoding('sandwich', { heads: 8, dim: 128, start });
  return sandwich.bias(
    [1024],
    sandwichNumbers.distances.map((d) => 1024 - d),
  );
}

/** One unit: bias(d) = a silu(w d + b) + c, which can be written down. */
export function dynamicBias(distances: readonly number[]): { got: Tensor; want: number[] } {
  const table = (...data: number[]) => tensor([data.length], data);
  const encoding = pe.encoding('dynamic-bias', {
    heads: 1,
    hiddenWeight: table(0.5),
    hiddenBias: table(-0.25),
    outWeight: tensor([1, 1], [2]),
    outBias: table(0.75),
  });
  const silu = (x: number) => x / (1 + Math.exp(-x));
  return {
    got: encoding.bias(
      [0],
      distances.map((d) => -d),
    ),
    want: distances.map((d) => 2 * silu(0.5 * d - 0.25) + 0.75),
  };
}
