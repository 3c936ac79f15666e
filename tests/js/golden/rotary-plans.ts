// SPDX-License-Identifier: Apache-2.0
/** RoPE scalings and xPos: frequencies, cosines and sines, and rotated rows of other implementations. */

import type { EncodingId, EncodingOptions } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose } from '../support/numbers.ts';
import { type GoldenCase, tensorOf } from './cases.ts';
import { cosinesAndSines, swapMiddle } from './rotations.ts';

// biome-ignore lint/suspicious/noExplicitAny: which options there are depends on the id
type Choice = [id: EncodingId, options: any];
type Params = GoldenCase['params'];

const rotary = ([id, options]: Choice) => pe.encoding(id as 'rope', options);
/** Only what the case says: everything else is left to the defaults. */
const given = (options: object) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value != null));

/** The encoding that a rope dictionary of Hugging Face transformers asks for. */
function ofDictionary(rope: Params, trained: number, common: object): Choice {
  const { factor } = rope;
  const originalLength = rope.original_max_position_embeddings ?? trained;
  switch (rope.rope_type) {
    case 'linear':
      return ['rope-linear', { ...common, factor }];
    case 'dynamic':
      return ['rope-dynamic-ntk', { ...common, factor, originalLength: trained }];
    case 'yarn':
      return [
        'rope-yarn',
        given({
          ...common,
          factor,
          originalLength,
          betaFast: rope.beta_fast,
          betaSlow: rope.beta_slow,
          attentionFactor: rope.attention_factor,
          mscale: rope.mscale,
          mscaleAllDim: rope.mscale_all_dim,
          truncate: rope.truncate,
        }),
      ];
    case 'longrope':
      return [
        'rope-longrope',
        {
          ...common,
          factor: factor ?? trained / originalLength,
          originalLength,
          shortFactor: rope.short_factor,
          longFactor: rope.long_factor,
        },
      ];
    case 'llama3':
      return [
        'rope-llama3',
        {
          ...common,
          factor,
          originalLength,
          lowFreqFactor: rope.low_freq_factor,
          highFreqFactor: rope.high_freq_factor,
        },
      ];
    case 'proportional':
      return ['rope-proportional', { ...common, fraction: rope.partial_rotary_factor }];
    case 'default':
    case undefined:
      return ['rope', common];
  }
  throw new Error(`no encoding for ${rope.rope_type}`);
}

function ofConfig(config: Params): Choice {
  const headDim = config.head_dim ?? config.hidden_size / config.num_attention_heads;
  const rope = config.rope_parameters ?? config.rope_scaling ?? {};
  const trained = config.max_position_embeddings;
  const root = config.original_max_position_embeddings;
  return ofDictionary(
    root === undefined ? rope : { ...rope, original_max_position_embeddings: root },
    trained,
    {
      headDim,
      rotaryDim: Math.trunc(headDim * (config.partial_rotary_factor ?? 1)),
      base: config.rope_theta ?? rope.rope_theta,
    },
  );
}

export function runRopeFrequencies({ params, inputs, expected, tolerance }: GoldenCase): void {
  const [id, options] = ofConfig(params.config);
  const exact = rotary([id, options]);
  const reference = rotary([id, { ...options, precision: 'hf-f32' }]);
  for (const one of expected.by_seq_len) {
    const plan = exact.plan(one.seq_len ?? undefined);
    expectClose(plan.inverseFrequencies, one.inv_freq_f64.data, tolerance.f64, 'inv_freq_f64');
    expectClose([plan.attentionFactor], [one.attention_factor ?? 1], { rtol: 1e-15, atol: 0 }, 'μ');
    const single = reference.plan(one.seq_len ?? undefined).inverseFrequencies;
    // One unit in the last place, where the two power functions round apart.
    expectClose(single, one.inv_freq.data, { rtol: 2 ** -23, atol: 0 }, 'inv_freq');
  }
  if (expected.cos_f64 === undefined) return;
  const pairs = expected.cos_f64.shape[1];
  const { positions } = inputs;
  const length = expected.positions_seq_len;
  const turn = (rope: typeof exact) =>
    cosinesAndSines(rope, options.headDim, pairs, positions, length);
  const [cos, sin] = turn(exact);
  expectClose(cos, expected.cos_f64.data, { rtol: 0, atol: 1e-6 }, 'cos');
  expectClose(sin, expected.sin_f64.data, { rtol: 0, atol: 1e-6 }, 'sin');
  const allowed: number[] = tolerance.cos_sin_f32_atol_per_position;
  const [cosF32, sinF32] = turn(reference);
  for (const [t, atol] of allowed.entries()) {
    const part = <T>(all: { slice(a: number, b: number): T }) =>
      all.slice(t * pairs, (t + 1) * pairs);
    expectClose(part(cosF32), part(expected.cos_f64.data as number[]), { rtol: 0, atol }, 'cos');
    expectClose(part(sinF32), part(expected.sin_f64.data as number[]), { rtol: 0, atol }, 'sin');
  }
}

