// SPDX-License-Identifier: Apache-2.0
import { type Engine, withEncoding } from '../engine.ts';
import { actsAt, actsInAttention, type EncodingInfo } from '../model/manifest.ts';
import { boundsOf, gridOf, type Positions, placesIn } from '../model/places.ts';
import { hash, normal } from '../model/random.ts';
import { effective, optionsOf, type Settings, type Table, valueWidth } from '../model/settings.ts';
import { range } from './cells.ts';

const usualShift = 64;
const mostTokens = 12;

export interface Shift {
  /** The largest change of any weight. */
  readonly error: number;
  /** How far the positions moved along each axis. */
  readonly by: readonly number[];
}

/**
 * The largest change of any attention weight when every position moves by the same amount, over random queries and keys.
 * An encoding of the embeddings is added to both first.
 */
export function measureShift(engine: Engine, info: EncodingInfo, settings: Settings): Shift {
  const bounds = boundsOf(info, settings);
  const square = gridOf(info, settings, mostTokens)?.map(() => mostTokens ** (1 / info.axes));
  // In a bounded grid the tokens take one corner, and move as far as there is room.
  const grid = square?.map((side, axis) => Math.min(Math.ceil(side), bounds?.[axis] ?? mostTokens));
  const tokens = Math.min(mostTokens, grid?.reduce((all, side) => all * side, 1) ?? mostTokens);
  const by = Array.from({ length: info.axes }, (_, axis) =>
    Math.min(usualShift, bounds && grid ? (bounds[axis] ?? 0) - (grid[axis] ?? 0) : usualShift),
  );
  if (by.every((steps) => steps === 0)) throw new RangeError('there is no room to move');
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    const start = placesIn(info, grid, range(0, tokens));
    const moved =
      start instanceof Float64Array
        ? start.map((position) => position + (by[0] as number))
        : start.map((axis, i) => axis.map((position) => position + (by[i] as number)));
    const embeds = actsAt(info, 'embed');
    const width = embeds
      ? (encoding.table(start).shape[1] as number)
      : Number(effective(info, 'headDim', settings) ?? 64);
    const heads = embeds ? 1 : Number(effective(info, 'heads', settings) ?? 1);
    const make = (name: string, columns = width): Table => ({
      shape: [heads, tokens, columns],
      data: normal(hash(name), heads * tokens * columns),
    });
    const weightsAt = (positions: Positions): Float32Array => {
      const [q, k] = ['shift query', 'shift key'].map((name) =>
        embeds ? encoding.embed(make(name), positions) : make(name),
      ) as [Table, Table];
      const inside = actsInAttention(info)
        ? { encoding, queryPositions: positions, keyPositions: positions }
        : {};
      const v = make('shift value', valueWidth(info, settings));
      return (
        engine.attention(q, k, v, { weights: true, ...inside }).weights?.data ?? new Float32Array()
      );
    };
    const [here, there] = [weightsAt(start), weightsAt(moved)];
    const error = here.reduce(
      (most, weight, i) => Math.max(most, Math.abs(weight - (there[i] as number))),
      0,
    );
    return { error, by };
  });
}
