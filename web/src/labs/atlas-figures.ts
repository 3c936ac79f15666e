// SPDX-License-Identifier: Apache-2.0
// The picture of an encoding as a map and as curves, in one frame: a distance stands at the same place in both.
import type { Picture } from '../compute/picture.ts';
import type { Spread } from '../compute/spread.ts';
import type { Window } from '../draw/cursor.ts';
import type { CurveData } from '../draw/curve.ts';
import type { HeatMapData } from '../draw/heatmap.ts';
import { centred } from '../draw/raster.ts';
import { brief, grouped, ticks } from '../draw/scale.ts';
import { diverging } from '../model/colour.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import type { Settings } from '../model/settings.ts';
import { trainedLength } from '../model/trained.ts';
import { curveSentence } from './notices.ts';

const marginsOf = ({ perRow }: Picture) => ({ left: 58, right: perRow ? 62 : 12 });

export function mapOf(
  info: EncodingInfo,
  picture: Picture,
  window: Window,
  width: number,
  dark: boolean,
): HeatMapData {
  const { columns, rows, first, cells } = picture;
  const range = centred(picture.range);
  const wanted = Math.max(3, Math.floor(width / 80));
  const from = first + window.from;
  return {
    columns,
    rows,
    cells,
    range,
    colours: diverging(dark),
    columnTicks: ticks(from, from + window.count - 1, wanted)
      .filter(Number.isInteger)
      .map((value) => ({ at: value - first, text: brief(value) })),
    margins: marginsOf(picture),
    rowTicks: ticks(0, rows - 1, Math.min(rows, 8))
      .filter(Number.isInteger)
      .map((value) => ({ at: value, text: String(value) })),
    columnName: picture.columnName === 'distance' ? 'distance δ' : 'position',
    rowName: picture.rowName,
    label: `${info.title}: map of ${rows} ${picture.rowName}${rows === 1 ? '' : 's'} by ${columns} ${picture.columnName}s, ${picture.cellName} from ${brief(range.low)} to ${brief(range.high)}.`,
  };
}

/** Kept, as the curve keeps what it has drawn of one: the same stands around several steps of a slider. */
const bands = new WeakMap<Spread, NonNullable<CurveData['band']>>();
function bandOf(spread: Spread | undefined): CurveData['band'] {
  if (!spread) return undefined;
  const { mean, deviation } = spread;
  const band = bands.get(spread) ?? {
    low: mean.map((value, i) => value - (deviation[i] as number)),
    high: mean.map((value, i) => value + (deviation[i] as number)),
  };
  bands.set(spread, band);
  return band;
}

export function curvesOf(
  info: EncodingInfo,
  settings: Settings,
  picture: Picture,
  logarithmic: boolean,
  spread: Spread | undefined,
): CurveData {
  const trained = trainedLength(info, settings);
  const band = bandOf(spread);
  return {
    ...(band ? { band } : {}),
    ...(picture.around ? { envelope: picture.around.envelope } : {}),
    ...(trained === undefined
      ? {}
      : { mark: { at: trained, name: `trained ${grouped(trained)}` } }),
    columns: picture.columns,
    first: picture.first,
    curves: picture.curves,
    perRow: picture.perRow,
    logarithmic,
    baseline: picture.baseline,
    margins: marginsOf(picture),
    name: picture.curveName,
    columnName: 'distance δ',
    label: curveSentence(info, picture),
  };
}

/** The band around the curve: of this picture once it is reckoned, until then that of the one before on the same axis. */
export class Bands {
  #last: { info: EncodingInfo; picture: Picture; spread: Spread | undefined } | undefined;

  of(info: EncodingInfo, picture: Picture): Spread | undefined {
    const last = this.#last;
    const fits = picture.around && last?.info === info && last.picture.columns === picture.columns;
    return fits ? last?.spread : undefined;
  }
  reckon(info: EncodingInfo, picture: Picture): void {
    if (picture.around) this.#last = { info, picture, spread: picture.around.spread() };
  }
}
