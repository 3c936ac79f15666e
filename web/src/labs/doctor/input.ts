// SPDX-License-Identifier: Apache-2.0
// Where a configuration comes in: chosen, pasted, dropped or opened; and how it is to be read.
import { box, h } from '../../dom.ts';
import { longestSequence } from '../../model/keys.ts';
import { NumberControl, SwitchControl } from '../../parts/control.ts';
import { presets } from './presets.ts';

/** The choice that stands for a text of the visitor's own. */
export const own = 'own';
const longest = longestSequence * 16;

export interface Wishes {
  choose(id: string): void;
  /** The text is being changed, and then has been. */
  typing(): void;
  typed(): void;
  take(file: File): void;
  resize(at: number, committed: boolean): void;
  soften(lenient: boolean): void;
}

export class ConfigInput {
  readonly root: HTMLElement;
  readonly choice: HTMLSelectElement;
  readonly field: HTMLTextAreaElement;
  readonly length: NumberControl;
  readonly lenient: SwitchControl;
  readonly #file: HTMLInputElement;

  constructor(private readonly wishes: Wishes) {
    this.choice = h(
      'select',
      { id: 'config-choice', change: () => wishes.choose(this.choice.value) },
      ...presets.map(({ id, title }) => h('option', { value: id }, title)),
      h('option', { value: own }, 'Your own text'),
    );
    this.field = h('textarea', {
      id: 'config-text',
      class: 'config-text',
      rows: 18,
      spellcheck: 'false',
      autocapitalize: 'off',
      'aria-describedby': 'config-hint',
      input: () => wishes.typing(),
      change: () => wishes.typed(),
    });
    this.#file = h('input', {
      type: 'file',
      class: 'visually-hidden',
      id: 'config-file',
      tabindex: -1,
      'aria-hidden': 'true',
      accept: '.json,.gguf,application/json',
      change: () => {
        const [file] = this.#file.files ?? [];
        if (file) wishes.take(file);
        this.#file.value = '';
      },
    });
    this.length = new NumberControl(
      'at',
      {
        name: 'Length to look at',
        doc: 'Tokens. Some methods choose their frequencies by it; without it, what the model was trained for.',
      },
      { low: 512, high: longestSequence, step: 1, logarithmic: true },
      (value, committed) => this.#resize(value, committed),
    );
    this.lenient = new SwitchControl(
      'lenient',
      {
        name: 'Read leniently',
        doc: 'Numbers in quotation marks and contradictions become warnings instead of errors.',
      },
      (value) => wishes.soften(value ?? false),
      false,
    );
    this.root = box(
      'doctor-input',
      box('type-row', h('label', { for: 'config-choice' }, 'A public configuration'), this.choice),
      box(
        'type-row',
        h('label', { for: 'config-text' }, 'or paste one'),
        this.field,
        h(
          'p',
          { class: 'control-doc', id: 'config-hint' },
          'Or drop a config.json or a .gguf here; of a .gguf only the head is read. Nothing leaves this browser: the policy of the page forbids it.',
        ),
      ),
      box(
        'button-row',
        h('button', { type: 'button', click: () => this.#file.click() }, 'Choose a file…'),
        this.#file,
      ),
      box('controls', this.length.root, this.lenient.root),
    );
    this.#dropping();
  }

  #dropping(): void {
    const over = (event: DragEvent, on: boolean): void => {
      event.preventDefault();
      this.root.classList.toggle('dropping', on);
    };
    this.root.addEventListener('dragover', (event) => over(event, true));
    this.root.addEventListener('dragleave', (event) => over(event, false));
    this.root.addEventListener('drop', (event) => {
      over(event, false);
      const [file] = event.dataTransfer?.files ?? [];
      if (file) this.wishes.take(file);
    });
  }
  #resize(value: number | undefined, committed: boolean): void {
    const at = value ?? 0;
    const fits = Number.isInteger(at) && at >= 0 && at <= longest;
    this.length.problem(
      fits ? undefined : `Length must be a whole number from 1 to ${longest}, got ${value}`,
    );
    if (fits) this.wishes.resize(at, committed);
  }
}
