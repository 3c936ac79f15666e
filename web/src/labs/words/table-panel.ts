// SPDX-License-Identifier: Apache-2.0
// What is said about a visitor's table, and how it is chosen and put away.
import { fitsLayer } from '../../compute/given.ts';
import { box, h, setHidden, setText } from '../../dom.ts';
import { fileButton } from './files.ts';
import type { OwnTable } from './table.ts';

export class TablePanel {
  readonly root: HTMLElement;
  readonly #state = h('p', { class: 'control-doc', role: 'status' });
  readonly #problem = h('p', { class: 'control-error', role: 'alert' });
  readonly #choose: HTMLElement[];
  readonly #remove: HTMLButtonElement;
  readonly #tensor: HTMLSelectElement;
  readonly #tensors: HTMLElement;
  readonly #cut: HTMLButtonElement;
  #listed: unknown;

  constructor(
    private readonly table: OwnTable,
    wishes: { take(file: File): void; tensor(name: string): void; cutIntoPairs(): void },
  ) {
    this.#choose = fileButton('Use embeddings of a .safetensors…', '.safetensors', (file) =>
      wishes.take(file),
    );
    this.#remove = h(
      'button',
      {
        type: 'button',
        click: () => {
          // The button goes with the table.
          this.#choose[0]?.focus();
          table.drop();
        },
      },
      'Remove the table',
    );
    this.#tensor = h('select', {
      id: 'words-tensor',
      change: () => wishes.tensor(this.#tensor.value),
    });
    this.#tensors = box('type-row', h('label', { for: 'words-tensor' }, 'Tensor'), this.#tensor);
    this.#cut = h(
      'button',
      {
        type: 'button',
        click: () => {
          this.#choose[0]?.focus();
          wishes.cutIntoPairs();
        },
      },
      'Cut into byte pairs',
    );
    this.root = box(
      'own-file',
      box('button-row', ...this.#choose, this.#remove, this.#cut),
      this.#tensors,
      this.#state,
      this.#problem,
    );
  }

  /** `width` is the layer's, `unit` what the text is cut into, with ids or without. */
  show(width: number, unit: string, hasIds: boolean): void {
    const { used, problem } = this.table;
    setHidden(this.#remove, used === undefined);
    setHidden(this.#tensors, used === undefined);
    setHidden(this.#cut, used === undefined || hasIds);
    if (used) {
      const { tables, entry, file } = used;
      if (this.#listed !== tables)
        this.#tensor.replaceChildren(
          ...tables.map(({ name, rows, width: wide }) =>
            h('option', { value: name }, `${name} [${rows}, ${wide}]`),
          ),
        );
      this.#listed = tables;
      this.#tensor.value = entry.name;
      const name = `${entry.name} in ${file.name}`;
      const how = fitsLayer(entry.width)
        ? `The layer is ${entry.width} wide, as the table is.`
        : `From ${entry.width} they are projected to the ${width} of the layer by the seed.`;
      setText(
        this.#state,
        hasIds
          ? `Vectors are rows of ${name}, ${entry.dtype}, each brought to root mean square 1 as by the norm before a model’s first layer. ${how} A link does not carry them.`
          : `Rows of ${name} are chosen by the number of a token, and ${unit} have none: their vectors are hashed.`,
      );
    } else
      setText(
        this.#state,
        'Instead of hashed vectors: chosen or dropped here. Only its header and the rows of your tokens are read, and nothing leaves this browser.',
      );
    setText(this.#problem, problem ?? '');
    setHidden(this.#problem, problem === undefined);
  }
}
