// SPDX-License-Identifier: Apache-2.0
// How far apart the turns of a rotation, or the waves of a table, lie, against the length they have to tell apart.
import { type Engine, withEncoding } from '../engine.ts';
import { actsAt, type EncodingInfo } from '../model/manifest.ts';
import { gridOf } from '../model/places.ts';
import { optionsOf, type Settings } from '../model/settings.ts';
import { wavesOf } from './waves.ts';

const turn = 2 * Math.PI;

export interface Ladder {
  /** Whose wavelengths these are: a rotation turns pairs of channels, a table has a wave in each. */
  readonly of: 'pair' | 'channel';
  /** Positions along one axis that there are to turn through. */
  readonly length: number;
  /** Positions for one turn; infinite where nothing moves. */
  readonly wavelengths: Float64Array;
  /** Within the length. */
  readonly turns: Float64Array;
  /** How many complete none. */
  readonly never: number;
  /** How many turn by more than half between neighbours, so that the same place could have been a slower turn backwards. */
  readonly aliased: number;
}

function counted(of: Ladder['of'], frequencies: Float64Array, length: number): Ladder {
  const turns = frequencies.map((frequency) => (frequency * length) / turn);
  return {
    of,
    length,
    wavelengths: frequencies.map((frequency) => turn / frequency),
    turns,
    never: turns.filter((count) => count < 1).length,
    aliased: frequencies.filter((frequency) => turn / frequency < 2).length,
  };
}

/** Undefined where nothing turns; 'free' or 'unknown' for a table whose channels are no waves, or too short to tell. */
export function ladderOf(
  engine: Engine,
  info: EncodingInfo,
  settings: Settings,
  tokens: number,
): Ladder | 'free' | 'unknown' | undefined {
  const turning = actsAt(info, 'rotate');
  if (!turning && !actsAt(info, 'embed')) return undefined;
  const grid = gridOf(info, settings, tokens);
  const length = grid ? Math.max(...grid) : tokens;
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    if (turning)
      return counted('pair', encoding.plan(tokens).inverseFrequencies.map(Math.abs), length);
    const waves = wavesOf(
      (positions) => encoding.table(positions),
      info.axes,
      info.positions !== 'real',
    );
    return typeof waves === 'string' ? waves : counted('channel', waves, length);
  });
}
