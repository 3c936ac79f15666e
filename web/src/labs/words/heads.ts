// SPDX-License-Identifier: Apache-2.0
// All heads as small maps, A above B: an overview, and the way to choose one.
import { mapOf } from '../../compute/weight-maps.ts';
import type { Weights } from '../../compute/words.ts';
import { box, h } from '../../dom.ts';
import { Drawn } from '../../draw/kept.ts';
import { paint } from '../../draw/raster.ts';
import type { ColourTable } from '../../model/colour.ts';
import { rangeOf } from '../../model/range.ts';

export class Heads {
  readonly root = h('fieldset', { class: 'heads' }, h('legend', {}, 'Head'));
  #items: { input: HTMLInputElement; maps: { canvas: HTMLCanvasElement; drawn: Drawn }[] }[] = [];

  constructor(private readonly choose: (head: number) => void) {}

  show(weights: readonly Weights[], heads: number, chosen: number, colours: ColourTable): void {
    if (this.#items.length !== heads + 1) this.#build(heads);
    this.#items.forEach(({ input, maps }, i) => {
      input.checked = i - 1 === chosen;
      maps.forEach(({ canvas, drawn }, which) => {
        // Of two encodings one often stays.
        if (!drawn.differs(weights[which], colours)) return;
        const cells = mapOf(weights[which] as Weights, heads, i - 1);
        const count = Math.round(Math.sqrt(cells.length));
        const size = { width: 96, height: 96 };
        const { high } = rangeOf(cells);
        paint(
          canvas,
          { columns: count, rows: count, cells },
          0,
          count,
          size,
          { low: 0, high },
          colours,
        );
      });
    });
  }
  #build(heads: number): void {
    this.#items = Array.from({ length: heads + 1 }, (_, i) => {
      const head = i - 1;
      const input = h('input', {
        type: 'radio',
        name: 'words-head',
        id: `words-head-${head}`,
        value: head,
        class: 'visually-hidden',
        change: () => this.choose(head),
      });
      return {
        input,
        maps: [0, 1].map(() => ({
          canvas: h('canvas', { class: 'head-map', 'aria-hidden': 'true' }),
          drawn: new Drawn(),
        })),
      };
    });
    this.root.replaceChildren(
      h('legend', {}, 'Head: A above, B below'),
      ...this.#items.map(({ input, maps }, i) =>
        box(
          'head-item',
          input,
          h(
            'label',
            { for: input.id },
            ...maps.map(({ canvas }) => canvas),
            h('span', {}, i === 0 ? 'Mean' : String(i)),
          ),
        ),
      ),
    );
  }
}
