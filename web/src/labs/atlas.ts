// SPDX-License-Identifier: Apache-2.0
// Lab 1: every encoding of the manifest as a picture and a curve, with one cursor through both.
import type { Picture } from '../compute/picture.ts';
import { announce, box, byId, h, renew, setHidden, setText } from '../dom.ts';
import { Window } from '../draw/cursor.ts';
import { Curves } from '../draw/curve.ts';
import { HeatMap, type HeatMapData, Legend } from '../draw/heatmap.ts';
import { exact } from '../draw/scale.ts';
import { type Engine, manifest } from '../engine.ts';
import type { EncodingInfo } from '../model/manifest.ts';
import { untouched } from '../model/settings.ts';
import { infoOf, lengths, type State, type Store } from '../model/state.ts';
import { atlasCode } from '../parts/code.ts';
import { NumberControl, SwitchControl } from '../parts/control.ts';
import { EncodingControls } from '../parts/encoding-controls.ts';
import { NumberTable } from '../parts/number-table.ts';
import { offer } from '../parts/programs.ts';
import { copy } from '../parts/save.ts';
import { inSheet } from '../parts/sheet.ts';
import { isDark, onTheme } from '../theme.ts';
import { drawing } from '../view.ts';
import { atlasCursor } from './atlas-cursor.ts';
import { curveExports, mapExports, numbersOf, type Shown } from './atlas-export.ts';
import { Bands, curvesOf, mapOf } from './atlas-figures.ts';
import { atlasListen } from './atlas-listen.ts';
import { Pictured } from './atlas-picture.ts';
import { atlasQuestion } from './atlas-question.ts';
import { facts } from './facts.ts';
import { Gallery } from './gallery.ts';
import { atlasNotice } from './notices.ts';

/** What the figures depend on, besides the head where there is one for each. */
const drawn = ['encoding', 'settings', 'length', 'logarithmic'] as const;

