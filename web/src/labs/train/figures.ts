// SPDX-License-Identifier: Apache-2.0
// Accuracy against length, and loss against steps; runs made before are drawn faintly beneath the ones of now.
import type { Series } from '../../draw/plot.ts';
import type { PanelData } from '../../parts/plot-panel.ts';
import { askedAt, type Exam, type Setup } from '../../train/run.ts';
import { examLengths } from '../../train/tasks.ts';

export interface Curve {
  readonly title: string;
  readonly letter: string;
  readonly look: number;
  readonly now: readonly Exam[];
  readonly before: readonly Exam[];
}

export const percent = (share: number): string => `${Math.round(100 * share)}\u00a0%`;

/** Shares of right answers at the lengths of the exam, by the latest exam; none before there is one. */
export function sharesOf(exams: readonly Exam[], asked: readonly number[]): Float64Array {
  const last = exams.at(-1);
  return Float64Array.from(asked, (count, i) => (last ? (last.right[i] ?? 0) / count : Number.NaN));
}

/** The letter stands at the end of one of the two: of the run of now, or of the one that is complete. */
const both = (
  curves: readonly Curve[],
  of: (exams: readonly Exam[]) => ArrayLike<number>,
  complete = false,
): Series[] =>
  curves.flatMap(({ title, letter, look, now, before }) => [
    ...(before.length
      ? [
          {
            name: `${title}, made before`,
            letter: complete || !now.length ? letter : '',
            look,
            values: of(before),
            faint: true,
          },
        ]
      : []),
    ...(now.length
      ? [{ name: title, letter: complete && before.length ? '' : letter, look, values: of(now) }]
      : []),
  ]);

export function accuracyPanel(
  curves: readonly Curve[],
  setup: Setup,
  remarks: string[],
): PanelData {
  const { task, longest } = setup;
  const lengths = examLengths(longest);
  const asked = askedAt(task, longest);
  const series = both(curves, (exams) => sharesOf(exams, asked));
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
      columns: series.map(({ name }) => name),
      cell: (line, column) => series[column]?.values[line] ?? Number.NaN,
    },
    remarks,
  };
}

export function lossPanel(curves: readonly Curve[], remarks: string[]): PanelData {
  const steps = [
    ...new Set(
      curves.flatMap(({ now, before }) =>
        [...now, ...before].filter(({ loss }) => loss !== null).map(({ step }) => step),
      ),
    ),
  ].sort((a, b) => a - b);
  const series = both(
    curves,
    (exams) =>
      Float64Array.from(
        steps,
        (step) => exams.find((exam) => exam.step === step)?.loss ?? Number.NaN,
      ),
    true,
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
      shares: sharesOf(now.length ? now : before, asked),
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
