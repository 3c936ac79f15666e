// SPDX-License-Identifier: Apache-2.0
// Byte pairs as the lab asks for them: loaded when first chosen, cut in a worker, by GPT-2's tokens or those of a visitor's file.
import type { Values } from '../../model/keys.ts';
import type { Reply, Request } from './pairs-protocol.ts';
import { type Cut, wordsOf } from './text.ts';

/** Bytes of a tokenizer.json; that of a model with 150,000 tokens has 11 MB. */
const largestFile = 20e6;
/** What a file and its patterns may take, in milliseconds, before they are given up. */
const patience = 20_000;

type Unnumbered<T> = T extends unknown ? Omit<T, 'serial'> : never;

export class Pairs {
  #worker: Worker | undefined;
  #serial = 0;
  #timer = 0;
  /** What the newest request was for, while it is unanswered. */
  #asked: 'vocabulary' | 'text' | undefined;
  /** Tokens known; 0 is none yet. */
  #size = 0;
  /** The visitor's file that is in use, and one that is being read. */
  #file: File | undefined;
  #coming: File | undefined;
  #last: { readonly text: string; readonly cut?: Cut; readonly message?: string } | undefined;
  #failure: string | undefined;
  #refused: string | undefined;

  /** `taken`: a visitor's file is in use from now on. */
  constructor(private readonly changed: (taken?: boolean) => void) {}

  get loading(): boolean {
    return this.#asked === 'vocabulary';
  }
  /** Why there are no byte pairs; `again` may help. */
  get failure(): string | undefined {
    return this.#failure;
  }
  /** Why the text is not cut. */
  get uncut(): string | undefined {
    return this.#last?.message;
  }
  /** What is wrong with the file given last, which is not used. */
  get refused(): string | undefined {
    return this.#refused;
  }
  get own(): { readonly name: string; readonly size: number } | undefined {
    return this.#file && { name: this.#file.name, size: this.#size };
  }

  /** Words until byte pairs are there. */
  cut({ say, cut }: Values): Cut {
    if (cut !== 'pairs') return wordsOf(say, cut);
    const words = wordsOf(say, 'words');
    if (this.#size === 0) {
      if (this.#asked === undefined && this.#failure === undefined) this.#fetch();
      return words;
    }
    if (this.#last?.text === say) return this.#last.cut ?? words;
    // One text at a time: the newest is asked for once the one under way is there.
    if (this.#asked === undefined) this.#send('text', { kind: 'cut', text: say });
    return { ...(this.#last?.cut ?? words), late: true };
  }

  /** Once more, where it has failed. */
  again(): void {
    this.#failure = undefined;
    this.changed();
  }
  /** A visitor's tokenizer.json, instead of GPT-2's tokens if it can be read. */
  take(file: File): void {
    const tooLarge = file.size > largestFile;
    this.#refused = tooLarge
      ? `${file.name} is not used: it is ${(file.size / 1e6).toFixed(1)} MB long, and up to ${largestFile / 1e6} MB are read.`
      : undefined;
    if (!tooLarge) {
      this.#coming = file;
      this.#send('vocabulary', { kind: 'read', file });
    }
    this.changed();
  }
  /** Back to GPT-2's. */
  drop(): void {
    this.#end();
    this.#refused = undefined;
    this.changed();
  }

  #fetch(): void {
    const { folder, file, bytes } = gpt2Files;
    const address = new URL(folder + file, document.baseURI).href;
    this.#send('vocabulary', { kind: 'fetch', address, bytes });
  }
  #send(what: 'vocabulary' | 'text', request: Unnumbered<Request>): void {
    this.#worker ??= this.#start();
    this.#asked = what;
    this.#serial += 1;
    clearTimeout(this.#timer);
    // A slow network is no fault.
    if (request.kind !== 'fetch')
      this.#timer = window.setTimeout(
        () => this.#lose(`no answer came within ${patience / 1000} s`),
        patience,
      );
    this.#worker.postMessage({ ...request, serial: this.#serial });
  }
  #start(): Worker {
    const worker = new Worker(new URL('./pairs-worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => this.#hear(data));
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      if (worker === this.#worker) this.#lose('its script did not run');
    });
    return worker;
  }
  #hear(reply: Reply): void {
    if (reply.serial !== this.#serial || this.#asked === undefined) return;
    clearTimeout(this.#timer);
    this.#asked = undefined;
    const coming = this.#coming;
    this.#coming = undefined;
    const taken = reply.kind === 'ready' && coming !== undefined;
    if (reply.kind === 'ready') {
      this.#size = reply.size;
      this.#file = coming;
      this.#last = undefined;
      this.#failure = undefined;
    } else if (reply.kind === 'tokens') {
      const unit = `tokens of ${this.#file?.name ?? 'GPT-2'}`;
      this.#last = { text: reply.text, cut: { ...reply.tokens, unit } };
    } else if (reply.kind === 'uncut') this.#last = { text: reply.text, message: reply.message };
    else if (coming) this.#refused = `${coming.name} is not used: ${reply.message}.`;
    else this.#failure = `GPT-2’s tokens did not come: ${reply.message}.`;
    this.changed(taken);
  }
  /** The worker is of no use any more, nor the file it had. */
  #lose(why: string): void {
    const file = this.#coming ?? this.#file;
    if (file) this.#refused = `${file.name} is not used: ${why}.`;
    else this.#failure = `GPT-2’s tokens did not come: ${why}.`;
    this.#end();
    this.changed();
  }
  #end(): void {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#asked = undefined;
    this.#size = 0;
    this.#file = undefined;
    this.#coming = undefined;
    this.#last = undefined;
  }
}
