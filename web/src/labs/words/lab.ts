// SPDX-License-Identifier: Apache-2.0
// Lab 3: attention on the visitor's words, under two encodings.
import { mapOf } from '../../compute/weight-maps.ts';
import { headDimOf, weightsOf } from '../../compute/words.ts';
import { box, byId, h, renew, setHidden, setText } from '../../dom.ts';
import { scientific } from '../../draw/scale.ts';
import { type Engine, manifest, problemOf } from '../../engine.ts';
import { sequential } from '../../model/colour.ts';
import { differ, type KeyName } from '../../model/keys.ts';
import { actsNowhere } from '../../model/manifest.ts';
import { shuffled } from '../../model/random.ts';
import { untouched } from '../../model/settings.ts';
import { infoOf, type Store } from '../../model/state.ts';
import { Guess } from '../../parts/guess.ts';
import { layerCode } from '../../parts/layer-code.ts';
import { PlotPanel } from '../../parts/plot-panel.ts';
import { offer } from '../../parts/programs.ts';
import { copy } from '../../parts/save.ts';
import { inSheet } from '../../parts/sheet.ts';
import { SquareMaps } from '../../parts/square-maps.ts';
import { isDark, onTheme } from '../../theme.ts';
import { drawing } from '../../view.ts';
import { WordsControls } from './controls.ts';
import { Heads } from './heads.ts';
import { mapsOf } from './maps.ts';
import { type Measured, measured, questionOf, sunkAt } from './measure.ts';
import { still, wordsNotice } from './notice.ts';
import { Own } from './own.ts';
import { RowView } from './row.ts';
import { remarksOf, type Shown, saveCsv, savePng } from './save.ts';
import { type Cut, orderFrom, orderText } from './text.ts';
import { TextBox } from './text-box.ts';
import { tilesOf } from './tiles.ts';
import { HeadSource } from './trained.ts';
import { trainedCode } from './trained-code.ts';
import { variationFigure } from './variation.ts';

/** What this lab shows depends on, besides the encoding. */
const own =
  'say cut trained seq with heads width seed sharp cap sink hide span part one row mix'.split(
    ' ',
  ) as KeyName[];

