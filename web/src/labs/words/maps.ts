// SPDX-License-Identifier: Apache-2.0
// Three maps under one cursor: A, B, and what A has more than B.
import { Kept } from '../../draw/kept.ts';
import { centred } from '../../draw/raster.ts';
import { diverging, sequential } from '../../model/colour.ts';
import { type Range, rangeOf } from '../../model/range.ts';
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

/** Of two encodings one often stays. */
const kept = new Kept<Range>();

export function mapsOf({ words, a, b, names, place, dark }: MapsData): SquareMapsData {
  const difference = new Float32Array(a.length);
  for (let i = 0; i < a.length; i += 1) difference[i] = (a[i] as number) - (b[i] as number);
  const plain = sequential(dark);
  const ranges = [
    kept.of(a, [], () => rangeOf(a)),
    kept.of(b, [], () => rangeOf(b)),
    rangeOf(difference),
  ] as const;
  // One scale for both, so that equal shades are equal weights.
  const range = { low: 0, high: Math.max(ranges[0].high, ranges[1].high, 1e-9) };
  const label = (title: string, { low, high }: Range): string =>
    `${title}: attention among ${words.length} words, from ${percent(low)} to ${percent(high)}. Enter chooses the word that looks.`;
  return {
    words,
    place,
    looks: [
      ...[a, b].map((cells, i) => {
        const title = `${'AB'[i]}: ${names[i]}`;
        return {
          title,
          name: 'weight',
          cells,
          range,
          colours: plain,
          label: label(title, ranges[i] as Range),
        };
      }),
      {
        title: 'A − B',
        name: 'A − B',
        cells: difference,
        range: centred(ranges[2]),
        colours: diverging(dark),
        label: label('A − B', ranges[2]),
      },
    ],
    readout: (row, column) => {
      const at = row * words.length + column;
      return `${words[row]} → ${words[column]}: A ${percent(a[at] ?? 0)}, B ${percent(b[at] ?? 0)}, A − B ${(100 * (difference[at] ?? 0)).toFixed(1)}`;
    },
    hint: 'Point at a map, or Tab to it and use the arrows; Enter chooses the word that looks.',
  };
}
