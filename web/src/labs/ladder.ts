// SPDX-License-Identifier: Apache-2.0
// Of the atlas: the wavelengths of what turns, on one logarithmic axis with the length.
import { type Ladder, ladderOf } from '../compute/ladder.ts';
import { box, framed, h, setText } from '../dom.ts';
import { brief, grouped } from '../draw/scale.ts';
import { type Engine, manifest } from '../engine.ts';
import { actsAt, type EncodingInfo } from '../model/manifest.ts';
import { infoOf, type State, type Store } from '../model/state.ts';
import { PlotPanel } from '../parts/plot-panel.ts';
import { atlasCursor } from './atlas-cursor.ts';
import { ladderNotice } from './ladder-notice.ts';

/** Whether a line of the atlas' map is a pair. */
const drawsPairs = (info: EncodingInfo): boolean =>
  actsAt(info, 'rotate') && !actsAt(info, 'embed') && !info.remapsDistance;

export class LadderView {
  readonly #panel: PlotPanel;
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #tiles = h('dl', { class: 'tiles' });
  readonly root: HTMLElement;
  readonly #redraw = framed(() => this.draw());

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    this.#panel = new PlotPanel(
      'ladder',
      'λ = 2π/ω, the positions that one turn takes. Above the line of the length a pair never comes round; below 2 it turns by more than half between neighbours. The cursor is that of the map above.',
      { cursor: atlasCursor, applies: () => drawsPairs(infoOf(manifest, store.get())) },
    );
    this.root = box(
      'ladder',
      this.#panel.root,
      box('words-answer', box('what', h('h3', {}, 'What to notice'), this.#notice), this.#tiles),
    );
    store.subscribe((state, previous) => {
      if (
        state.encoding !== previous.encoding ||
        state.settings !== previous.settings ||
        state.length !== previous.length
      )
        this.#redraw();
    });
  }

  draw(): void {
    const state = this.store.get();
    const info = infoOf(manifest, state);
    const ladder = this.#compute(state, info);
    this.root.hidden = ladder === undefined;
    if (ladder) this.#show(info, ladder);
  }
  /** The map above already says what is wrong with the options. */
  #compute(state: State, info: EncodingInfo): Ladder | undefined {
    try {
      return ladderOf(this.engine, info, state.settings, state.length);
    } catch {
      return undefined;
    }
  }

  #show(info: EncodingInfo, { length, wavelengths, turns, never, aliased }: Ladder): void {
    const pairs = wavelengths.length;
    const finite = wavelengths.filter(Number.isFinite);
    const [least, most] = [Math.min(...finite), Math.max(...finite)];
    const fastest = Math.max(...turns);
    setText(this.#notice, ladderNotice({ pairs, never, aliased, length, fastest }));
    const tile = (name: string, value: number, text: string, note: string): HTMLElement =>
      box(
        'tile',
        h('dt', {}, name),
        h('dd', { class: 'tile-value', 'data-value': value }, text),
        h('dd', { class: 'tile-note' }, note),
      );
    this.#tiles.replaceChildren(
      tile('Full turns', fastest, grouped(Math.floor(fastest)), `of the fastest pair in ${length}`),
      tile('Never completed', never, `${never} of ${pairs}`, 'pairs that do not come round'),
      tile('λ below 2', aliased, `${aliased} of ${pairs}`, 'pairs that neighbours cannot follow'),
    );
    this.#panel.show({
      title: 'Wavelength ladder',
      plot: {
        xs: Float64Array.from(wavelengths, (_, pair) => pair),
        series: [{ name: info.title, letter: 'A', look: 0, values: wavelengths }],
        yLog: true,
        xName: 'pair',
        yName: 'positions for one turn',
        levels: [
          { at: length, name: `${grouped(length)} positions: the length` },
          ...(aliased > 0 ? [{ at: 2, name: '2: neighbours half a turn apart' }] : []),
        ],
        dots: true,
        label: `${info.title}: ${pairs} pairs, one turn in ${brief(least)} to ${brief(most)} positions; ${never} complete none within ${length}, ${aliased} turn by more than half between neighbours.`,
      },
      xText: (pair) => `pair ${pair}: ${grouped(turns[pair] ?? 0, 3)} turns in ${length}`,
      table: {
        caption: 'Wavelengths',
        lines: pairs,
        lineName: 'pair',
        lineText: String,
        columns: ['wavelength (positions)', 'turns within the length', 'never completed (1 = yes)'],
        cell: (pair, column) =>
          column === 0
            ? (wavelengths[pair] ?? Number.NaN)
            : column === 1
              ? (turns[pair] ?? Number.NaN)
              : Number((turns[pair] ?? 0) < 1),
      },
      remarks: [`${info.title}, ${length} positions`],
    });
  }
}
