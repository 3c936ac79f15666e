// SPDX-License-Identifier: Apache-2.0
// Of the atlas: up to four encodings of any kind on one axis, and how relative each is.
import { range } from '../compute/cells.ts';
import { type Preference, preferenceInParts } from '../compute/preference.ts';
import { box, byId, h, setHidden } from '../dom.ts';
import { centred, paint } from '../draw/raster.ts';
import { grouped } from '../draw/scale.ts';
import { type Engine, manifest, problemOf } from '../engine.ts';
import { diverging } from '../model/colour.ts';
import { actsNowhere, type EncodingInfo, type Site } from '../model/manifest.ts';
import { rangeOf } from '../model/range.ts';
import { type Settings, untouched } from '../model/settings.ts';
import { infoOf, type Store } from '../model/state.ts';
import { PlotPanel } from '../parts/plot-panel.ts';
import { pause } from '../pause.ts';
import { isDark, onTheme } from '../theme.ts';
import { drawing } from '../view.ts';
import { LadderView } from './ladder.ts';

const letters = 'ABCD';
const most = 512;
const side = 48;

/** The first of every kind that needs no trained table; the last stands in where one of the others is chosen above. */
const firsts = (['embed', 'score', 'rotate'] as readonly Site[])
  .map((site) =>
    manifest.find(
      (info) =>
        info.sites[0] === site && info.tables.every((table) => !table.required && !table.usual),
    ),
  )
  .filter((info): info is EncodingInfo => info !== undefined)
  .map(({ id }) => id);
const usualBeside = (chosen: string): string[] => firsts.filter((id) => id !== chosen).slice(0, 2);

interface Side {
  readonly letter: string;
  readonly look: number;
  readonly info: EncodingInfo;
  readonly found?: Preference;
  readonly problem?: string;
}