export class AtlasLab {
  readonly #cursor = atlasCursor;
  readonly #window = new Window();
  readonly #steps = { page: 8, zoom: (factor: number) => this.#zoom(factor) };
  readonly #map = new HeatMap(this.#cursor, this.#window, 'map', this.#steps);
  readonly #curves = new Curves(this.#cursor, this.#window, this.#steps);
  readonly #legend = new Legend();
  readonly #table = new NumberTable('atlas-numbers', this.#cursor);
  readonly #gallery: Gallery;
  readonly #controls: EncodingControls;
  readonly #length: NumberControl;
  readonly #logarithmic: SwitchControl;
  readonly #title = h('h3', { class: 'figure-title' });
  readonly #readout = h('p', {
    class: 'readout',
    'data-role': 'readout',
    tabindex: 0,
    role: 'group',
    'aria-label': 'Values at the cursor. Enter goes to them.',
  });
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #definitions = box('definitions');
  readonly #problem = h('p', { class: 'control-error figure-error', role: 'alert', hidden: true });
  readonly #facts = h('div', {});
  readonly #redraw = drawing(byId('atlas-body'), () => this.#draw());
  /** Measured through attention, which takes as long as the map. */
  readonly #redrawFacts = drawing(this.#facts, () => this.#drawFacts(), 'rest');
  readonly #redrawBand = drawing(this.#curves.stage.root, () => this.#drawBand(), 'rest');
  readonly #bands = new Bands();
  readonly #pictured: Pictured;
  #factsOf = '';

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    this.#pictured = new Pictured(engine);
    this.#gallery = new Gallery(engine, (id) => store.set({ encoding: id, settings: untouched }));
    this.#controls = new EncodingControls(
      () => store.get().settings,
      (settings, committed) => store.set({ settings }, committed),
    );
    this.#length = new NumberControl(
      'length',
      { name: 'Length', doc: `Positions to draw, from ${lengths.least} to ${lengths.most}.` },
      { low: lengths.least, high: lengths.most, step: 1, logarithmic: true },
      (value, committed) => this.#resize(value, committed),
    );
    this.#logarithmic = new SwitchControl(
      'log',
      { name: 'Logarithmic distance', doc: 'Stretches what is near in the curve.' },
      (value) => store.set({ logarithmic: value ?? false }),
      false,
    );
    const button = (text: string, click: () => void): HTMLButtonElement =>
      h('button', { type: 'button', click }, text);
    const shown = (): Shown | undefined => this.#shown();
    this.#map.stage.root.id = 'atlas-map';
    this.#curves.stage.root.id = 'atlas-curve';
    const parameters = box(
      'controls-box',
      h('h3', { class: 'visually-hidden' }, 'Parameters'),
      this.#controls.root,
      box('controls', this.#length.root, this.#logarithmic.root),
    );
    byId('atlas-body').append(
      this.#gallery.root,
      box(
        'atlas',
        box(
          'atlas-figures',
          box('figure-head', this.#title, this.#legend.root),
          this.#problem,
          h(
            'figure',
            { class: 'figure', id: 'atlas-map-figure' },
            this.#map.stage.root,
            mapExports(shown),
          ),
          this.#readout,
          h(
            'figure',
            { class: 'figure', id: 'atlas-curve-figure' },
            this.#curves.stage.root,
            h('figcaption', {}, this.#definitions),
            curveExports(shown, this.#curves.stage),
          ),
          box(
            'button-row',
            button('Zoom in', () => this.#zoom(2)),
            button('Zoom out', () => this.#zoom(0.5)),
            h('span', { class: 'spacer' }),
            this.#table.toggle,
            ...atlasListen(() => this.#picture),
            button('Copy as code', () => void copy(this.#code(), 'Code')),
          ),
          this.#table.root,
          box('what', h('h3', {}, 'What to notice'), this.#notice),
        ),
        box('atlas-side', parameters, this.#facts),
      ),
    );
    inSheet('atlas', parameters);
    const guess = atlasQuestion(engine, store, () => this.#picture);
    byId('atlas-body').prepend(guess.root);
    guess.show();
    this.#cursor.subscribe(() => this.#point());
    store.subscribe((state, previous) => {
      if (state.encoding !== previous.encoding) guess.reset();
      if (
        drawn.some((key) => state[key] !== previous[key]) ||
        (state.head !== previous.head && this.#picture?.head !== undefined)
      )
        this.#redraw();
    });
    onTheme(() => {
      this.#gallery.draw(isDark());
      this.#redraw();
    });
    this.#redraw();
    this.#redraw.now();
    this.#gallery.draw(isDark());
    offer('atlas', () => this.#code());
  }

  get #picture(): Picture | undefined {
    return this.#pictured.picture;
  }

  #code(): string {
    this.#redraw.now();
    const state = this.store.get();
    const info = infoOf(manifest, state);
    return this.#picture ? atlasCode(info, state.settings, this.#picture) : '';
  }

  #resize(value: number | undefined, committed: boolean): void {
    const fits =
      value === undefined ||
      (Number.isInteger(value) && value >= lengths.least && value <= lengths.most);
    this.#length.problem(
      fits
        ? undefined
        : `Length must be a whole number from ${lengths.least} to ${lengths.most}, got ${value}`,
    );
    if (fits) this.store.set({ length: value ?? lengths.usual }, committed);
  }

  #draw(): void {
    const state = this.store.get();
    const info = infoOf(manifest, state);
    this.#gallery.select(info.id);
    this.#length.show(state.length, state.length === lengths.usual);
    this.#logarithmic.show(state.logarithmic, true);
    setText(this.#title, info.title);
    const problem = this.#pictured.compute(state, info);
    const shown = this.#controls.show(info, state.settings, problem);
    // Too long a table is cured by its size or by the length; both controls say so.
    this.#length.problem(problem?.field === 'positions' ? problem.message : undefined);
    // A field's own message suffices for ears; above the figure it says why the picture is an older one.
    setHidden(this.#problem, problem === undefined);
    this.#problem.setAttribute('role', shown ? 'note' : 'alert');
    setText(
      this.#problem,
      problem ? `${problem.message}. The figure shows the last values that worked.` : '',
    );
    this.#map.stage.root.classList.toggle('stale', problem !== undefined);
    this.#curves.stage.root.classList.toggle('stale', problem !== undefined);
    if (!this.#picture) return;
    this.#show(state, info, this.#picture);
    if (this.#picture.around?.scored) this.#redrawBand();
    this.#redrawFacts();
  }
  #drawBand(): void {
    const state = this.store.get();
    const { info } = this.#pictured;
    if (!this.#picture || !info) return;
    this.#bands.reckon(info, this.#picture);
    this.#showCurves(state, info, this.#picture);
  }
  #drawFacts(): void {
    const { settings } = this.store.get();
    const info = infoOf(manifest, this.store.get());
    const key = JSON.stringify([info.id, settings]);
    if (key !== this.#factsOf) renew(this.#facts, facts(this.engine, info, settings));
    this.#factsOf = key;
  }

  /** The same picture again, in another window. */
  #view(): void {
    const state = this.store.get();
    if (this.#picture) this.#showFigures(state, infoOf(manifest, state), this.#picture);
  }

  #show(state: State, info: EncodingInfo, picture: Picture): void {
    const { columns, rows } = picture;
    this.#cursor.fit(columns, rows);
    this.#window.fit(columns);
    const map = this.#showFigures(state, info, picture);
    this.#legend.show(picture.cellName, map.range, map.colours);
    this.#table.show(numbersOf(info, picture));
    renew(
      this.#definitions,
      ...picture.definitions.map((text) => h('p', {}, text)),
      h('p', {}, 'Point at a figure, or Tab to it and use the arrow keys.'),
    );
    setText(this.#notice, atlasNotice(info, picture));
    this.#point(false);
  }

  #showFigures(state: State, info: EncodingInfo, picture: Picture): HeatMapData {
    const map = mapOf(info, picture, this.#window, this.#map.stage.size.width || 600, isDark());
    this.#map.show(map);
    this.#showCurves(state, info, picture);
    return map;
  }
  #showCurves({ settings, logarithmic }: State, info: EncodingInfo, picture: Picture): void {
    const band = this.#bands.of(info, picture);
    this.#curves.show(curvesOf(info, settings, picture, logarithmic, band));
  }

  #point(speak = true): void {
    const picture = this.#picture;
    if (!picture) return;
    if (this.#window.reveal(this.#cursor.column)) this.#view();
    const { column, row, active, pinned } = this.#cursor;
    const curve = picture.curves[picture.perRow ? row : 0];
    const place = `${picture.columnName} ${picture.first + column}, ${picture.rowName} ${row}`;
    const cell = exact(picture.cells[row * picture.columns + column] ?? 0);
    const value = exact(curve?.values[column] ?? 0);
    this.#readout.classList.toggle('idle', !active);
    renew(
      this.#readout,
      h('span', {}, place),
      h('span', {}, `${picture.cellName} `, h('b', { class: 'number', 'data-role': 'cell' }, cell)),
      h(
        'span',
        {},
        `${curve?.name ?? ''} `,
        h('b', { class: 'number', 'data-role': 'curve' }, value),
      ),
      h('span', { class: 'pin' }, pinned ? 'pinned' : ''),
    );
    if (active && speak && !this.#cursor.quiet)
      announce(`${place}: ${picture.cellName} ${cell}, ${curve?.name} ${value}`);
  }
  #zoom(factor: number): void {
    this.#window.zoom(factor, this.#cursor.column);
    this.#view();
    announce(this.#window.whole ? 'Whole length in view' : `${this.#window.count} columns in view`);
  }
  /** What is on screen; nothing is, before the first picture that works. */
  #shown(): Shown | undefined {
    for (const late of [this.#redraw, this.#redrawBand, this.#curves.stage.redraw]) late.now();
    const state = this.store.get();
    const picture = this.#picture;
    if (!picture) return undefined;
    const info = infoOf(manifest, state);
    return { state, info, picture, window: this.#window, version: this.engine.info.version };
  }
}
