// SPDX-License-Identifier: Apache-2.0
// What the decoders look at: one sequence that all of them are shown, one map for each, at a step of the training.
import { box, h, renew, setHidden, setText } from '../../dom.ts';
import { sequential } from '../../model/colour.ts';
import { fallbacks, type Values } from '../../model/keys.ts';
import { ChoiceControl, NumberControl } from '../../parts/control.ts';
import { SquareMaps } from '../../parts/square-maps.ts';
import { isDark } from '../../theme.ts';
import { fixed, type Setup } from '../../train/run.ts';
import { foundOf, labelsOf, probeOf, sourcesOf } from '../../train/tasks.ts';
import type { Look } from './course.ts';
import { percent } from './figures.ts';
import { lookAt, probeNotice, type Seen } from './seen.ts';

export interface Watched {
  readonly title: string;
  readonly letter: string;
  /** Ascending steps. */
  readonly looks: readonly Look[];
}
export class ProbeView {
  readonly root: HTMLElement;
  readonly #head: ChoiceControl;
  readonly #step: NumberControl;
  readonly #maps = new SquareMaps(4, 'probe-readout');
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #tiles = h('dl', { class: 'tiles' });
  readonly #origin = h('p', { class: 'control-doc' });

  constructor(put: (values: Partial<Values>, committed?: boolean) => void) {
    this.#head = new ChoiceControl(
      'eye',
      { name: 'Head', doc: '' },
      Array.from({ length: fixed.heads }, (_, i) => [String(i), String(i + 1)] as const),
      (value) => put({ eye: Number(value) }),
      false,
    );
    this.#step = new NumberControl(
      'when',
      { name: 'After steps', doc: 'Of the looks there are, the last one up to that step.' },
      { low: 0, high: fallbacks.rounds, step: fixed.every, logarithmic: false },
      (value, committed) => {
        const when = value ?? fallbacks.when;
        const fits = Number.isInteger(when) && when >= -1 && when <= 10_000;
        this.#step.problem(fits ? undefined : `Steps must be from 0 to 10000, got ${value}`);
        if (fits) put({ when }, committed);
      },
    );
    this.root = box(
      'probe',
      h('h3', { class: 'figure-title' }, 'What they look at'),
      this.#origin,
      box('words-switches', this.#head.root, this.#step.root),
      this.#maps.root,
      box('words-answer', box('what', h('h3', {}, 'What to notice'), this.#notice), this.#tiles),
    );
  }

  show(watched: readonly Watched[], setup: Setup, { eye, when }: Values, origin: string): void {
    const batch = probeOf(setup.task, setup.longest);
    const words = labelsOf(setup.task, batch);
    const sources = sourcesOf(setup.task, batch);
    const size = words.length ** 2;
    const seen = watched.flatMap(({ title, letter, looks }): Seen[] => {
      const look = lookAt(looks, when);
      if (!look) return [];
      const cells = look.weights.subarray(eye * size, (eye + 1) * size);
      return [{ title, letter, step: look.step, cells, found: foundOf(cells, sources) }];
    });
    this.#head.show(String(eye), true);
    const latest = Math.max(0, ...seen.map(({ step }) => step));
    this.#step.show(when < 0 ? latest : when, when === fallbacks.when, 'latest');
    setHidden(this.root, seen.length === 0);
    setText(this.#origin, origin);
    setText(this.#notice, probeNotice(seen, setup));
    const colours = sequential(isDark());
    this.#maps.show({
      words,
      looks: seen.map(({ title, letter, step, cells, found }) => ({
        title: `${letter}: ${title}`,
        name: 'weight',
        cells,
        range: { low: 0, high: 1 },
        colours,
        label: `${title}, head ${eye + 1} after ${step} steps: attention among ${words.length} places, ${percent(found)} of it on the place that holds the answer.`,
      })),
      readout: (row, column) =>
        `${words[row]} → ${words[column]}${sources[row] === column ? ', the answer' : ''}: ${seen
          .map(
            ({ letter, cells }) => `${letter} ${percent(cells[row * words.length + column] ?? 0)}`,
          )
          .join(', ')}`,
      hint: 'Point at a map, or Tab to it and use the arrows.',
    });
    renew(
      this.#tiles,
      ...seen.map(({ title, letter, step, found }) =>
        box(
          'tile',
          h('dt', {}, `${letter} on the answer`),
          h('dd', { class: 'tile-value', 'data-value': found }, percent(found)),
          h('dd', { class: 'tile-note' }, `${title}, after ${step} steps`),
        ),
      ),
    );
  }
}