/** The classes of YaRN's repository. */
function ofClass(p: Params): Choice {
  const originalLength = p.original_max_position_embeddings ?? p.max_position_embeddings;
  const common = { headDim: p.dim };
  const first = { ...common, originalLength, ramp: 'bloc97' };
  const choices: Record<string, Choice> = {
    LlamaLinearScaledRotaryEmbedding: ['rope-linear', { ...common, factor: p.scale }],
    LlamaNTKScaledRotaryEmbedding: ['rope-ntk', { ...common, factor: p.alpha }],
    LlamaDynamicScaledRotaryEmbedding: [
      'rope-dynamic-ntk',
      { ...common, originalLength, factor: 1, variant: p.ntk ? 'hf' : 'linear' },
    ],
    LlamaPartNTKScaledRotaryEmbedding: ['rope-ntk-by-parts', { ...first, factor: p.scale }],
    LlamaDynamicPartNTKScaledRotaryEmbedding: [
      'rope-ntk-by-parts',
      { ...first, factor: 1, dynamic: true },
    ],
    LlamaYaRNScaledRotaryEmbedding: ['rope-yarn', { ...common, originalLength, factor: p.scale }],
    LlamaDynamicYaRNScaledRotaryEmbedding: [
      'rope-yarn',
      { ...common, originalLength, factor: 1, dynamic: true },
    ],
  };
  return choices[p.class];
}

export function runYarnRepository({ params, expected, tolerance }: GoldenCase): void {
  const rope = rotary(ofClass(params));
  // The linear ones divide positions and leave their frequencies alone; cos and sin agree.
  const dividesPositions = /Linear/.test(params.class) || params.ntk === false;
  for (const one of expected.by_seq_len) {
    const plan = rope.plan(one.seq_len);
    if (!dividesPositions)
      expectClose(plan.inverseFrequencies, one.inv_freq_f64.data, tolerance.f64, 'inv_freq_f64');
    expectClose([plan.attentionFactor], [one.mscale], { rtol: 1e-15, atol: 0 }, 'mscale');
    const pairs = one.cos_f64.shape[1];
    const [cos, sin] = cosinesAndSines(rope, params.dim, pairs, one.positions, one.seq_len);
    expectClose(cos, one.cos_f64.data, tolerance.f32, 'cos');
    expectClose(sin, one.sin_f64.data, tolerance.f32, 'sin');
  }
}

