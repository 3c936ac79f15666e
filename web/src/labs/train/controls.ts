// SPDX-License-Identifier: Apache-2.0
// What is learned, by whom, and from which seeds.
import { box, h } from '../../dom.ts';
import { manifest } from '../../engine.ts';
import { fallbacks, type Values } from '../../model/keys.ts';
import { ChoiceControl, NumberControl } from '../../parts/control.ts';
import type { Setup } from '../../train/run.ts';
import { delay } from '../../train/tasks.ts';
import { usualPupils } from './pupils.ts';

export const letters = 'ABCD';
const most = 4;
const lastSeed = 999;
/** Encodings whose positions are the indices of tokens in a line. */
const able = manifest.filter(({ axes, textAxes }) => axes === 1 || textAxes);
const usual = usualPupils(manifest);

export const setupOf = ({ learn, upto, rounds, dice }: Values): Setup => ({
  task: learn,
  longest: upto,
  seed: dice,
  steps: rounds,
});
export function pupilsOf({ pupils }: Values): string[] {
  const wanted = pupils === '' ? usual : pupils.split(',');
  return [...new Set(wanted)].filter((id) => able.some((info) => info.id === id)).slice(0, most);
}
/** The chosen one and those after it. */
export const seedsOf = ({ dice, throws }: Values): number[] =>
  Array.from({ length: Number(throws) }, (_, i) => dice + i);

export class TrainControls {
  readonly #task: ChoiceControl;
  readonly #upto: ChoiceControl;
  readonly #dice: NumberControl;
  readonly #throws: ChoiceControl;
  readonly #selects: readonly HTMLSelectElement[];
  readonly roots: readonly HTMLElement[];

  constructor(private readonly put: (values: Partial<Values>, committed?: boolean) => void) {
    this.#task = new ChoiceControl(
      'learn',
      { name: 'Task', doc: '' },
      [
        ['copy', `Copy: the symbol ${delay} steps ago`],
        ['recall', 'Recall: the value of a key'],
      ],
      (value) => put({ learn: value as Values['learn'] }),
      false,
    );
    this.#upto = new ChoiceControl(
      'upto',
      { name: 'Trained up to length', doc: 'Asked about up to eight times that.' },
      [
        ['8', '8'],
        ['16', '16'],
      ],
      (value) => put({ upto: Number(value) }),
      false,
    );
    this.#dice = new NumberControl(
      'dice',
      { name: 'Seed', doc: 'The same seed gives the same curve, to the last bit.' },
      { low: 1, high: 20, step: 1, logarithmic: false },
      (value, committed) => {
        const seed = value ?? fallbacks.dice;
        const fits = Number.isInteger(seed) && seed >= 0 && seed <= lastSeed;
        this.#dice.problem(fits ? undefined : `Seed must be from 0 to ${lastSeed}, got ${value}`);
        if (fits) put({ dice: seed }, committed);
      },
    );
    this.#throws = new ChoiceControl(
      'throws',
      {
        name: 'Seeds',
        doc: 'That one and the next: several make a band, and take as much longer.',
      },
      ['1', '3', '5'].map((count) => [count, count] as const),
      (value) => put({ throws: value as Values['throws'] }),
      false,
    );
    this.#selects = Array.from({ length: most }, (_, slot) =>
      h(
        'select',
        { id: `train-${slot}`, change: () => this.#choose() },
        h('option', { value: '' }, 'nothing'),
        ...able.map(({ id, title }) => h('option', { value: id }, title)),
      ),
    );
    this.roots = [
      box('words-switches', this.#task.root, this.#upto.root, this.#dice.root, this.#throws.root),
      h(
        'fieldset',
        { class: 'method-list pupils-chosen' },
        h('legend', {}, 'Encodings, up to four'),
        ...this.#selects.map((select, i) =>
          box(
            'pupil-choice',
            h(
              'label',
              { for: select.id, class: `swatch look${i}` },
              letters[i] as string,
              h('span', { class: 'visually-hidden' }, ', encoding'),
            ),
            select,
          ),
        ),
      ),
    ];
  }

  show(values: Values): void {
    this.#task.show(values.learn, true);
    this.#upto.show(String(values.upto), true);
    this.#dice.show(values.dice, values.dice === fallbacks.dice);
    this.#throws.show(values.throws, true);
    const ids = pupilsOf(values);
    this.#selects.forEach((select, i) => {
      select.value = ids[i] ?? '';
    });
  }
  #choose(): void {
    const ids = [...new Set(this.#selects.map(({ value }) => value).filter(Boolean))].join();
    this.put({ pupils: ids === usual.join() ? '' : ids || '-' });
  }
}
