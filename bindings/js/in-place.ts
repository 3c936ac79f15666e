// SPDX-License-Identifier: Apache-2.0
/** Operations that change the rows of a tensor where they lie: the positions of the rows, and the call. */

import { Arena } from './arena.js';
import { fault } from './errors.js';
import { type Held, requireLive } from './handles.js';
import type { EncodingInfo } from './manifest.js';
import { type CapturedPositions, CountUp, capturePositions } from './positions.js';
import type { RawModule } from './raw.js';
import { roomFor } from './rows.js';
import { captureTarget } from './target.js';
import type { Source } from './tensor.js';
import type { Positions, Tensor } from './types.js';

/** Of the rows of a tensor: as given, or counted from 0. */
export function rowPositions(
  where: string,
  info: EncodingInfo,
  given: Positions | undefined,
  shape: readonly number[],
): CapturedPositions {
  const n = shape[shape.length - 2];
  if (given !== undefined) {
    const batch = shape.length > 2 ? shape[0] : 1;
    const integer = info.positions !== 'real';
    return capturePositions(where, 'positions', given, {
      axes: info.axes,
      integer,
      rows: n,
      batch,
    });
  }
  if (info.axes === 1 || info.textAxes) return new CountUp(n, 0, info.axes);
  throw fault('MISSING_OPTION', {
    where,
    field: 'positions',
    expected: `given: ${info.axes} axes have no order of their own`,
    received: undefined,
  });
}

/** Computes at `data` from what is at `from`. */
export type Crossing = (raw: RawModule, data: number, from: number, places: number) => number;

/**
 * Runs an operation that changes its tensor in place, without changing `x` unless it is `out`. Rows
 * that grow cannot stay in place.
 */
export function inPlace(
  it: Held,
  where: string,
  source: Source,
  out: unknown,
  at: CapturedPositions,
  crossing: Crossing,
  growth = 0,
): Tensor {
  const { engine } = it;
  const width = source.shape[source.shape.length - 1];
  const target =
    growth > 0
      ? roomFor(engine, where, out, [...source.shape.slice(0, -1), width + growth], [source])
      : captureTarget(engine, where, out, source.shape, { sources: [source], inPlace: source });
  const arena = new Arena(engine);
  arena.requires(() => requireLive(where, it));
  const { data, from } =
    growth > 0
      ? { data: arena.output(target), from: arena.input(source) }
      : arena.work(target, source);
  // Nothing to do needs no positions, of which there may be very many.
  const places = source.size === 0 ? { address: 0 } : arena.positions(at);
  return arena.run(where, () => {
    engine.check(where, (raw) => crossing(raw, data.address, from.address, places.address));
    return target.finish(engine, data.address);
  });
}
