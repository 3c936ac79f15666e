// SPDX-License-Identifier: Apache-2.0
// What can be chosen about the layer and its mask, besides the words and the encodings.
import { type Mask, masks, type Part, parts } from '../../compute/words.ts';
import { setHidden } from '../../dom.ts';
import { fallbacks, type Values } from '../../model/keys.ts';
import { ChoiceControl, NumberControl } from '../../parts/control.ts';
import { mostTokens } from './text.ts';

const maskNames: Record<Mask, string> = {
  open: 'None',
  causal: 'Causal',
  window: 'Window',
  first: 'First + window',
  prefix: 'Prefix',
};
const partNames: Record<Part, string> = {
  both: 'Words and places',
  content: 'Words only',
  position: 'Places only',
};
type NumberKey = 'seed' | 'sharp' | 'span' | 'cap' | 'sink';
/** The others are whole. */
const real: readonly NumberKey[] = ['sharp', 'cap', 'sink'];
const limits: Record<NumberKey, readonly [least: number, most: number]> = {
  seed: [0, 999],
  sharp: [0, 8],
  span: [1, mostTokens],
  cap: [0, 1000],
  sink: [0, 1e6],
};

export class WordsControls {
  readonly #choices: readonly { readonly control: ChoiceControl; show(values: Values): void }[];
  readonly #numbers: Record<NumberKey, NumberControl>;
  /** What stands above the maps, being asked first. */
  readonly above: readonly HTMLElement[];
  readonly below: readonly HTMLElement[];
  /** What random projections have, and training has settled. */
  readonly #free: readonly HTMLElement[];

  constructor(private readonly put: (values: Partial<Values>, committed?: boolean) => void) {
    this.#choices = [
      this.#choice(
        'part',
        'What counts',
        'Blanks the meaning of the words, or their places.',
        parts.map((part) => [part, partNames[part]] as const),
        (value) => ({ part: value as Part }),
      ),
      this.#choice(
        'hide',
        'Mask',
        'First: the two first words stay in sight.',
        masks.map((mask) => [mask, maskNames[mask]] as const),
        (value) => ({ hide: value as Mask }),
      ),
      this.#choice(
        'cut',
        'Cut into',
        `Byte pairs are the tokens of GPT-2: ${(gpt2Files.bytes / 1e6).toFixed(1)} MB come from this site when first chosen.`,
        [
          ['words', 'Words'],
          ['letters', 'Letters'],
          ['pairs', 'Byte pairs'],
        ],
        (value) => ({ cut: value as Values['cut'], mix: '', row: 0 }),
      ),
      this.#choice(
        'heads',
        'Heads',
        '',
        ['1', '2', '4', '8'].map((n) => [n, n] as const),
        (value) => ({ heads: Number(value), one: -1 }),
      ),
      this.#choice(
        'width',
        'Width',
        'Of all heads together.',
        ['16', '32', '64', '128', '256', '512'].map((n) => [n, n] as const),
        (value) => ({ width: Number(value) }),
      ),
    ];
    const number = (
      key: NumberKey,
      name: string,
      doc: string,
      high: number,
      step: number,
    ): NumberControl =>
      new NumberControl(
        key,
        { name, doc },
        { low: limits[key][0], high, step, logarithmic: false },
        (value, committed) => this.#set(key, value, committed),
      );
    this.#numbers = {
      sharp: number(
        'sharp',
        'Sharpness',
        'Scales content against position; 0 leaves position alone.',
        4,
        0.1,
      ),
      span: number('span', 'Window or prefix', 'Words that a window or a prefix takes in.', 32, 1),
      cap: number(
        'cap',
        'Soft cap',
        'Bends scores: cap · tanh(score / cap), before any bias. 0 leaves them alone.',
        50,
        0.5,
      ),
      sink: number(
        'sink',
        'Learned sink',
        'e to its logit, added to the sum of every softmax and given to no word. 0: no sink; 1: a logit of 0.',
        20,
        0.1,
      ),
      seed: number('seed', 'Seed', 'Another one, other projections.', 99, 1),
    };
    const roots = this.#choices.map(({ control }) => control.root);
    this.above = roots.slice(0, 2);
    this.below = [...roots.slice(2), ...Object.values(this.#numbers).map(({ root }) => root)];
    this.#free = [...roots.slice(2), this.#numbers.sharp.root, this.#numbers.seed.root];
  }

  show(values: Values, trained: boolean): void {
    for (const root of this.#free) setHidden(root, trained);
    for (const { show } of this.#choices) show(values);
    for (const key of Object.keys(this.#numbers) as NumberKey[])
      this.#numbers[key].show(values[key], values[key] === fallbacks[key]);
  }

  #choice(
    key: 'cut' | 'part' | 'hide' | 'heads' | 'width',
    name: string,
    doc: string,
    options: readonly (readonly [string, string])[],
    change: (value: string) => Partial<Values>,
  ): { control: ChoiceControl; show(values: Values): void } {
    const control = new ChoiceControl(
      key,
      { name, doc },
      options,
      (value) => this.put(change(value ?? '')),
      false,
    );
    return { control, show: (values) => control.show(String(values[key]), true) };
  }
  #set(key: NumberKey, value: number | undefined, committed: boolean): void {
    const asked = value ?? fallbacks[key];
    const [least, most] = limits[key];
    const fits = asked >= least && asked <= most && (real.includes(key) || Number.isInteger(asked));
    this.#numbers[key].problem(
      fits ? undefined : `${key} must be from ${least} to ${most}, got ${value}`,
    );
    if (fits) this.put({ [key]: asked } as Partial<Values>, committed);
  }
}
