// SPDX-License-Identifier: Apache-2.0
// Three maps under one cursor: A, B, and what A has more than B.
import { centred, rangeOf } from '../../draw/raster.ts';
import { diverging, sequential } from '../../model/colour.ts';
import type { SquareMapsData } from '../../parts/square-maps.ts';
import { percent } from './text.ts';

export interface MapsData {
  readonly words: readonly string[];
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly names: readonly [string, string];
  readonly place: number;
  readonly dark: boolean;
}

export function mapsOf({ words, a, b, names, place, dark }: MapsData): SquareMapsData {
  const difference = a.map((weight, i) => weight - (b[i] as number));
  const plain = sequential(dark);
  // One scale for both, so that equal shades are equal weights.
  const range = { low: 0, high: Math.max(rangeOf(a).high, rangeOf(b).high, 1e-9) };
  const label = (title: string, cells: Float32Array): string =>
    `${title}: attention among ${words.length} words, from ${percent(rangeOf(cells).low)} to ${percent(rangeOf(cells).high)}. Enter chooses the word that looks.`;
  return {
    words,
    place,
    looks: [
      ...[a, b].map((cells, i) => {
        const title = `${'AB'[i]}: ${names[i]}`;
        return { title, name: 'weight', cells, range, colours: plain, label: label(title, cells) };
      }),
      {
        title: 'A − B',
        name: 'A − B',
        cells: difference,
        range: centred(difference),
        colours: diverging(dark),
        label: label('A − B', difference),
      },
    ],
    readout: (row, column) => {
      const at = row * words.length + column;
      return `${words[row]} → ${words[column]}: A ${percent(a[at] ?? 0)}, B ${percent(b[at] ?? 0)}, A − B ${(100 * (difference[at] ?? 0)).toFixed(1)}`;
    },
    hint: 'Point at a map, or Tab to it and use the arrows; Enter chooses the word that looks.',
  };
}
