// SPDX-License-Identifier: Apache-2.0
// What the maps on screen come to in numbers: how far A and B differ, what a move of the words changes, what a sink takes.
import { mapOf, meanRest, restOf, rigidity, variation } from '../../compute/weight-maps.ts';
import { type Layer, type Question, weightsOf } from '../../compute/words.ts';
import type { Engine } from '../../engine.ts';
import type { Values } from '../../model/keys.ts';
import type { EncodingInfo } from '../../model/manifest.ts';
import type { TrainedHeads } from '../../train/heads.ts';
import { askedIn } from '../../train/symbols.ts';
import { foundOf, sourcesOf } from '../../train/tasks.ts';
import type { Shown } from './save.ts';
import { type Cut, orderText } from './text.ts';

export const layerOf = ({ heads, width, seed, sharp }: Values): Layer => ({
  heads,
  width,
  seed,
  sharpness: sharp,
});

export const questionOf = (
  values: Values,
  words: readonly string[],
  ids?: readonly number[],
  trained?: TrainedHeads,
): Question => ({
  words,
  ...(ids ? { ids } : {}),
  layer: { ...layerOf(values), ...(trained && { heads: trained.heads, width: trained.width }) },
  mask: values.hide,
  span: values.span,
  part: values.part,
  softcap: values.cap,
  sink: values.sink,
  projector: trained,
});

export interface Measured {
  readonly moved: boolean;
  /** Largest change of a weight by the move, under each encoding. */
  readonly rigid: readonly [number, number];
  /** Total variation of each row, and its mean. */
  readonly elsewhere: Float64Array;
  readonly mean: number;
  readonly most: { readonly word: string; readonly share: number };
  readonly sunk: readonly [number, number] | undefined;
  /** Of trained heads, the share of attention on the place that holds the answer, under each encoding. */
  readonly found: readonly [number, number] | undefined;
}

function foundIn({ question, maps, trained }: Shown): [number, number] | undefined {
  if (!trained) return undefined;
  const { task } = trained.provenance;
  const asked = askedIn(task, question.words);
  if (!asked.rows.length) return undefined;
  const sources = sourcesOf(task, asked);
  return [foundOf(maps[0], sources), foundOf(maps[1], sources)];
}

export function measured(
  engine: Engine,
  shown: Shown,
  tokens: Cut,
  order: readonly number[],
  head: number,
): Measured {
  const { question, maps, infos } = shown;
  const { words, layer, sink = 0 } = question;
  const count = words.length;
  const [a, b] = maps;
  const moved = orderText(order) !== '';
  const typed: Question = {
    ...question,
    words: tokens.words,
    ...(tokens.ids ? { ids: tokens.ids } : {}),
  };
  const change = (which: 0 | 1): number =>
    rigidity(
      mapOf(weightsOf(engine, typed, infos[which] as EncodingInfo), layer.heads, head),
      maps[which],
      order,
    );
  const elsewhere = variation(a, b, count);
  const at = elsewhere.indexOf(Math.max(...elsewhere));
  return {
    moved,
    rigid: moved ? [change(0), change(1)] : [0, 0],
    elsewhere,
    mean: elsewhere.reduce((sum, value) => sum + value, 0) / count,
    most: { word: words[at] ?? '', share: elsewhere[at] ?? 0 },
    sunk: sink > 0 ? [meanRest(a, count), meanRest(b, count)] : undefined,
    found: foundIn(shown),
  };
}

/** What of one word's attention goes to the sink, under each encoding. */
export const sunkAt = ({ question, maps }: Shown, row: number): [number, number] | undefined =>
  (question.sink ?? 0) > 0
    ? [restOf(maps[0], question.words.length, row), restOf(maps[1], question.words.length, row)]
    : undefined;