class Compare {
  readonly #selects: HTMLSelectElement[];
  readonly #panel = new PlotPanel(
    'compare-distance',
    'All tokens are one vector, so content prefers none: the curve says by how many logits attention prefers a token δ places back to the token itself. Mean of all heads, or of eight vectors; trained tables are random here.',
  );
  readonly #cards = box('compare-cards');
  readonly #redraw = drawing(byId('compare'), () => this.#draw(), 'after');
  /** Of each encoding as last drawn, since three of four stay the same while one changes. */
  readonly #kept = new Map<string, { settings: Settings; length: number; found: Preference }>();

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    this.#selects = [0, 1, 2].map((slot) =>
      h(
        'select',
        { id: `compare-${slot}`, change: () => this.#choose() },
        h('option', { value: '' }, 'nothing'),
        ...manifest.map((info) => h('option', { value: info.id }, info.title)),
      ),
    );
    byId('compare').append(
      h('h3', { class: 'figure-title' }, 'Side by side'),
      box(
        'words-bar',
        h(
          'p',
          { class: 'control-doc' },
          'A is the encoding chosen above, as it is set; add up to three.',
        ),
        ...this.#selects.map((select, i) =>
          box('versus', h('label', { for: select.id }, letters[i + 1] as string), select),
        ),
      ),
      this.#panel.root,
      this.#cards,
    );
    store.subscribe((state, previous) => {
      if (
        state.encoding !== previous.encoding ||
        state.settings !== previous.settings ||
        state.length !== previous.length ||
        state.logarithmic !== previous.logarithmic ||
        state.values.others !== previous.values.others
      )
        this.#redraw();
    });
    onTheme(this.#redraw);
  }

  #choose(): void {
    const ids = this.#selects.map((select) => select.value).filter(Boolean);
    const others = ids.join();
    const usual = usualBeside(this.store.get().encoding).join();
    this.store.put({ others: others === usual ? '' : others || '-' });
  }
  *#measure(info: EncodingInfo, settings: Settings, length: number): Generator<void, Preference> {
    const kept = this.#kept.get(info.id);
    if (kept && kept.settings === settings && kept.length === length) return kept.found;
    const found = yield* preferenceInParts(this.engine, info, settings, length, side);
    this.#kept.set(info.id, { settings, length, found });
    return found;
  }

  *#draw(): Generator<void> {
    const state = this.store.get();
    const { others } = state.values;
    const ids = others === '' ? usualBeside(state.encoding) : others.split(',');
    this.#selects.forEach((select, i) => {
      select.value = manifest.some(({ id }) => id === ids[i]) ? (ids[i] as string) : '';
    });
    const chosen = [
      infoOf(manifest, state),
      ...this.#selects.map(({ value }) => manifest.find(({ id }) => id === value)),
    ];
    const length = Math.min(most, state.length);
    const sides: Side[] = [];
    for (const [i, info] of chosen.entries()) {
      if (!info) continue;
      const one = { letter: letters[i] as string, look: i, info };
      try {
        const settings = i === 0 ? state.settings : untouched;
        sides.push({ ...one, found: yield* this.#measure(info, settings, length) });
      } catch (error) {
        sides.push({ ...one, problem: problemOf(error).message });
      }
      yield;
    }
    this.#show(sides, length, state.logarithmic);
  }

  #show(sides: readonly Side[], length: number, logarithmic: boolean): void {
    const start = logarithmic ? 1 : 0;
    const xs = range(start, length - start);
    const drawn = sides.filter(
      (one): one is Side & { found: Preference } => one.found !== undefined,
    );
    const series = drawn.map(({ letter, look, info, found }) => ({
      name: info.title,
      letter,
      look,
      values: xs.map((distance) => found.byDistance[distance] ?? Number.NaN),
    }));
    setHidden(this.#panel.root, series.length === 0);
    if (series.length)
      this.#panel.show({
        title: 'How much nearer tokens are preferred',
        plot: {
          xs,
          series,
          xLog: logarithmic,
          xName: 'distance δ',
          yName: 'logits, against δ = 0',
          label: drawn
            .map(
              ({ info, found }) =>
                `${info.title}: ${grouped(found.byDistance[16] ?? 0)} logits at distance 16, ${grouped(found.byDistance.at(-1) ?? 0)} at ${found.tokens - 1}`,
            )
            .join('; '),
        },
        xText: (column) => `distance ${xs[column]}`,
        table: {
          caption: 'Logits against the token itself',
          lines: xs.length,
          lineName: 'distance',
          lineText: (line) => String(xs[line]),
          columns: series.map(({ name }) => name),
          cell: (line, column) => series[column]?.values[line] ?? Number.NaN,
        },
        remarks: [`${length} tokens, all the same vector`],
      });
    this.#cards.replaceChildren(...sides.map((one) => this.#card(one)));
  }

  #card({ letter, look, info, found, problem }: Side): HTMLElement {
    const head = h(
      'p',
      { class: 'compare-head' },
      h('span', { class: `swatch look${look}`, 'aria-hidden': 'true' }, letter),
      h('b', {}, info.title),
    );
    if (!found) return box('compare-card', head, h('p', { class: 'control-error' }, problem ?? ''));
    const canvas = h('canvas', {
      class: 'compare-map',
      role: 'img',
      'aria-label': `${info.title}: preference between each two of ${found.side} tokens; ${(100 * found.toeplitz).toFixed(1)} % of its variation depends on the distance alone.`,
    });
    const { side: count, matrix } = found;
    paint(
      canvas,
      { columns: count, rows: count, cells: matrix },
      0,
      count,
      { width: 192, height: 192 },
      centred(rangeOf(matrix)),
      diverging(isDark()),
    );
    return box(
      'compare-card',
      head,
      canvas,
      h('p', { class: 'tile-value', 'data-toeplitz': found.toeplitz }, found.toeplitz.toFixed(3)),
      h(
        'p',
        { class: 'tile-note' },
        actsNowhere(info)
          ? 'No preference at all, so nothing to explain.'
          : found.toeplitz > 0.9995
            ? 'of 1: only distances count.'
            : 'of 1: share of the pattern that distances explain.',
      ),
      ...(found.pairs
        ? [
            h(
              'p',
              { class: 'tile-note' },
              `${found.pairs.all - found.pairs.never} of ${found.pairs.all} pairs turn round within ${found.tokens} tokens.`,
            ),
          ]
        : []),
    );
  }
  async start(): Promise<void> {
    for (const _ of this.#draw()) await pause();
  }
}

export async function open(engine: Engine, store: Store): Promise<void> {
  const ladder = new LadderView(engine, store);
  byId('compare').append(ladder.root);
  await new Compare(engine, store).start();
  ladder.draw();
}
