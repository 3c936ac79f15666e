// SPDX-License-Identifier: Apache-2.0
// The five figures of the lab: what each draws, in which words, and with which numbers beneath.
import type { Beyond, Method, Setup } from '../../compute/beyond.ts';
import type { PlotData, Series } from '../../draw/plot.ts';
import { grouped } from '../../draw/scale.ts';
import type { TableData } from '../../parts/number-table.ts';
import type { PanelData } from '../../parts/plot-panel.ts';

/** The look and the letter of a method, the same in every figure. */
export interface Look {
  readonly look: number;
  readonly letter: string;
}
export type Looks = ReadonlyMap<string, Look>;

interface Sketch {
  readonly title: string;
  readonly xs: Float64Array;
  readonly xName: string;
  readonly series: readonly Series[];
  readonly more: Partial<PlotData> & { yName: string };
  readonly label: string;
}

const table = (
  title: string,
  xName: string,
  xs: Float64Array,
  series: readonly Series[],
): TableData => ({
  caption: title,
  lines: xs.length,
  lineName: xName,
  lineText: (line) => String(xs[line]),
  columns: series.map(({ name }) => name),
  cell: (line, column) => series[column]?.values[line] ?? Number.NaN,
});

const panel = (
  { title, xs, xName, series, more, label }: Sketch,
  remarks: readonly string[],
): PanelData => ({
  title,
  plot: { xs, series, xName, label, ...more },
  xText: (column) => `${xName} ${grouped(xs[column] ?? 0)}`,
  table: table(title, xName, xs, series),
  remarks,
});

const inWords = ({ headDim, base, trained, target }: Setup): string =>
  `heads of ${headDim}, base ${base}, trained for ${trained} tokens, asked for ${target}`;

/** What comes after the name of the family. */
const shortTitle = (title: string): string => title.replace(/^.*?, /, '');

/** A curve that lies on another all along would hide it; the label says who they are. */
function series(
  methods: readonly Method[],
  looks: Looks,
  values: (method: Method) => ArrayLike<number>,
  name: (method: Method) => string = ({ info }) => shortTitle(info.title),
): Series[] {
  return methods.map((method) => ({
    name: name(method),
    ...(looks.get(method.info.id) ?? { look: 0, letter: '' }),
    values: values(method),
  }));
}

export interface Panels {
  readonly ratios: PanelData;
  readonly unseen: PanelData;
  readonly resolution: PanelData;
  readonly envelope: PanelData;
  readonly distances: PanelData;
}

