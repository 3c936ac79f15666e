// SPDX-License-Identifier: Apache-2.0
// Where the text is typed: words of the visitor, or a sequence for trained heads.
import { h, setText } from '../../dom.ts';
import type { Values } from '../../model/keys.ts';
import type { Store } from '../../model/state.ts';
import type { Reading } from './provenance.ts';
import { type Cut, mostTokens } from './text.ts';

export class TextBox {
  readonly #label = h('label', { for: 'words-text' }, 'Your words');
  readonly #text = h('textarea', {
    id: 'words-text',
    class: 'words-text',
    rows: 2,
    spellcheck: 'false',
    maxlength: 4096,
    'aria-describedby': 'words-hint',
    input: () => this.#type(false),
    change: () => this.#type(true),
  });
  readonly #hint = h('p', { class: 'control-doc', id: 'words-hint' });
  readonly parts: readonly HTMLElement[] = [this.#label, this.#text, this.#hint];

  constructor(
    private readonly store: Store,
    private readonly reading: (values: Values) => Reading | undefined,
  ) {}

  #type(committed: boolean): void {
    const say = this.#text.value;
    const { values } = this.store.get();
    const reading = this.reading(values);
    const same = say === (reading?.text ?? values.say);
    if (same && !committed) return;
    // An empty field is a pause between two texts, not one.
    if (say.trim() === '') setText(this.#hint, `Type at least one ${reading ? 'symbol' : 'word'}.`);
    // A sample that nobody changed stays one.
    else if (!(same && reading && values.seq === ''))
      this.store.put({ [reading ? 'seq' : 'say']: say, ...(same ? {} : { mix: '' }) }, committed);
  }

  show({ say }: Values, reading: Reading | undefined): void {
    const text = reading?.text ?? say;
    // While it is empty somebody is about to type; otherwise a link may have brought another text.
    const pausing = document.activeElement === this.#text && this.#text.value.trim() === '';
    if (!pausing && this.#text.value !== text) this.#text.value = text;
    setText(this.#label, reading ? 'What they read' : 'Your words');
  }
  /** How many tokens there are, or what is wrong with them. */
  tell({ words, more, unit }: Cut, reading: Reading | undefined): void {
    setText(
      this.#hint,
      more
        ? `The first ${mostTokens} tokens are used.`
        : (reading?.hint ?? `${words.length} ${unit}. Equal ones are equal vectors.`),
    );
    const strange = reading?.strange === true;
    this.#hint.classList.toggle('control-error', strange);
    this.#text.setAttribute('aria-invalid', String(strange));
  }
}
