// SPDX-License-Identifier: Apache-2.0
// A text too long for a link, offered as a file for as long as it is the one in the field.
import { offer as raise } from '../../dom.ts';
import { download } from '../../parts/save.ts';

export class FileOffer {
  #open: { readonly notice: HTMLElement; readonly text: string } | undefined;

  offer(text: string): void {
    this.#close();
    const notice = raise(
      'This text is too long to travel in a link. As a file it can be sent beside one, and dropped here.',
      'Save as .json',
      () => {
        this.#close();
        download('config.json', new Blob([text], { type: 'application/json' }));
      },
    );
    this.#open = { notice, text };
  }
  /** Of another text it would say what is not so. */
  keepFor(text: string): void {
    if (this.#open?.text !== text) this.#close();
  }
  #close(): void {
    this.#open?.notice.remove();
    this.#open = undefined;
  }
}
