// SPDX-License-Identifier: Apache-2.0
// The figures of the later labs in their default state. Only the build runs this (web/ahead-figures.ts), in a document of its own,
// and makes a file of each.
import { beyond } from '../compute/beyond.ts';
import { pictureOf } from '../compute/picture.ts';
import { mapOf as weightMap } from '../compute/weight-maps.ts';
import { weightsOf } from '../compute/words.ts';
import { Cursor, Window } from '../draw/cursor.ts';
import { Curves } from '../draw/curve.ts';
import { HeatMap } from '../draw/heatmap.ts';
import { Plot, type PlotData } from '../draw/plot.ts';
import { type Engine, manifest } from '../engine.ts';
import { bandOf, curvesOf, mapOf } from '../labs/atlas-figures.ts';
import { panels } from '../labs/beyond/figures.ts';
import { looks, usual } from '../labs/beyond/methods.ts';
import { frequencyPanel } from '../labs/doctor/frequencies.ts';
import { usualPreset } from '../labs/doctor/presets.ts';
import { isReading, read } from '../labs/doctor/read.ts';
import { letters, pupilsOf, setupOf } from '../labs/train/controls.ts';
import { earlier, runsLike } from '../labs/train/earlier.ts';
import { accuracyPanel } from '../labs/train/figures.ts';
import { mapsOf } from '../labs/words/maps.ts';
import { questionOf } from '../labs/words/measure.ts';
import { tokensOf } from '../labs/words/text.ts';
import { actsNowhere } from '../model/manifest.ts';
import { infoOf, initialState } from '../model/state.ts';
import { SquareMaps } from '../parts/square-maps.ts';

export interface Figure {
  readonly lab: string;
  readonly stage: HTMLElement;
}

const state = initialState(manifest);
const { values } = state;

function plotted(lab: string, data: PlotData | undefined): Figure[] {
  if (!data) return [];
  const [cursor, window] = [new Cursor(), new Window()];
  cursor.fit(data.xs.length, data.series.length);
  window.fit(data.xs.length);
  const plot = new Plot(cursor, window);
  plot.show(data);
  return [{ lab, stage: plot.stage.root }];
}

function ofAtlas(engine: Engine, width: number, dark: boolean): Figure[] {
  const info = infoOf(manifest, state);
  const picture = pictureOf(engine, info, state.settings, state.length, {
    head: state.head,
    around: true,
  });
  const [cursor, window] = [new Cursor(), new Window()];
  cursor.fit(picture.columns, picture.rows);
  window.fit(picture.columns);
  const map = new HeatMap(cursor, window, 'map');
  map.show(mapOf(info, picture, window, width, dark));
  const curves = new Curves(cursor, window);
  curves.show(curvesOf(info, state.settings, picture, state.logarithmic, bandOf(picture)));
  return [map, curves].map(({ stage }) => ({ lab: 'atlas', stage: stage.root }));
}

function ofBeyond(engine: Engine): Figure[] {
  const { hd, theta, from, to, hot } = values;
  const setup = { headDim: hd, base: theta, trained: from, target: to, lists: {} };
  const { ratios, unseen, envelope } = panels(
    beyond(engine, manifest, usual, setup),
    setup,
    looks,
    hot,
  );
  return [ratios, unseen, envelope].flatMap(({ plot }) => plotted('beyond', plot));
}

function ofWords(engine: Engine, dark: boolean): Figure[] {
  const words = tokensOf(values.say, 'words');
  const question = questionOf(values, words);
  const one = infoOf(manifest, state);
  const other = manifest.find(({ id }) => id === values.with) ?? manifest.find(actsNowhere) ?? one;
  const [a, b] = [one, other].map((info) =>
    weightMap(weightsOf(engine, question, info), question.layer.heads, values.one),
  ) as [Float32Array, Float32Array];
  const maps = new SquareMaps(3, 'ahead');
  const place = Math.min(values.row, words.length - 1);
  maps.show(mapsOf({ words, a, b, names: [one.title, other.title], place, dark }));
  return [...maps.root.querySelectorAll<HTMLElement>('.stage')].map((stage) => ({
    lab: 'words',
    stage,
  }));
}

function ofConfig(engine: Engine): Figure[] {
  const reading = read(engine, usualPreset.text, values.at, values.lenient);
  const kind = isReading(reading) ? reading.kinds[0] : undefined;
  return isReading(reading) && kind ? plotted('config', frequencyPanel(reading, kind)?.plot) : [];
}

async function ofTraining(): Promise<Figure[]> {
  const before = await earlier();
  const setup = setupOf(values);
  const curves = pupilsOf(values).map((id, i) => ({
    title: manifest.find((one) => one.id === id)?.title ?? id,
    letter: letters[i] as string,
    look: i,
    now: [],
    before: runsLike(before, setup, id).map(({ exams }) => exams),
    same: [],
  }));
  return plotted('train', accuracyPanel(curves, setup, []).plot);
}

/** `width` is that of a stage. */
export const figures = async (engine: Engine, width: number, dark: boolean): Promise<Figure[]> => [
  ...ofAtlas(engine, width, dark),
  ...ofBeyond(engine),
  ...ofWords(engine, dark),
  ...ofConfig(engine),
  ...(await ofTraining()),
];
