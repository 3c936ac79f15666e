// SPDX-License-Identifier: Apache-2.0
// What a run found, as a table, as Markdown and as JSON.
import { type Outcome, ownName, type Timed } from '../../bench/protocol.ts';
import {
  drift,
  notableDrift,
  type Ratio,
  ratioOf,
  type Spread,
  spreadOf,
  type Verdict,
  verdictOf,
} from '../../bench/statistics.ts';
import { tolerance } from '../../bench/workloads.ts';
import { h } from '../../dom.ts';

export interface Line {
  readonly name: string;
  readonly how: string;
  readonly calls: number;
  readonly spread: Spread;
  readonly gigaflops: number;
  readonly drift: number;
  /** Against this library as it comes; without a time of that there is none. */
  readonly ratio: Ratio | undefined;
  readonly verdict: Verdict | undefined;
}

export function linesOf({ timed, checked, operations }: Outcome): Line[] {
  const own = timed.find(({ name }) => name === ownName);
  return timed.map((one: Timed): Line => {
    const spread = spreadOf(one.samples);
    const ratio = own && one !== own ? ratioOf(one.samples, own.samples) : undefined;
    return {
      name: one.name,
      how: checked.find(({ name }) => name === one.name)?.how ?? '',
      calls: one.calls,
      spread,
      gigaflops: operations / spread.median / 1e6,
      drift: drift(one.samples),
      ratio,
      verdict: ratio && verdictOf(ratio),
    };
  });
}

const digits = (value: number): string =>
  Number.isFinite(value) ? String(Number(value.toPrecision(3))) : 'none';
const small = (value: number): string => (Number.isFinite(value) ? value.toExponential(1) : 'none');

export function verdictText({ name, ratio, verdict }: Line): string {
  if (name === ownName) return 'what the others are measured by';
  if (!ratio || !verdict) return `${ownName} has no time`;
  const interval = `(${digits(ratio.low)} to ${digits(ratio.high)})`;
  if (verdict === 'same') return `not different ${interval}`;
  return `takes ${digits(ratio.ratio)} times as long ${interval}`;
}

const columns = [
  'contender',
  'largest error',
  'median ms',
  'middle half ms',
  'least ms',
  'GFLOP/s',
  'against posenc, 95 % interval',
] as const;

/** One row for each contender; those that were refused or did not answer have no time. */
export function rowsOf(outcome: Outcome): string[][] {
  const lines = linesOf(outcome);
  return outcome.checked.map(({ name, how, difference, passed, problem }) => {
    const line = lines.find((one) => one.name === name);
    const who = [`${name}: ${how}`, problem ? 'no answer' : small(difference.relative)];
    if (!line)
      return [
        ...who,
        '—',
        '—',
        '—',
        '—',
        problem ?? (passed ? 'not timed' : `refused: more than ${tolerance} off`),
      ];
    const { median, low, high, least } = line.spread;
    return [
      ...who,
      digits(median),
      `${digits(low)} to ${digits(high)}`,
      digits(least),
      digits(line.gigaflops),
      verdictText(line) + (line.drift > notableDrift ? '; slowed down while it ran' : ''),
    ];
  });
}

export function resultTable(outcome: Outcome): HTMLElement {
  const lines = linesOf(outcome);
  return h(
    'table',
    { class: 'origins summary bench-table', id: 'bench-table' },
    h('caption', {}, outcome.title),
    h('thead', {}, h('tr', {}, ...columns.map((name) => h('th', { scope: 'col' }, name)))),
    h(
      'tbody',
      {},
      ...rowsOf(outcome).map((cells, i) => {
        const one = outcome.checked[i];
        const line = lines.find(({ name }) => name === one?.name);
        return h(
          'tr',
          {
            'data-contender': one?.name,
            'data-passed': one?.passed ? '1' : '0',
            ...(line?.verdict ? { 'data-verdict': line.verdict } : {}),
            ...(one?.passed ? {} : { class: 'failed' }),
          },
          ...cells.map((text, column) =>
            column === 0
              ? h('th', { scope: 'row' }, text)
              : h('td', { class: column < 6 ? 'number' : '' }, text),
          ),
        );
      }),
    ),
  );
}

export type Card = readonly (readonly [name: string, value: string])[];

export function cardOf({ surroundings, order }: Outcome, browser: Card): Card {
  const { posenc, builds, peer, clock, relaxed, isolated } = surroundings;
  return [
    ['posenc', `${posenc}, ${builds.join(' and ')} build`],
    ['onnxruntime-web', order.peer ? `${peer}, one thread` : peer],
    ['Relaxed SIMD in this browser', relaxed ? 'yes' : 'no'],
    ['Clock', `steps of ${digits(clock)} ms; page ${isolated ? '' : 'not '}isolated`],
    ['Samples', `${order.samples} of each, at least ${order.batch} ms long`],
    ...browser,
  ];
}

export function markdownOf(outcome: Outcome, card: Card, address: string): string {
  const row = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    `**${outcome.title}**`,
    '',
    row(columns),
    row(columns.map(() => '---')),
    ...rowsOf(outcome).map(row),
    '',
    ...card.map(([name, value]) => `- ${name}: ${value}`),
    `- ${address}`,
    '',
  ].join('\n');
}

export const jsonOf = (outcome: Outcome, card: Card, address: string): string =>
  JSON.stringify(
    {
      title: outcome.title,
      address,
      card: Object.fromEntries(card),
      operations: outcome.operations,
      checked: outcome.checked,
      results: linesOf(outcome),
      samples: Object.fromEntries(outcome.timed.map(({ name, samples }) => [name, samples])),
    },
    null,
    1,
  );

/** At most forty words. */
export function benchNotice(outcome: Outcome): string {
  const lines = linesOf(outcome);
  const refused = outcome.checked.filter(({ passed }) => !passed).length;
  const others = lines.filter(({ ratio }) => ratio !== undefined);
  const tail = refused
    ? ` ${refused} gave no right answer, and so got no time.`
    : ' All answers agree with double precision.';
  if (!lines.some(({ name }) => name === ownName))
    return `${ownName} itself has no time, so nothing is compared.${tail}`;
  if (outcome.order.samples < 30)
    return `Only ${outcome.order.samples} samples of each: enough to see the machinery work, too few to compare.${tail}`;
  const behind = others.filter(({ verdict }) => verdict === 'behind');
  const best = behind.sort((a, b) => (a.ratio?.ratio ?? 1) - (b.ratio?.ratio ?? 1))[0];
  if (best)
    return `${best.name} is faster than posenc here: it takes ${digits(best.ratio?.ratio ?? 1)} of its time.${tail}`;
  const next = others.sort((a, b) => (a.ratio?.ratio ?? 1) - (b.ratio?.ratio ?? 1))[0];
  if (!next?.ratio) return `Nobody to compare with.${tail}`;
  if (next.verdict === 'same')
    return `${next.name} and posenc are not different here: the interval of their ratio contains 1.${tail}`;
  return `The next, ${next.name}, takes ${digits(next.ratio.ratio)} times as long as posenc.${tail}`;
}
