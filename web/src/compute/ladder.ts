// SPDX-License-Identifier: Apache-2.0
// How far apart the turns of a rotation lie, against the length they have to tell apart.
import { type Engine, withEncoding } from '../engine.ts';
import { actsAt, type EncodingInfo } from '../model/manifest.ts';
import { gridOf } from '../model/places.ts';
import { optionsOf, type Settings } from '../model/settings.ts';

const turn = 2 * Math.PI;

export interface Ladder {
  /** Positions along one axis that there are to turn through. */
  readonly length: number;
  /** Positions for one turn, per pair; infinite where a pair stands still. */
  readonly wavelengths: Float64Array;
  /** Per pair, within the length. */
  readonly turns: Float64Array;
  /** Pairs that complete none. */
  readonly never: number;
  /** Pairs that turn by more than half between neighbours, so that the same place could have been a slower turn backwards. */
  readonly aliased: number;
}

/** Undefined where nothing turns. */
export function ladderOf(
  engine: Engine,
  info: EncodingInfo,
  settings: Settings,
  tokens: number,
): Ladder | undefined {
  if (!actsAt(info, 'rotate')) return undefined;
  const grid = gridOf(info, settings, tokens);
  const length = grid ? Math.max(...grid) : tokens;
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    const frequencies = encoding.plan(tokens).inverseFrequencies.map(Math.abs);
    const turns = frequencies.map((frequency) => (frequency * length) / turn);
    return {
      length,
      wavelengths: frequencies.map((frequency) => turn / frequency),
      turns,
      never: turns.filter((count) => count < 1).length,
      aliased: frequencies.filter((frequency) => turn / frequency < 2).length,
    };
  });
}