export function runGiraffe({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { dim: headDim, base, scale: factor = 1 } = params;
  const common = { headDim, base, factor };
  const rope = rotary(
    params.truncate === undefined
      ? ['rope-power', { ...common, exponent: params.scale_power }]
      : ['rope-truncated', { ...common, trainedLength: params.truncate }],
  );
  const { inverseFrequencies } = rope.plan();
  expectClose(inverseFrequencies, expected.inv_freq_f64.data, tolerance.f64, 'inv_freq_f64');
  const [cos, sin] = cosinesAndSines(rope, headDim, headDim / 2, inputs.positions);
  expectClose(cos, expected.cos_f64.data, tolerance.f32, 'cos');
  expectClose(sin, expected.sin_f64.data, tolerance.f32, 'sin');
}

export function runNtkMixed({ params, expected, tolerance }: GoldenCase): void {
  const { dim: headDim, base, k: factor, b: exponent } = params;
  const rope = pe.encoding('rope-ntk', { headDim, base, factor, exponent, variant: 'mixed' });
  const { inverseFrequencies } = rope.plan();
  expectClose(inverseFrequencies, expected.inv_freq_f64.data, tolerance.f64, 'inv_freq_f64');
}

/** Rotated rows where the rotation is scaled: YaRN, Llama 3.1, DeepSeek. */
export function runScaledRopeApply({ params, inputs, expected, tolerance }: GoldenCase): void {
  const rope = params.rope_scaling ?? { ...params.llama3_scaling, rope_type: 'llama3' };
  const halvesOut = params.style === 'interleaved input, half-split output';
  const encoding = rotary(
    ofDictionary(rope, params.max_position_embeddings, {
      headDim: params.head_dim,
      base: params.theta,
      layout: halvesOut ? 'interleaved' : params.style,
    }),
  );
  const swapped = params.layout.startsWith('[batch, seq, heads');
  for (const name of ['q', 'k']) {
    const x = tensorOf(inputs[name]);
    const turned = swapped
      ? swapMiddle(encoding.rotate(swapMiddle(x), inputs.positions))
      : encoding.rotate(x, inputs.positions);
    const got = halvesOut ? inHalves(turned.data, params.head_dim) : turned.data;
    expectClose(got, expected[name].data, tolerance.f32, name);
  }
}

/** Rows [a0 b0 a1 b1 …] as [a0 a1 … | b0 b1 …]. */
function inHalves(x: Float32Array, width: number): Float32Array {
  return x.map((_, at) => {
    const c = at % width;
    const pair = c % (width / 2);
    return x[at - c + 2 * pair + (c < width / 2 ? 0 : 1)];
  });
}

export function runXTransformersNtk({ params, inputs, expected, tolerance }: GoldenCase): void {
  const { head_dim: headDim, base_rescale_factor: factor, style: layout } = params;
  const rope = pe.encoding('rope-ntk', { headDim, factor, layout });
  for (const name of ['q', 'k'])
    expectClose(rope.rotate(tensorOf(inputs[name])).data, expected[name].data, tolerance.f32, name);
}

/** torchscale centres at half the length rounded up, x-transformers at half rounded down. */
export function runXpos({ case: name, params, inputs, expected, tolerance }: GoldenCase): void {
  const { head_dim: headDim, scale_base: scaleBase, style: layout, offset = 0 } = params;
  const half = (length: number) =>
    name.startsWith('rope_xtransformers') ? Math.floor(length / 2) : Math.ceil(length / 2);
  const turn = (which: 'q' | 'k', start: number) => {
    const x = tensorOf(inputs[which]);
    const rows = x.shape[x.shape.length - 2];
    const options: EncodingOptions['xpos'] = {
      headDim,
      layout,
      scaleBase,
      center: half(start + rows),
    };
    const role = which === 'q' ? 'query' : 'key';
    const turned = pe.encoding('xpos', options).rotate(x, { start }, { role });
    expectClose(turned.data, expected[which].data, tolerance.f32, which);
    return { turned: turned.data, rows };
  };
  const q = turn('q', offset);
  const k = turn('k', 0);
  const scores: number[] = [];
  for (let i = 0; i < q.turned.length / headDim; i++)
    for (let j = 0; j < k.rows; j++) {
      const key = Math.floor(i / q.rows) * k.rows + j;
      let sum = 0;
      for (let c = 0; c < headDim; c++)
        sum += q.turned[i * headDim + c] * k.turned[key * headDim + c];
      scores.push(sum);
    }
  // A sum of products of rows that are each rounded to float32.
  expectClose(scores, expected.scores.data, { rtol: 1e-5, atol: 5e-5 }, 'scores');
}
