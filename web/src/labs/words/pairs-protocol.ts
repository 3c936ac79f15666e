// SPDX-License-Identifier: Apache-2.0
// What the lab and the worker that cuts its texts tell each other.
import type { Tokens } from './tokenizer.ts';

/** A reply carries the number of its request. */
interface Numbered {
  readonly serial: number;
}
export type Request = Numbered &
  (
    | /** The vocabulary of GPT-2, which must be so many bytes long. */ {
        readonly kind: 'fetch';
        readonly address: string;
        readonly bytes: number;
      }
    | { readonly kind: 'read'; readonly file: Blob }
    | { readonly kind: 'cut'; readonly text: string }
  );

export type Reply = Numbered &
  (
    | { readonly kind: 'ready'; readonly size: number }
    | /** There is no new cutter; one that was there stays. */ {
        readonly kind: 'refused';
        readonly message: string;
      }
    | { readonly kind: 'tokens'; readonly text: string; readonly tokens: Tokens }
    | { readonly kind: 'uncut'; readonly text: string; readonly message: string }
  );
