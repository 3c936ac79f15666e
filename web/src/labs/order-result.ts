// SPDX-License-Identifier: Apache-2.0
// The answer of the first lab: one number, and where it lies against the noise of float32.
import type { Comparison } from '../compute/layer.ts';
import { box, h, renew, setText, svg } from '../dom.ts';
import { scientific } from '../draw/scale.ts';

const [lowest, highest] = [-9, 1];
const share = (value: number): number =>
  Math.max(0, Math.min(1, (Math.log10(Math.max(value, 1e-12)) - lowest) / (highest - lowest)));

export class OrderResult {
  readonly root: HTMLElement;
  readonly #number = h('output', {
    class: 'big-number',
    'aria-live': 'off',
    tabindex: 0,
    title: 'Enter or a click copies it',
  });
  readonly #verdict = h('p', { class: 'verdict' });
  readonly #ruler = h('div', { class: 'ruler', role: 'img' });
  readonly #noise = h('p', { class: 'control-doc' });

  constructor() {
    this.root = box(
      'answer',
      h(
        'p',
        { class: 'big-label' },
        'Largest change of any output, ',
        h('span', { class: 'nowrap' }, 'max |Δ|'),
      ),
      this.#number,
      this.#verdict,
      this.#ruler,
      this.#noise,
    );
  }

  show(result: Comparison, moved: boolean): void {
    const { largest, noise } = result;
    this.#number.dataset.value = String(largest);
    this.#number.dataset.noise = String(noise);
    setText(this.#number, scientific(largest));
    const changed = largest > noise;
    this.root.classList.toggle('changed', changed);
    setText(
      this.#verdict,
      changed
        ? 'Order matters.'
        : !moved
          ? 'Nothing moved yet.'
          : largest === 0
            ? 'Not one bit differs.'
            : 'Rounding only: order is invisible.',
    );
    setText(
      this.#noise,
      `Noise line of float32: ${scientific(noise)} = words × 2⁻²³ × largest value. Below it, a change can come from the order of additions alone.`,
    );
    this.#ruler.setAttribute(
      'aria-label',
      `On a scale of powers of ten: change ${scientific(largest)}, noise line ${scientific(noise)}`,
    );
    this.#draw(largest, noise);
  }

  #draw(largest: number, noise: number): void {
    const at = (value: number): string => `${(6 + 88 * share(value)).toFixed(2)}%`;
    const marks: SVGElement[] = [
      svg('rect', {
        class: 'ruler-noise',
        x: '6%',
        y: 10,
        width: `${(88 * share(noise)).toFixed(2)}%`,
        height: 14,
      }),
      svg('rect', { class: 'ruler-track', x: '6%', y: 10, width: '88%', height: 14 }),
      svg('line', { class: 'ruler-line', x1: at(noise), x2: at(noise), y1: 4, y2: 30 }),
    ];
    for (let power = lowest; power <= highest; power += 2)
      marks.push(
        svg(
          'text',
          { class: 'tick middle', x: at(10 ** power), y: 46 },
          power === -1 ? '0.1' : power === 1 ? '10' : `1e−${-power}`,
        ),
      );
    marks.push(svg('circle', { class: 'ruler-dot', cx: at(largest), cy: 17, r: 8 }));
    renew(this.#ruler, svg('svg', { width: '100%', height: 52, 'aria-hidden': 'true' }, ...marks));
  }
}
