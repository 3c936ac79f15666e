// SPDX-License-Identifier: Apache-2.0
// Accuracy against length, with a band over seeds, and loss against steps; runs made before are drawn faintly beneath the ones
// of now.
import type { Series } from '../../draw/plot.ts';
import type { PanelData } from '../../parts/plot-panel.ts';
import { askedAt, type Exam, type Setup } from '../../train/run.ts';
import { examLengths } from '../../train/tasks.ts';
import { type Spread, spreadOf } from './spread.ts';

export interface Curve {
  readonly title: string;
  readonly letter: string;
  readonly look: number;
  /** Exams of the runs of now and of those made before, one list for each seed; the seed chosen comes first. */
  readonly now: readonly (readonly Exam[])[];
  readonly before: readonly (readonly Exam[])[];
  /** Those of the chosen seed among the runs made before. */
  readonly same: readonly Exam[];
}

export const percent = (share: number): string => `${Math.round(100 * share)}\u00a0%`;

const named = (name: string, { seeds }: Spread): string =>
  seeds > 1 ? `${name}, median of ${seeds} seeds` : name;

/** A band only around one of the two, as eight would hide each other. */
function accuracySeries(curves: readonly Curve[], asked: readonly number[]): Series[] {
  return curves.flatMap(({ title, letter, look, now, before }) => {
    const [current, earlier] = [spreadOf(now, asked), spreadOf(before, asked)];
    const series: Series[] = [];
    const banded = (current?.seeds ?? 0) > 1;
    if (earlier)
      series.push({
        name: named(`${title}, made before`, earlier),
        letter: current ? '' : letter,
        look,
        values: earlier.middle,
        faint: true,
        ...(!banded && earlier.seeds > 1 ? { band: earlier } : {}),
      });
    if (current)
      series.push({
        name: named(title, current),
        letter,
        look,
        values: current.middle,
        ...(banded ? { band: current } : {}),
      });
    return series;
  });
}
/** Of the chosen seed; the letter stands at the end of the run that is complete. */
const lossSeries = (
  curves: readonly Curve[],
  of: (exams: readonly Exam[]) => ArrayLike<number>,
): Series[] =>
  curves.flatMap(({ title, letter, look, now, same }) => {
    const [current = []] = now;
    return [
      ...(same.length
        ? [{ name: `${title}, made before`, letter, look, values: of(same), faint: true }]
        : []),
      ...(current.length
        ? [{ name: title, letter: same.length ? '' : letter, look, values: of(current) }]
        : []),
    ];
  });

export function accuracyPanel(
  curves: readonly Curve[],
  setup: Setup,
  remarks: string[],
): PanelData {
  const { task, longest } = setup;
  const lengths = examLengths(longest);
  const asked = askedAt(task, longest);
  const series = accuracySeries(curves, asked);
  const columns = series.flatMap(({ name, values, band }) => [
    { name, values },
    ...(band
      ? [
          { name: `${name}, worst seed`, values: band.low },
          { name: `${name}, best seed`, values: band.high },
        ]
      : []),
  ]);
  return {
    title: 'Right answers against length',
    plot: {
      xs: lengths,
      series,
      xLog: true,
      xName: task === 'copy' ? 'symbols' : 'keys and values',
      yName: 'share of answers right',
      yRange: [0, 1.12],
      marks: [{ at: longest, name: 'longest seen in training' }],
      beyond: longest,
      dots: true,
      label: `Share of right answers for lengths from ${lengths[0]} to ${lengths.at(-1)}, trained up to ${longest}. ${series
        .map(
          ({ name, values }) =>
            `${name}: ${percent(values[lengths.indexOf(longest)] as number)} at ${longest}, ${percent(values[lengths.length - 1] as number)} at ${lengths.at(-1)}`,
        )
        .join('; ')}.`,
    },
    xText: (column) => `length ${lengths[column]}`,
    table: {
      caption: 'Share of answers right',
      lines: lengths.length,
      lineName: 'length',
      lineText: (line) => String(lengths[line]),
      columns: columns.map(({ name }) => name),
      cell: (line, column) => columns[column]?.values[line] ?? Number.NaN,
    },
    remarks,
  };
}

export function lossPanel(curves: readonly Curve[], remarks: string[]): PanelData {
  const steps = [
    ...new Set(
      curves.flatMap(({ now, same }) =>
        [...(now[0] ?? []), ...same].filter(({ loss }) => loss !== null).map(({ step }) => step),
      ),
    ),
  ].sort((a, b) => a - b);
  const series = lossSeries(curves, (exams) =>
    Float64Array.from(
      steps,
      (step) => exams.find((exam) => exam.step === step)?.loss ?? Number.NaN,
    ),
  );
  return {
    title: 'Loss while it learns',
    plot: {
      xs: steps,
      series,
      xName: 'steps',
      yName: 'cross-entropy, mean of the steps before',
      label: `Loss against steps. ${series
        .map(({ name, values }) => {
          const known = Array.from(values).filter(Number.isFinite);
          return `${name}: from ${known[0]?.toPrecision(3)} to ${known.at(-1)?.toPrecision(3)}`;
        })
        .join('; ')}.`,
    },
    xText: (column) => `step ${steps[column]}`,
    table: {
      caption: 'Loss',
      lines: steps.length,
      lineName: 'step',
      lineText: (line) => String(steps[line]),
      columns: series.map(({ name }) => name),
      cell: (line, column) => series[column]?.values[line] ?? Number.NaN,
    },
    remarks,
  };
}

/** At most forty words. */
export function trainNotice(curves: readonly Curve[], { task, longest }: Setup): string {
  const lengths = examLengths(longest);
  const asked = askedAt(task, longest);
  const twice = lengths.indexOf(2 * longest);
  const found = curves
    .map(({ title, now, before }) => ({
      title,
      shares: (spreadOf(now, asked) ?? spreadOf(before, asked))?.middle ?? [],
    }))
    .map(({ title, shares }) => ({
      title,
      seen: shares[lengths.indexOf(longest)] as number,
      longer: shares[twice] as number,
    }))
    .filter(({ seen }) => Number.isFinite(seen));
  if (!found.length)
    return 'Nothing trained yet. The line will mark the longest length of the training.';
  const learned = found.filter(({ seen }) => seen >= 0.8);
  if (!learned.length) {
    const best = found.reduce((a, b) => (b.seen > a.seen ? b : a));
    return `Nobody has learned length ${longest} yet; ${best.title} is at ${percent(best.seen)}. Right of the line are lengths that training never shows.`;
  }
  const best = learned.reduce((a, b) => (b.longer > a.longer ? b : a));
  const worst = learned.reduce((a, b) => (b.longer < a.longer ? b : a));
  return best === worst
    ? `${best.title} gives ${percent(best.seen)} right at length ${longest} and ${percent(best.longer)} at ${2 * longest}, which it never saw.`
    : `At length ${longest}, ${learned.length} have learned it. At ${2 * longest}, never seen, ${best.title} gives ${percent(best.longer)} right and ${worst.title} ${percent(worst.longer)}.`;
}
