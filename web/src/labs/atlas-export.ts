// SPDX-License-Identifier: Apache-2.0
// What leaves the atlas: the table, CSV, PNG and code of the picture on screen.
import type { Picture } from '../compute/picture.ts';
import { h } from '../dom.ts';
import type { Window } from '../draw/cursor.ts';
import { centred, paint } from '../draw/raster.ts';
import { diverging } from '../model/colour.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import type { State } from '../model/state.ts';
import { csvOf, type TableData } from '../parts/number-table.ts';
import { download, savePicture } from '../parts/save.ts';
import { isDark } from '../theme.ts';

export interface Shown {
  readonly state: State;
  readonly info: EncodingInfo;
  readonly picture: Picture;
  readonly window: Window;
  readonly version: string;
}

/** One line per position or distance; the curve first where it is not itself a line of the map. */
export function numbersOf(info: EncodingInfo, picture: Picture): TableData {
  const extra = picture.perRow ? [] : picture.curves;
  return {
    caption: `${info.title}: ${picture.cellName} by ${picture.columnName} and ${picture.rowName}`,
    lines: picture.columns,
    lineName: picture.columnName,
    lineText: (line) => String(picture.first + line),
    columns: [
      ...extra.map((curve) => curve.name),
      ...Array.from({ length: picture.rows }, (_, row) => `${picture.rowName} ${row}`),
    ],
    cell: (line, column) =>
      extra[column]?.values[line] ??
      picture.cells[(column - extra.length) * picture.columns + line] ??
      Number.NaN,
  };
}

function remarks({ state, info, picture, version }: Shown): string[] {
  const chosen = Object.entries(state.settings.fields).map(([name, value]) => `${name}=${value}`);
  return [
    [`posenc ${version}`, info.title, `length ${state.length}`, ...chosen].join(', '),
    ...picture.definitions,
    location.href,
  ];
}

export function saveCsv(shown: Shown): void {
  const text = csvOf(numbersOf(shown.info, shown.picture), remarks(shown));
  download(`${shown.info.id}.csv`, new Blob([text], { type: 'text/csv' }));
}

export function savePng(shown: Shown): void {
  const { info, picture, window } = shown;
  savePicture(`${info.id}.png`, {
    title: info.title,
    lines: remarks(shown),
    draw: (context, x, y, width, height) => {
      const canvas = h('canvas');
      const range = centred(picture.cells);
      const colours = diverging(isDark());
      paint(canvas, picture, window.from, window.count, { width, height }, range, colours);
      context.imageSmoothingEnabled = false;
      context.drawImage(canvas, x, y, width, height);
    },
  });
}
