// SPDX-License-Identifier: Apache-2.0
// Of the atlas: the wavelengths of what turns or is a wave, on one logarithmic axis with the length.
import { type Ladder, ladderOf } from '../compute/ladder.ts';
import { box, h, renew, setHidden, setText } from '../dom.ts';
import { brief, grouped } from '../draw/scale.ts';
import { type Engine, manifest } from '../engine.ts';
import { actsAt, type EncodingInfo } from '../model/manifest.ts';
import { infoOf, type State, type Store } from '../model/state.ts';
import { PlotPanel } from '../parts/plot-panel.ts';
import { drawing } from '../view.ts';
import { atlasCursor } from './atlas-cursor.ts';
import { ladderNotice, wavelessNotices } from './ladder-notice.ts';

/** Whether a line of the atlas' map is what this figure has a point for: a pair of a rotation, a channel of a table. */
const sharesLines = (info: EncodingInfo): boolean =>
  actsAt(info, 'rotate') !== actsAt(info, 'embed') && !info.remapsDistance;

export class LadderView {
  readonly #panel: PlotPanel;
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #tiles = h('dl', { class: 'tiles' });
  readonly root: HTMLElement;

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    this.#panel = new PlotPanel(
      'ladder',
      'λ = 2π/ω, the positions that one turn takes. Above the line of the length a pair, or a channel of a table, never comes round; below 2 it turns by more than half between neighbours. The cursor is that of the map above.',
      { cursor: atlasCursor, applies: () => sharesLines(infoOf(manifest, store.get())) },
    );
    this.root = box(
      'ladder',
      this.#panel.root,
      box('words-answer', box('what', h('h3', {}, 'What to notice'), this.#notice), this.#tiles),
    );
    const redraw = drawing(this.root, () => this.draw(), 'after');
    store.subscribe((state, previous) => {
      if (
        state.encoding !== previous.encoding ||
        state.settings !== previous.settings ||
        state.length !== previous.length
      )
        redraw();
    });
  }

  draw(): void {
    const state = this.store.get();
    const info = infoOf(manifest, state);
    const ladder = this.#compute(state, info);
    setHidden(this.root, ladder === undefined);
    const drawn = typeof ladder === 'object' && ladder.turns.some((turns) => turns > 0);
    setHidden(this.#panel.root, !drawn);
    setHidden(this.#tiles, !drawn);
    if (drawn) this.#show(info, ladder);
    else if (ladder)
      setText(this.#notice, wavelessNotices[typeof ladder === 'string' ? ladder : 'still']);
  }
  /** The map above already says what is wrong with the options. */
  #compute(state: State, info: EncodingInfo): ReturnType<typeof ladderOf> {
    try {
      return ladderOf(this.engine, info, state.settings, state.length);
    } catch {
      return undefined;
    }
  }

  #show(info: EncodingInfo, ladder: Ladder): void {
    const { of, length, wavelengths, turns, never, aliased } = ladder;
    const count = wavelengths.length;
    const finite = wavelengths.filter(Number.isFinite);
    const [least, most] = [Math.min(...finite), Math.max(...finite)];
    const fastest = Math.max(...turns);
    setText(this.#notice, ladderNotice({ of, count, never, aliased, length, fastest }));
    const tile = (name: string, value: number, text: string, note: string): HTMLElement =>
      box(
        'tile',
        h('dt', {}, name),
        h('dd', { class: 'tile-value', 'data-value': value }, text),
        h('dd', { class: 'tile-note' }, note),
      );
    renew(
      this.#tiles,
      tile(
        'Full turns',
        fastest,
        grouped(Math.floor(fastest)),
        `of the fastest ${of} in ${length}`,
      ),
      tile('Never completed', never, `${never} of ${count}`, `${of}s that do not come round`),
      tile('λ below 2', aliased, `${aliased} of ${count}`, `${of}s that neighbours cannot follow`),
    );
    this.#panel.show({
      title: 'Wavelength ladder',
      plot: {
        xs: Float64Array.from(wavelengths, (_, i) => i),
        series: [{ name: info.title, letter: 'A', look: 0, values: wavelengths }],
        yLog: true,
        xName: of,
        yName: 'positions for one turn',
        levels: [
          { at: length, name: `${grouped(length)} positions: the length` },
          ...(aliased > 0 ? [{ at: 2, name: '2: neighbours half a turn apart' }] : []),
        ],
        dots: true,
        label: `${info.title}: ${count} ${of}s, one turn in ${brief(least)} to ${brief(most)} positions; ${never} complete none within ${length}, ${aliased} turn by more than half between neighbours.`,
      },
      xText: (i) => `${of} ${i}: ${grouped(turns[i] ?? 0, 3)} turns in ${length}`,
      table: {
        caption: 'Wavelengths',
        lines: count,
        lineName: of,
        lineText: String,
        columns: ['wavelength (positions)', 'turns within the length', 'never completed (1 = yes)'],
        cell: (line, column) =>
          column === 0
            ? (wavelengths[line] ?? Number.NaN)
            : column === 1
              ? (turns[line] ?? Number.NaN)
              : Number((turns[line] ?? 0) < 1),
      },
      remarks: [`${info.title}, ${length} positions`],
    });
  }
}
