// SPDX-License-Identifier: Apache-2.0
// What a visitor brings along: a tokenizer.json and an embedding table, and the byte pairs that go before both.
import type { Question } from '../../compute/words.ts';
import { box } from '../../dom.ts';
import type { Values } from '../../model/keys.ts';
import type { Store } from '../../model/state.ts';
import { dropped, OwnTokens, PairsStatus } from './files.ts';
import { Pairs } from './pairs.ts';
import { OwnTable } from './table.ts';
import { TablePanel } from './table-panel.ts';
import type { Cut } from './text.ts';

export class Own {
  /** Below the text, and below the controls. */
  readonly status: HTMLElement;
  readonly root: HTMLElement;
  readonly #pairs: Pairs;
  readonly #status: PairsStatus;
  readonly #tokens: OwnTokens;
  readonly #table: OwnTable;
  readonly #panel: TablePanel;

  constructor(
    private readonly store: Store,
    redraw: () => void,
  ) {
    const intoPairs = (): void => store.put({ trained: '', cut: 'pairs', mix: '', row: 0 });
    this.#pairs = new Pairs((taken) => {
      if (taken) intoPairs();
      redraw();
    });
    this.#table = new OwnTable(redraw);
    this.#status = new PairsStatus(this.#pairs);
    this.#tokens = new OwnTokens(this.#pairs, (file) => this.take(file));
    this.#panel = new TablePanel(this.#table, {
      take: (file) => this.take(file),
      tensor: (name) => void this.#table.choose(name, this.cut()),
      cutIntoPairs: intoPairs,
    });
    this.status = this.#status.root;
    this.root = box('own-files', this.#tokens.root, this.#panel.root);
  }

  /** The lab takes files that are dropped anywhere on it. */
  listen(lab: HTMLElement): void {
    dropped(lab, (file) => this.take(file));
  }
  take(file: File): void {
    if (/\.safetensors$/i.test(file.name)) {
      this.store.put({ trained: '' });
      void this.#table.take(file, this.cut());
    } else this.#pairs.take(file);
  }
  cut(): Cut {
    return this.#pairs.cut(this.store.get().values);
  }
  /** Byte pairs are tried again, where they did not come. */
  again(): void {
    this.#pairs.again();
  }
  /** With rows of the table for vectors; undefined while they are read. Throws where a token has none. */
  asked(question: Question, cut: Cut): Question | undefined {
    return this.#table.asked(question, cut);
  }
  /** `used` is whether the words are a visitor's own, and not a sequence for trained heads. */
  show(values: Values, cut: Cut, used: boolean): void {
    this.#status.show(values.cut === 'pairs' && used);
    this.#tokens.show();
    this.#panel.show(values.width, cut.unit, cut.ids !== undefined);
  }
}
