// SPDX-License-Identifier: Apache-2.0
// The curve below the maps: how much of each word's attention lies elsewhere under the other encoding.
import type { PanelData } from '../../parts/plot-panel.ts';
import { percent } from './text.ts';

/** More points than these are a line. */
const mostDots = 64;

export interface Variation {
  /** Total variation of each row. */
  readonly elsewhere: Float64Array;
  readonly mean: number;
  readonly most: { readonly word: string; readonly share: number };
}

export function variationFigure(
  words: readonly string[],
  { elsewhere, mean, most }: Variation,
  remarks: readonly string[],
): PanelData {
  const count = words.length;
  return {
    title: 'How much of each word’s attention lies elsewhere',
    plot: {
      xs: Float64Array.from({ length: count }, (_, i) => i + 1),
      series: [{ name: 'A against B', letter: 'V', look: 0, values: elsewhere }],
      xName: 'place',
      yName: 'total variation',
      yRange: [0, Math.max(0.1, ...elsewhere) * 1.1],
      dots: count <= mostDots,
      label: `Total variation between A and B for ${count} words: ${percent(mean)} on average, most for ${most.word}, ${percent(most.share)}.`,
    },
    xText: (column) => `place ${column + 1}: ${words[column]}`,
    table: {
      caption: 'Total variation of each row',
      lines: count,
      lineName: 'word',
      lineText: (line) => words[line] ?? '',
      columns: ['total variation'],
      cell: (line) => elsewhere[line] ?? Number.NaN,
    },
    remarks,
  };
}
