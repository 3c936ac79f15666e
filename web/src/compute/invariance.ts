// SPDX-License-Identifier: Apache-2.0
import { alongAxes, type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsInAttention, type EncodingInfo } from '../model/manifest.ts';
import { hash, normal } from '../model/random.ts';
import { effective, optionsOf, type Settings, type Table, valueWidth } from '../model/settings.ts';

export const shiftBy = 64;
const tokens = 12;

/**
 * The largest change of any attention weight when every position moves by the same amount, over random queries and keys.
 * An encoding of the embeddings is added to both first.
 */
export function shiftError(engine: Engine, info: EncodingInfo, settings: Settings): number {
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    const at = (start: number) =>
      alongAxes(
        info,
        Float64Array.from({ length: tokens }, (_, i) => start + i),
      );
    const embeds = actsAt(info, 'embed');
    const width = embeds
      ? (encoding.table(at(0)).shape[1] as number)
      : Number(effective(info, 'headDim', settings) ?? 64);
    const heads = embeds ? 1 : Number(effective(info, 'heads', settings) ?? 1);
    const make = (name: string, columns = width): Table => ({
      shape: [heads, tokens, columns],
      data: normal(hash(name), heads * tokens * columns),
    });
    const weightsAt = (start: number): Float32Array => {
      const positions = at(start);
      const [q, k] = ['shift query', 'shift key'].map((name) =>
        embeds ? encoding.embed(make(name), positions) : make(name),
      ) as [Table, Table];
      const inside = actsInAttention(info)
        ? { encoding, queryPositions: positions, keyPositions: positions }
        : {};
      const v = make('shift value', valueWidth(info, settings, width));
      return (
        engine.attention(q, k, v, { weights: true, ...inside }).weights?.data ?? new Float32Array()
      );
    };
    const [here, there] = [weightsAt(0), weightsAt(shiftBy)];
    return here.reduce(
      (most, weight, i) => Math.max(most, Math.abs(weight - (there[i] as number))),
      0,
    );
  });
}
