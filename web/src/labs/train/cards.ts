// SPDX-License-Identifier: Apache-2.0
// A line for each encoding: how far its decoders are, and whether they go the way of the runs made before.
import { h } from '../../dom.ts';
import { agreement } from '../../train/run.ts';
import { letters } from './controls.ts';
import type { Pupil } from './course.ts';
import type { EarlierRun } from './earlier.ts';

export interface Card {
  readonly id: string;
  readonly title: string;
  /** One for each seed. */
  readonly pupils: readonly Pupil[];
  readonly before: readonly EarlierRun[];
}

/** Over all seeds that both have: as many points as there are, and the first step at which one differs. */
function compared({ pupils, before }: Card): { points: number; runs: number; differs: number } {
  let [points, runs, differs] = [0, 0, Number.POSITIVE_INFINITY];
  for (const { seed, exams } of pupils) {
    const other = before.find(({ setup }) => setup.seed === seed);
    if (!other || exams.length === 0) continue;
    const found = agreement(exams, other.exams);
    points += found.compared;
    runs += 1;
    differs = Math.min(differs, found.differs ?? Number.POSITIVE_INFINITY);
  }
  return { points, runs, differs };
}

export function lineOf(card: Card): string {
  const { pupils, before } = card;
  const [first] = pupils;
  if (!first) return before.length ? 'made before' : 'not trained yet';
  const problem = pupils.find((one) => one.problem !== undefined)?.problem;
  if (problem !== undefined) return `failed: ${problem}`;
  const paces = pupils.map(({ pace }) => pace).filter(Number.isFinite);
  const pace = paces.reduce((sum, one) => sum + one, 0) / paces.length;
  const done = [
    ...(pupils.length > 1 ? [`${pupils.length} seeds`] : []),
    `${Math.min(...pupils.map(({ step }) => step))} steps${paces.length ? `, ${pace.toFixed(0)} ms each` : ''}`,
    `${first.parameters} parameters`,
  ].join(', ');
  const { points, runs, differs } = compared(card);
  if (runs === 0) return done;
  const them = runs > 1 ? `the ${runs} runs` : 'the run';
  return Number.isFinite(differs)
    ? `${done}; differs from ${them} made before from step ${differs} on`
    : `${done}; equal to ${them} made before, to the last bit, at all ${points} points`;
}

export const cardItem = (card: Card, at: number): HTMLElement =>
  h(
    'li',
    { 'data-pupil': card.id },
    h('span', { class: `swatch look${at}`, 'aria-hidden': 'true' }, letters[at] as string),
    h('b', {}, card.title),
    h('span', { class: 'number' }, lineOf(card)),
  );
