// SPDX-License-Identifier: Apache-2.0
// Every encoding as a small picture: the way into the atlas, and its overview.
import { type Picture, pictureOf } from '../compute/picture.ts';
import { box, h } from '../dom.ts';
import { centred, paint } from '../draw/raster.ts';
import { type Engine, manifest } from '../engine.ts';
import { afterwards } from '../frames.ts';
import { type ColourTable, diverging } from '../model/colour.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import { untouched } from '../model/settings.ts';

const columns = 48;
/** Milliseconds of one go. */
const slice = 8;

export class Gallery {
  readonly root = h(
    'fieldset',
    { class: 'gallery' },
    h('legend', { class: 'visually-hidden' }, 'Encoding'),
  );
  readonly #later = afterwards();
  #dark = false;
  #near = false;
  /** Nothing that can be chosen changes them; a change of colours paints them again. */
  readonly #pictures = new Map<string, Picture>();
  readonly #items = new Map<string, { input: HTMLInputElement; canvas: HTMLCanvasElement }>();

  constructor(
    private readonly engine: Engine,
    choose: (id: string) => void,
  ) {
    for (const info of manifest) {
      const input = h('input', {
        type: 'radio',
        name: 'gallery',
        id: `gallery-${info.id}`,
        value: info.id,
        class: 'visually-hidden',
        change: () => choose(info.id),
      });
      const canvas = h('canvas', { class: 'thumb', 'aria-hidden': 'true' });
      this.#items.set(info.id, { input, canvas });
      this.root.append(
        box(
          'gallery-item',
          input,
          h('label', { for: input.id }, canvas, h('span', {}, info.title)),
        ),
      );
    }
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        this.#near = true;
        this.#drawAll();
      },
      { rootMargin: '25% 0px' },
    );
    observer.observe(this.root);
  }
  select(id: string): void {
    const item = this.#items.get(id);
    if (item) item.input.checked = true;
  }
  /** Not before somebody comes near: the tables of all encodings take longer to make than the rest of the page. */
  draw(dark: boolean): void {
    this.#dark = dark;
    if (this.#near) this.#drawAll();
  }
  /** A few at a time, so that scrolling stays smooth. */
  #drawAll(): void {
    const colours = diverging(this.#dark);
    const left = [...manifest];
    const some = (): void => {
      const start = performance.now();
      for (let info = left.shift(); info; info = left.shift()) {
        this.#paint(info, colours);
        if (performance.now() - start > slice) break;
      }
      if (left.length) this.#later(some);
    };
    this.#later(some);
  }
  #paint(info: EncodingInfo, colours: ColourTable): void {
    const canvas = this.#items.get(info.id)?.canvas;
    if (!canvas) return;
    try {
      // Both sides of zero for distances, so half the length there gives as many columns.
      const whole = this.#pictures.get(info.id) ?? pictureOf(this.engine, info, untouched, columns);
      this.#pictures.set(info.id, whole);
      const count = Math.min(whole.columns, columns);
      paint(
        canvas,
        whole,
        Math.floor((whole.columns - count) / 2),
        count,
        { width: columns, height: 24 },
        centred(whole.range),
        colours,
      );
    } catch {
      // The picture itself says what is wrong when it is chosen; a blank thumbnail is enough here.
      canvas.width = 1;
    }
  }
}
