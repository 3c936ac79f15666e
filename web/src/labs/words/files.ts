// SPDX-License-Identifier: Apache-2.0
// How a visitor's own files come into the lab, and what is said about byte pairs that come or do not.
import './files.css';
import { box, h, setHidden, setText } from '../../dom.ts';
import type { Pairs } from './pairs.ts';

/** A button that asks for a file. */
export function fileButton(
  text: string,
  accept: string,
  take: (file: File) => void,
): HTMLElement[] {
  const input = h('input', {
    type: 'file',
    class: 'visually-hidden',
    tabindex: -1,
    'aria-hidden': 'true',
    accept,
    change: () => {
      const [file] = input.files ?? [];
      if (file) take(file);
      input.value = '';
    },
  });
  return [h('button', { type: 'button', click: () => input.click() }, text), input];
}

/** Takes files that are dropped onto an element. */
export function dropped(onto: HTMLElement, take: (file: File) => void): void {
  const over = (event: DragEvent, on: boolean): void => {
    // A piece of text is dropped into a field by the browser.
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    onto.classList.toggle('dropping', on);
  };
  onto.addEventListener('dragover', (event) => over(event, true));
  onto.addEventListener('dragleave', (event) => over(event, false));
  onto.addEventListener('drop', (event) => {
    over(event, false);
    const [file] = event.dataTransfer?.files ?? [];
    if (file) take(file);
  });
}

/** Below the text: byte pairs that are on their way, or do not come. */
export class PairsStatus {
  readonly root: HTMLElement;
  readonly #text = h('p', { role: 'status', tabindex: -1 });
  readonly #again: HTMLButtonElement;

  constructor(private readonly pairs: Pairs) {
    this.#again = h(
      'button',
      {
        type: 'button',
        click: () => {
          // The button goes with what it was for.
          this.#text.focus();
          pairs.again();
        },
      },
      'Try again',
    );
    this.root = box('words-status', this.#text, this.#again);
  }
  show(wanted: boolean): void {
    const { failure, uncut, loading } = this.pairs;
    const problem = failure ?? (uncut && `This text is not cut: ${uncut}.`);
    setText(
      this.#text,
      !wanted
        ? ''
        : problem
          ? `${problem} These are words.`
          : loading
            ? 'Byte pairs are on their way; these are words.'
            : '',
    );
    this.#text.classList.toggle('control-error', problem !== undefined);
    setHidden(this.#again, !wanted || failure === undefined);
  }
}

/** A tokenizer.json of the visitor's, in the place of GPT-2's tokens. */
export class OwnTokens {
  readonly root: HTMLElement;
  readonly #state = h('p', { class: 'control-doc', role: 'status' });
  readonly #problem = h('p', { class: 'control-error', role: 'alert' });
  readonly #choose: HTMLElement[];
  readonly #back: HTMLButtonElement;

  constructor(
    private readonly pairs: Pairs,
    take: (file: File) => void,
  ) {
    this.#choose = fileButton('Use a tokenizer.json…', '.json,application/json', take);
    this.#back = h(
      'button',
      {
        type: 'button',
        click: () => {
          this.#choose[0]?.focus();
          pairs.drop();
        },
      },
      'Back to GPT-2’s tokens',
    );
    this.root = box(
      'own-file',
      box('button-row', ...this.#choose, this.#back),
      this.#state,
      this.#problem,
    );
  }
  show(): void {
    const { own, refused } = this.pairs;
    setText(
      this.#state,
      own
        ? `Byte pairs are those of ${own.name}, which knows ${own.size} tokens. A link does not carry the file: whoever opens one gets GPT-2’s.`
        : 'Instead of GPT-2’s tokens: chosen or dropped here, up to 20 MB. It stays in this browser.',
    );
    setHidden(this.#back, own === undefined);
    setText(this.#problem, refused ?? '');
    setHidden(this.#problem, refused === undefined);
  }
}
