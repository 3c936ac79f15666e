// SPDX-License-Identifier: Apache-2.0
// The picture of an encoding as a map and as curves, in one frame: a distance stands at the same place in both.
import type { Picture } from '../compute/picture.ts';
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

/** Around the curve: what random vectors score, mean ± one deviation. */
export function bandOf({ around }: Picture): CurveData['band'] {
  const spread = around?.spread();
  if (!spread) return undefined;
  const { mean, deviation } = spread;
  return {
    low: mean.map((value, i) => value - (deviation[i] as number)),
    high: mean.map((value, i) => value + (deviation[i] as number)),
  };
}

export function curvesOf(
  info: EncodingInfo,
  settings: Settings,
  picture: Picture,
  logarithmic: boolean,
  band: CurveData['band'],
): CurveData {
  const trained = trainedLength(info, settings);
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
  #last: { info: EncodingInfo; columns: number; band: CurveData['band'] } | undefined;

  of(info: EncodingInfo, { around, columns }: Picture): CurveData['band'] {
    const last = this.#last;
    return around && last?.info === info && last.columns === columns ? last.band : undefined;
  }
  reckon(info: EncodingInfo, picture: Picture): void {
    this.#last = { info, columns: picture.columns, band: bandOf(picture) };
  }
}
