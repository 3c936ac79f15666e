// SPDX-License-Identifier: Apache-2.0
// What the atlas shows: the picture of the values as they are or, where these do not work, of the last that did.
import { type Picture, pictureOf } from '../compute/picture.ts';
import { type Engine, type Problem, problemOf } from '../engine.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import { untouched } from '../model/settings.ts';
import { lengths, type State } from '../model/state.ts';

export class Pictured {
  #picture: Picture | undefined;
  #info: EncodingInfo | undefined;
  /** Cells of the picture before: what is shown stays whole where the next one fails halfway. */
  #spare: Float32Array | undefined;

  constructor(private readonly engine: Engine) {}

  get picture(): Picture | undefined {
    return this.#picture;
  }
  get info(): EncodingInfo | undefined {
    return this.#info;
  }

  /** Leaves what can be shown of this encoding: if need be the last values that worked, or its defaults. */
  compute(state: State, info: EncodingInfo): Problem | undefined {
    const { settings, length, head } = state;
    const spare = this.#spare;
    try {
      const next = pictureOf(this.engine, info, settings, length, { head, around: true, spare });
      this.#spare = this.#picture?.cells;
      this.#picture = next;
      return undefined;
    } catch (error) {
      if (this.#info !== info) this.#picture = this.#usual(info);
      return problemOf(error);
    } finally {
      this.#info = info;
    }
  }
  #usual(info: EncodingInfo): Picture | undefined {
    try {
      return pictureOf(this.engine, info, untouched, lengths.usual, { around: true });
    } catch {
      // The message on screen is that of the visitor's own values; a second one would only hide it.
      return undefined;
    }
  }
}
