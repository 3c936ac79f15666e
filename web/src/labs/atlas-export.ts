// SPDX-License-Identifier: Apache-2.0
// What leaves the atlas: the map and the curve on screen, each as numbers and as pictures.
import type { Picture } from '../compute/picture.ts';
import type { Around } from '../compute/spread.ts';
import { h } from '../dom.ts';
import type { Window } from '../draw/cursor.ts';
import { centred, paint } from '../draw/raster.ts';
import type { Stage } from '../draw/stage.ts';
import { diverging } from '../model/colour.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import type { State } from '../model/state.ts';
import { csvOf, jsonOf, type TableData } from '../parts/number-table.ts';
import { download, saveJson, savePicture } from '../parts/save.ts';
import { savePng, saveSvg } from '../parts/save-svg.ts';
import { isDark } from '../theme.ts';

export interface Shown {
  readonly state: State;
  readonly info: EncodingInfo;
  readonly picture: Picture;
  readonly window: Window;
  readonly version: string;
}

interface Column {
  readonly name: string;
  at(line: number): number | undefined;
}
/** The curves, and what is drawn around them; that is reckoned only once somebody reads it. */
function columnsOf({ curves, around }: Picture): Column[] {
  const column = (name: string, of: (around: Around) => Float64Array | undefined): Column => ({
    name,
    at: (line) => around && of(around)?.[line],
  });
  return [
    ...curves.map(({ name, values }) => ({ name, at: (line: number) => values[line] })),
    ...(around ? [column('envelope', ({ envelope }) => envelope)] : []),
    ...(around?.scored
      ? [
          column('mean of random vectors', (around) => around.spread()?.mean),
          column('deviation of random vectors', (around) => around.spread()?.deviation),
        ]
      : []),
  ];
}

/** One line per position or distance; the curve first where it is not itself a line of the map. */
export function numbersOf(info: EncodingInfo, picture: Picture): TableData {
  const extra = picture.perRow ? [] : columnsOf(picture);
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
      extra[column]?.at(line) ??
      picture.cells[(column - extra.length) * picture.columns + line] ??
      Number.NaN,
  };
}

/** The curve alone. */
function curveNumbers(info: EncodingInfo, picture: Picture): TableData {
  const columns = columnsOf(picture);
  return {
    caption: `${info.title}: ${picture.curveName}`,
    lines: picture.columns,
    lineName: 'distance',
    lineText: (line) => String(picture.first + line),
    columns: columns.map(({ name }) => name),
    cell: (line, column) => columns[column]?.at(line) ?? Number.NaN,
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

const csv = (name: string, table: TableData, shown: Shown): void =>
  download(name, new Blob([csvOf(table, remarks(shown))], { type: 'text/csv' }));

/** Line by line, as the map stands: thousands of columns with a name in each line would be ten times the text. */
function mapJson(shown: Shown): void {
  const { info, picture } = shown;
  const { rows, columns, first, rowName, columnName, cellName, cells } = picture;
  const lines = Array.from({ length: rows }, (_, row) => [
    ...cells.subarray(row * columns, (row + 1) * columns),
  ]);
  const about = { title: info.title, remarks: remarks(shown), rowName, columnName, cellName };
  saveJson(`${info.id}-map.json`, { ...about, rows, columns, first, cells: lines });
}

function mapPng(shown: Shown): void {
  const { info, picture, window } = shown;
  savePicture(`${info.id}.png`, {
    title: info.title,
    lines: remarks(shown),
    draw: (context, x, y, width, height) => {
      const canvas = h('canvas');
      const range = centred(picture.range);
      const colours = diverging(isDark());
      paint(canvas, picture, window.from, window.count, { width, height }, range, colours);
      context.imageSmoothingEnabled = false;
      context.drawImage(canvas, x, y, width, height);
    },
  });
}

type Ways = Readonly<Record<string, (shown: Shown) => void>>;

/** Says whose these are: two figures of this lab have buttons of the same names. */
const buttons = (what: string, ways: Ways, shown: () => Shown | undefined): HTMLElement =>
  h(
    'div',
    { class: 'button-row', role: 'group', 'aria-label': `Save the ${what}` },
    ...Object.entries(ways).map(([name, save]) =>
      h(
        'button',
        {
          type: 'button',
          click: () => {
            const now = shown();
            if (now) save(now);
          },
        },
        name,
      ),
    ),
  );

export const mapExports = (shown: () => Shown | undefined): HTMLElement =>
  buttons(
    'map',
    {
      CSV: (now) => csv(`${now.info.id}.csv`, numbersOf(now.info, now.picture), now),
      JSON: mapJson,
      PNG: mapPng,
    },
    shown,
  );

export function curveExports(shown: () => Shown | undefined, stage: Stage): HTMLElement {
  const name = ({ info }: Shown, kind: string): string => `${info.id}-curve.${kind}`;
  const text = (now: Shown) => ({
    title: `${now.info.title}: ${now.picture.curveName}`,
    lines: remarks(now),
  });
  return buttons(
    'curve',
    {
      CSV: (now) => csv(name(now, 'csv'), curveNumbers(now.info, now.picture), now),
      JSON: (now) => {
        const table = curveNumbers(now.info, now.picture);
        saveJson(name(now, 'json'), jsonOf(table, text(now).title, remarks(now)));
      },
      SVG: (now) => saveSvg(name(now, 'svg'), stage, text(now)),
      PNG: (now) => void savePng(name(now, 'png'), stage, text(now)),
    },
    shown,
  );
}
