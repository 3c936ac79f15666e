// SPDX-License-Identifier: Apache-2.0
// Lab 7: what is on screen in any lab, as a program in the form one needs.
import { box, byId, h, setText } from '../../dom.ts';
import type { Engine } from '../../engine.ts';
import type { LazyLabs } from '../../lazy.ts';
import type { Values } from '../../model/keys.ts';
import type { Store } from '../../model/state.ts';
import { ChoiceControl } from '../../parts/control.ts';
import { programOf } from '../../parts/programs.ts';
import { copy } from '../../parts/save.ts';
import { drawing } from '../../view.ts';
import { asCommand, asModule, asPage } from './forms.ts';

type Form = Values['form'];
const forms: readonly (readonly [Form, string])[] = [
  ['npm', 'TypeScript, JavaScript'],
  ['page', 'Script in a page'],
  ['node', 'Node, one command'],
  ['torch', 'PyTorch'],
];
const labNames: readonly (readonly [Values['show'], string])[] = [
  ['order', 'Order'],
  ['atlas', 'Atlas'],
  ['beyond', 'Beyond'],
  ['words', 'Words'],
  ['config', 'Config'],
  ['bench', 'Speed'],
  ['train', 'Train'],
];
const notes: Record<Form, string> = {
  npm: 'The whole file: it runs as it is and prints the numbers on screen.',
  page: 'A page of its own. It needs the folder dist of the package beside it, and no build step.',
  node: 'For a terminal; nothing is written but node_modules.',
  torch:
    'The same check without this library. Of these four the only one that our tests do not run: they have no PyTorch.',
};

class UseLab {
  readonly #lab: ChoiceControl;
  readonly #form: ChoiceControl;
  readonly #code = h('code', {});
  readonly #note = h('p', { class: 'control-doc' });
  readonly #redraw = drawing(byId('use-body'), () => void this.#draw(), 'after');

  constructor(
    private readonly store: Store,
    private readonly lazy: LazyLabs,
  ) {
    this.#lab = new ChoiceControl(
      'show',
      { name: 'What is on screen in', doc: '' },
      labNames,
      (value) => store.put({ show: value as Values['show'] }),
      false,
    );
    this.#form = new ChoiceControl(
      'form',
      { name: 'as', doc: '' },
      forms,
      (value) => store.put({ form: value as Form }),
      false,
    );
    byId('use-body').append(
      box('words-switches', this.#lab.root, this.#form.root),
      this.#note,
      h(
        'pre',
        { class: 'program', tabindex: 0, role: 'region', 'aria-label': 'The program' },
        this.#code,
      ),
      box(
        'button-row',
        h(
          'button',
          {
            type: 'button',
            class: 'primary',
            click: () => void copy(this.#code.textContent ?? '', 'Code'),
          },
          'Copy',
        ),
      ),
    );
    store.subscribe(this.#redraw);
  }

  async #draw(): Promise<void> {
    const { show, form } = this.store.get().values;
    this.#lab.show(show, true);
    this.#form.show(form, true);
    await this.lazy.open(show);
    // Another lab may have been asked for while this one loaded; that is drawn by whoever asked.
    const latest = this.store.get().values;
    if (latest.show !== show || latest.form !== form) return;
    const program = programOf(show);
    const module = program?.module() ?? '';
    setText(this.#note, notes[form]);
    setText(this.#code, form === 'torch' ? this.#torch(program?.torch?.()) : written[form](module));
  }
  #torch(text: string | undefined): string {
    return (
      text ??
      '# For this lab there is no counterpart in PyTorch. Two labs have one: the config doctor\n# compares frequencies with those of transformers, and Train is the same experiment.\n'
    );
  }
  start(): Promise<void> {
    return this.#draw();
  }
}
const written: Record<Exclude<Form, 'torch'>, (module: string) => string> = {
  npm: asModule,
  page: asPage,
  node: asCommand,
};

export async function open(_engine: Engine, store: Store, lazy: LazyLabs): Promise<void> {
  await new UseLab(store, lazy).start();
}