export function panels(found: Beyond, setup: Setup, looks: Looks, hot: boolean): Panels {
  const remarks = [inWords(setup)];
  const scaled = found.methods.filter(
    ({ distances, ratios }) => !distances && ratios.some(Number.isFinite),
  );
  const moved = found.methods.filter(({ distances }) => distances);
  const pairs = Float64Array.from(found.plain, (_, i) => i);
  const { trained, target } = setup;
  const span = `${grouped(trained)} to ${grouped(target)}`;
  const many = (all: readonly unknown[]): string =>
    `${all.length} ${all.length === 1 ? 'method' : 'methods'}`;
  const logits = ({ info, logits }: Method): string =>
    logits === 1
      ? shortTitle(info.title)
      : `${shortTitle(info.title)}, logits ×${Number(logits.toPrecision(4))}`;
  return {
    ratios: panel(
      {
        title: 'What happens to each frequency',
        xs: pairs,
        xName: 'pair',
        series: series(scaled, looks, ({ ratios }) => ratios.map((r) => (r > 0 ? r : Number.NaN))),
        more: {
          yName: 'frequency, relative',
          yLog: true,
          levels: [{ at: trained / target, name: `1/${grouped(target / trained)}` }],
        },
        label: `${many(scaled)} over ${pairs.length} pairs, from ${span} tokens: ${scaled
          .map(
            ({ info, ratios }) =>
              `${info.title} from ${grouped(ratios[0] ?? 0)} to ${grouped(ratios.at(-1) ?? 0)}`,
          )
          .join('; ')}.`,
      },
      remarks,
    ),
    unseen: panel(
      {
        title: 'Pairs that meet new angles',
        xs: found.lengths,
        xName: 'tokens',
        series: series(scaled, looks, ({ unseen }) => unseen.map((share) => 100 * share)),
        more: {
          yName: '% of pairs',
          xLog: true,
          yRange: [
            0,
            Math.max(
              10,
              ...scaled.flatMap(({ unseen }) => [...unseen].map((share) => 105 * share)),
            ),
          ],
          marks: [{ at: target, name: `asked ${grouped(target)}` }],
        },
        label: `Share of the pairs that turn to an angle never met in training, by length: ${scaled
          .map(
            ({ info, unseenAtTarget }) =>
              `${info.title} ${(100 * unseenAtTarget).toFixed(0)} % at ${target}`,
          )
          .join('; ')}.`,
      },
      remarks,
    ),
    resolution: panel(
      {
        title: 'What neighbours lose',
        xs: pairs.slice(0, 8),
        xName: 'pair',
        series: series(scaled, looks, ({ ratios }) => ratios.slice(0, 8)),
        more: { yName: 'turn per token, relative', yRange: [0, 1.05], dots: true },
        label: `Turning between neighbouring tokens in the eight fastest pairs: ${scaled
          .map(({ info, resolution }) => `${info.title} at least ${grouped(resolution)}`)
          .join('; ')}.`,
      },
      remarks,
    ),
    envelope: panel(
      {
        title: 'How far two equal vectors still agree',
        xs: found.deltas,
        xName: 'distance',
        series: series(
          found.methods,
          looks,
          ({ envelope, logits }) => envelope.map((value) => value * (hot ? logits : 1)),
          hot ? logits : undefined,
        ),
        more: {
          yName: hot ? 'score envelope × logit factor' : 'score envelope',
          xLog: true,
          beyond: trained,
          marks: [{ at: trained, name: `trained ${grouped(trained)}` }],
        },
        label: `Envelope of the score over distance, ${many(found.methods)}; beyond ${trained} the model saw nothing.`,
      },
      remarks,
    ),
    distances: panel(
      {
        title: 'The distance attention acts upon',
        xs: found.steps,
        xName: 'distance',
        series: series(moved, looks, ({ distances }) => distances as Float64Array),
        more: {
          yName: 'acts as if it were',
          beyond: trained,
          levels: [{ at: trained, name: `the greatest distance of training, ${grouped(trained)}` }],
        },
        label: `Methods that move distances instead of slowing rotations, measured through attention: ${moved
          .map(
            ({ info, distances }) =>
              `${info.title} takes ${target - 1} for ${grouped(Math.round(distances?.at(-1) ?? 0))}`,
          )
          .join('; ')}.`,
      },
      remarks,
    ),
  };
}

/** "What to notice", in at most forty words. */
export function beyondNotice({ methods }: Beyond, { trained, target }: Setup): string {
  const times = target / trained;
  if (times <= 1)
    return 'The target lies within what was trained, so nothing has to be stretched. Raise it and watch the right ends of the curves leave 1.';
  const rotations = methods.filter(({ distances }) => !distances);
  const kept = rotations.filter(
    ({ resolution, unseenAtTarget }) => resolution > 0.999 && unseenAtTarget === 0,
  );
  const all = rotations.filter(({ unseenAtTarget }) => unseenAtTarget === 0).length;
  if (kept.length)
    return `${all} of ${rotations.length} methods meet no new angle at ${grouped(times)} times the length. Of these, ${kept.length} also leave neighbours as far apart as before: they slow only the pairs that never turned round in training.`;
  return `${all} of ${rotations.length} methods meet no new angle at ${grouped(times)} times the length, and each pays: nearby tokens turn apart less. Left of the first figure is the price, right of it the gain.`;
}

/** What a method was told, in short. */
export const toldTo = ({ settings }: Method): string =>
  Object.entries(settings.fields)
    .filter(([name]) => name !== 'headDim' && name !== 'base')
    .map(
      ([name, value]) =>
        `${name} ${Array.isArray(value) ? `${value.length} numbers` : typeof value === 'number' ? Number(value.toPrecision(6)) : value}`,
    )
    .join(', ') || '—';