class WordsLab {
  readonly #source: HeadSource;
  readonly #own: Own;
  readonly #input: TextBox;
  readonly #selects: readonly [HTMLSelectElement, HTMLSelectElement];
  readonly #controls: WordsControls;
  readonly #problem = h('p', { class: 'control-error', role: 'alert', hidden: true });
  readonly #maps = new SquareMaps(3, 'words-readout', (place) => this.#look(place));
  readonly #heads = new Heads((one) => this.store.put({ one }));
  readonly #row = new RowView();
  readonly #tiles = h('dl', { class: 'tiles' });
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #panel = new PlotPanel(
    'words-variation',
    'Total variation of each row: half the sum of |A − B|, the share of a word’s attention that lies elsewhere.',
  );
  readonly #guess = new Guess({
    ask: () => {
      const { mix, part } = this.store.get().values;
      return mix === '' && part === 'both' && this.#cut().words.length > 1
        ? 'The words are about to be shuffled. Which of the two maps moves along with them, cell by cell?'
        : undefined;
    },
    choices: ['Only A', 'Only B', 'Both', 'Neither'],
    answer: () => {
      this.#shuffle();
      this.#draw();
      const [a, b] = this.#rigid.map((change) => change <= still);
      return {
        right: a && b ? 2 : a ? 0 : b ? 1 : 3,
        text: `The largest change of a weight is ${this.#rigid.map(scientific).join(' under A, ')} under B.`,
      };
    },
  });
  #rigid: readonly [number, number] = [0, 0];
  readonly #redraw = drawing(byId('words-body'), () => this.#draw());
  /** 18 small maps, a table and a curve take longer than all before them, and can wait until the maps are seen. */
  readonly #redrawRest = drawing(byId('words-body'), () => this.#rest(), 'after');
  #shown: Shown | undefined;
  /** What the parts below the maps show. */
  #below: { shown: Shown; place: number; head: number; found: Measured } | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    this.#own = new Own(store, this.#redraw);
    const titles = () => manifest.map((info) => h('option', { value: info.id }, info.title));
    const nowhere = manifest.find(actsNowhere)?.id ?? '';
    this.#selects = [
      h(
        'select',
        {
          id: 'words-a',
          change: () =>
            store.set({ encoding: this.#selects[0].value, settings: untouched, placed: true }),
        },
        ...titles(),
      ),
      h(
        'select',
        {
          id: 'words-b',
          change: () => {
            const id = this.#selects[1].value;
            store.put({ with: id === nowhere ? '' : id });
          },
        },
        ...titles(),
      ),
    ];
    this.#source = new HeadSource(store, () => this.#redraw());
    this.#input = new TextBox(store, (values) => this.#source.reading(values));
    this.#controls = new WordsControls((values, committed) => store.put(values, committed));
    const button = (text: string, click: () => void, primary = false): HTMLButtonElement =>
      h('button', { type: 'button', click, ...(primary ? { class: 'primary' } : {}) }, text);
    const switches = box('words-switches', ...this.#controls.above);
    const controls = box('words-controls', ...this.#controls.below);
    byId('words-body').append(
      this.#source.root,
      box('type-row', ...this.#input.parts, this.#own.status),
      box(
        'words-bar',
        box('versus', h('label', { for: 'words-a' }, 'A'), this.#selects[0]),
        box('versus', h('label', { for: 'words-b' }, 'B'), this.#selects[1]),
        button('Shuffle the words', () => this.#shuffle(), true),
        button('As typed', () => store.put({ mix: '' })),
      ),
      switches,
      this.#problem,
      this.#maps.root,
      controls,
      box('words-answer', box('what', h('h3', {}, 'What to notice'), this.#notice), this.#tiles),
      this.#heads.root,
      this.#row.root,
      this.#panel.root,
      this.#own.root,
      box(
        'button-row',
        button('All weights as CSV', () => this.#save(saveCsv)),
        button('Maps as PNG', () => this.#save(savePng)),
        button('Copy A as code', () => void copy(this.#code(0), 'Code')),
        button('Copy B as code', () => void copy(this.#code(1), 'Code')),
      ),
    );
    inSheet('words', switches, controls);
    this.#own.listen(byId('words-body'));
    byId('words-body').prepend(this.#guess.root);
    store.subscribe((state, previous) => {
      // Chosen again, byte pairs are tried again.
      if (differ(state.values, previous.values, 'cut')) this.#own.again();
      if (state.encoding !== previous.encoding || differ(state.values, previous.values, ...own))
        this.#redraw();
    });
    onTheme(this.#redraw);
  }

  #cut(): Cut {
    return this.#source.reading(this.store.get().values) ?? this.#own.cut();
  }
  #shuffle(): void {
    const before = orderFrom(this.store.get().values.mix, this.#cut().words.length);
    let next = before;
    for (let attempt = 0; attempt < 20 && orderText(next) === orderText(before); attempt += 1)
      next = shuffled(before, Math.random);
    this.store.put({ mix: orderText(next) });
  }
  #look(place: number): void {
    const word = orderFrom(this.store.get().values.mix, this.#cut().words.length)[place];
    if (word !== undefined) this.store.put({ row: word });
  }

  #draw(): void {
    const state = this.store.get();
    const { values } = state;
    const waiting = this.#source.waiting(values);
    this.#source.show(values);
    if (waiting) return;
    const reading = this.#source.reading(values);
    const trained = reading?.heads;
    this.#input.show(values, reading);
    this.#controls.show(values, reading !== undefined);
    const cut = this.#cut();
    this.#own.show(values, cut, reading === undefined);
    // What is on screen stays until the tokens of what was typed since are there.
    if (cut.late && this.#shown) return;
    const tokens = cut.words;
    this.#input.tell(cut, reading);
    const a = infoOf(manifest, state);
    const b = manifest.find(({ id }) => id === values.with) ?? manifest.find(actsNowhere) ?? a;
    this.#selects[0].value = a.id;
    this.#selects[1].value = b.id;
    const order = orderFrom(values.mix, tokens.length);
    try {
      const asked = questionOf(
        values,
        order.map((word) => tokens[word] as string),
        cut.ids && order.map((word) => cut.ids?.[word] as number),
        trained,
      );
      const question = trained ? asked : this.#own.asked(asked, cut);
      // Rows are on their way.
      if (!question) return;
      const { layer } = question;
      if (!Number.isInteger(headDimOf(layer)))
        throw new RangeError(`${layer.heads} heads do not share ${layer.width} channels evenly`);
      const weights = [
        weightsOf(this.engine, question, a),
        weightsOf(this.engine, question, b),
      ] as const;
      const head = Math.min(values.one, layer.heads - 1);
      const maps = [
        mapOf(weights[0], layer.heads, head),
        mapOf(weights[1], layer.heads, head),
      ] as const;
      this.#shown = { question, weights, maps, infos: [a, b], trained };
      setHidden(this.#problem, true);
      this.#guess.show();
      this.#show(this.#shown, order, cut, head);
    } catch (error) {
      setHidden(this.#problem, false);
      setText(this.#problem, problemOf(error).message);
    }
  }

  #show(shown: Shown, order: readonly number[], cut: Cut, head: number): void {
    const { question, maps, infos } = shown;
    const { words } = question;
    const count = words.length;
    const { row } = this.store.get().values;
    const place = Math.max(0, order.indexOf(Math.min(row, count - 1)));
    const names = [infos[0].title, infos[1].title] as const;
    const [a, b] = maps;
    this.#maps.show(mapsOf({ words, a, b, names, place, dark: isDark() }));
    const found = measured(this.engine, shown, cut, order, head);
    this.#rigid = found.rigid;
    renew(this.#tiles, ...tilesOf(found.mean, found.moved, found.rigid, found.sunk, found.found));
    const { part, mask } = question;
    setText(this.#notice, wordsNotice({ ...found, names, part, masked: mask !== 'open' }));
    this.#below = { shown, place, head, found };
    this.#redrawRest();
  }
  *#rest(): Generator<void> {
    if (!this.#below) return;
    const { shown, place, head, found } = this.#below;
    const { question, weights, maps, infos } = shown;
    const { words, layer } = question;
    const count = words.length;
    this.#heads.show(weights, layer.heads, head, sequential(isDark()));
    yield;
    const [a, b] = maps.map((map) => map.subarray(place * count, (place + 1) * count)) as [
      Float32Array,
      Float32Array,
    ];
    this.#row.show({
      words,
      place,
      a,
      b,
      names: [infos[0].title, infos[1].title],
      sunk: sunkAt(shown, place),
      choose: (at) => this.#look(at),
    });
    yield;
    this.#panel.show(variationFigure(words, found, remarksOf(shown)));
  }
  #save(as: (shown: Shown) => void): void {
    this.#redraw.now();
    if (this.#shown) as(this.#shown);
  }
  #code(which: 0 | 1): string {
    this.#redraw.now();
    const shown = this.#shown;
    if (!shown) return '';
    const { question, infos, trained } = shown;
    return trained
      ? trainedCode(question, trained, infos[which])
      : layerCode(question, infos[which]);
  }
  async start(): Promise<void> {
    await this.#source.load(this.store.get().values.trained);
    this.#redraw();
    this.#redraw.now();
    offer('words', () => this.#code(0));
  }
}

export async function open(engine: Engine, store: Store): Promise<void> {
  await new WordsLab(engine, store).start();
}
