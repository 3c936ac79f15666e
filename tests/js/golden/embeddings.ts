// SPDX-License-Identifier: Apache-2.0
import type { EncodingOptions } from 'posenc';
import { pe } from '../support/instance.ts';
import { expectClose, expectSame, tensor } from '../support/numbers.ts';
import type { GoldenCase } from './cases.ts';

type Options = EncodingOptions['sinusoidal'];
const count = (n: number) => Array.from({ length: n }, (_, i) => i);

/** Which options reproduce each reference's table. */
const references: Record<string, Partial<Options>> = {
  whisper_sin_then_cos: { frequencies: 't2t', layout: 'half' },
  fairseq_sin_then_cos: { frequencies: 't2t', layout: 'half' },
  marian_sin_then_cos: { frequencies: 'paper', layout: 'half' },
  vaswani_interleaved: { frequencies: 'paper', layout: 'interleaved' },
  transfo_xl_descending: { frequencies: 'paper', layout: 'half' },
};

export function runSinusoidal({ params, inputs, expected, tolerance }: GoldenCase): void {
  const ascending = inputs.positions ?? count(params.positions);
  for (const [name, want] of Object.entries(expected)) {
    const options = { dim: params.dim, base: params.base ?? 10000, ...references[name] };
    const descending = name === 'transfo_xl_descending';
    const positions = descending ? [...ascending].reverse() : ascending;
    const { data } = pe.encoding('sinusoidal', options).table(positions);
    const padding = name.startsWith('fairseq') ? params.fairseq_padding_idx : undefined;
    // fairseq overwrites the row of the padding token with zeros.
    if (padding != null) data.fill(0, padding * params.dim, (padding + 1) * params.dim);
    expectClose(data, want.data, tolerance.f32, name);
  }
}

/** DETR gives [channels, rows, columns], MAE [patches, channels]; positions are those of a grid. */
export function runSinusoidal2d({ params, expected, tolerance }: GoldenCase): void {
  const [height, width] = [params.height ?? params.grid, params.width ?? params.grid];
  const cells = count(height * width);
  const at = [cells.map((i) => Math.floor(i / width)), cells.map((i) => i % width)];
  const shape: number[] = expected.pos.shape;
  const channels = params.dim ?? 2 * params.dim_per_axis;
  const encoding = pe.encoding('sinusoidal-2d', {
    dim: channels,
    variant: params.grid === undefined ? 'detr' : 'mae',
    base: params.temperature ?? 10000,
    ...(params.normalize && { grid: [height, width], scale: params.scale }),
  });
  const { data } = encoding.table(at);
  const want: number[] = expected.pos.data;
  const byPatch =
    shape.length === 2
      ? want
      : cells.flatMap((i) => count(channels).map((c) => want[c * cells.length + i]));
  expectClose(data, byPatch, tolerance.f32, 'pos');
}

/** RoBERTa's rule: real tokens count up from padding index + 1, padding keeps its own row. */
export function runPositionIds({ params, inputs, expected }: GoldenCase): void {
  const { padding_idx: padding } = params;
  const [batch, length] = inputs.input_ids.shape;
  const rows = 16;
  // A table whose row i holds i: what comes out is the index of the row that was taken.
  const table = tensor([rows, 1], count(rows));
  const learned = pe.encoding('learned', { table, offset: padding + 1 });
  for (const b of count(batch)) {
    const ids: number[] = inputs.input_ids.data.slice(b * length, (b + 1) * length);
    let seen = -1;
    const positions = ids.map((id) => {
      if (id === padding) return -1;
      seen += 1;
      return seen;
    });
    const want = expected.position_ids.data.slice(b * length, (b + 1) * length);
    expectSame(learned.table(positions).data, want);
  }
}
