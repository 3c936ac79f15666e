// SPDX-License-Identifier: Apache-2.0
// What leaves the lab: every weight as CSV, the two maps as PNG.
import type { Question, Weights } from '../../compute/words.ts';
import { h } from '../../dom.ts';
import { paint } from '../../draw/raster.ts';
import { sequential } from '../../model/colour.ts';
import type { EncodingInfo } from '../../model/manifest.ts';
import { rangeOf } from '../../model/range.ts';
import { csvOf } from '../../parts/number-table.ts';
import { download, savePicture } from '../../parts/save.ts';
import { isDark } from '../../theme.ts';
import type { TrainedHeads } from '../../train/heads.ts';
import { provenanceText } from './provenance.ts';

/** What is on screen, kept for the ways out. */
export interface Shown {
  readonly question: Question;
  readonly weights: readonly [Weights, Weights];
  readonly maps: readonly [Float32Array, Float32Array];
  readonly infos: readonly [EncodingInfo, EncodingInfo];
  readonly trained: TrainedHeads | undefined;
}

/** The state in words. */
export function remarksOf({ question, infos, trained }: Shown): string[] {
  const { heads, width, seed, sharpness } = question.layer;
  return [
    `A ${infos[0].title}, B ${infos[1].title}`,
    `${trained ? provenanceText(trained) : `${heads} heads, width ${width}, seed ${seed}, sharpness ${sharpness}`}, mask ${question.mask} ${question.span}, soft cap ${question.softcap || 'none'}, sink ${question.sink || 'none'}, ${question.part}`,
    ...(question.vectors ? [`vectors: ${question.vectors.name}`] : []),
  ];
}

export function saveCsv(shown: Shown): void {
  const { question, weights } = shown;
  const { words, layer } = question;
  const count = words.length;
  const text = csvOf(
    {
      caption: '',
      lines: layer.heads * count * count,
      lineName: 'head',
      lineText: (line) => String(Math.floor(line / count / count) + 1),
      columns: ['looking', 'looked at', 'A', 'B'],
      cell: (line, column) =>
        column === 0
          ? (Math.floor(line / count) % count) + 1
          : column === 1
            ? (line % count) + 1
            : (weights[column - 2]?.[line] ?? Number.NaN),
    },
    [...remarksOf(shown), `words: ${words.join(' ')}`, location.href],
  );
  download('attention.csv', new Blob([text], { type: 'text/csv' }));
}

export function savePng(shown: Shown): void {
  const { maps, question, infos } = shown;
  const count = question.words.length;
  savePicture('attention.png', {
    title: `A ${infos[0].title} | B ${infos[1].title}`,
    lines: [question.words.join(' ').slice(0, 120), ...remarksOf(shown), location.href],
    draw: (context, x, y, width, height) => {
      const side = Math.min(height, width / 2 - 20);
      const high = Math.max(...maps.map((map) => rangeOf(map).high));
      maps.forEach((cells, i) => {
        const canvas = h('canvas');
        paint(
          canvas,
          { columns: count, rows: count, cells },
          0,
          count,
          { width: side, height: side },
          { low: 0, high },
          sequential(isDark()),
        );
        context.imageSmoothingEnabled = false;
        context.drawImage(canvas, x + i * (side + 40), y, side, side);
      });
    },
  });
}
