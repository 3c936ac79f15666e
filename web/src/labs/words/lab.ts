// SPDX-License-Identifier: Apache-2.0
// Lab 3: attention on the visitor's words, under two encodings.
import {
  headDimOf,
  type Mask,
  mapOf,
  masks,
  type Part,
  parts,
  type Question,
  rigidity,
  variation,
  weightsOf,
} from '../../compute/words.ts';
import { afterwards, box, byId, framed, h, setText } from '../../dom.ts';
import { scientific } from '../../draw/scale.ts';
import { type Engine, manifest, problemOf } from '../../engine.ts';
import { sequential } from '../../model/colour.ts';
import { differ, fallbacks, type KeyName, type Values } from '../../model/keys.ts';
import { actsNowhere, type EncodingInfo } from '../../model/manifest.ts';
import { shuffled } from '../../model/random.ts';
import { untouched } from '../../model/settings.ts';
import { infoOf, type Store } from '../../model/state.ts';
import { ChoiceControl, NumberControl } from '../../parts/control.ts';
import { Guess } from '../../parts/guess.ts';
import { layerCode } from '../../parts/layer-code.ts';
import { PlotPanel } from '../../parts/plot-panel.ts';
import { offer } from '../../parts/programs.ts';
import { copy } from '../../parts/save.ts';
import { isDark, onTheme } from '../../theme.ts';
import { Heads } from './heads.ts';
import { Maps } from './maps.ts';
import { still, wordsNotice } from './notice.ts';
import { RowView } from './row.ts';
import { remarksOf, type Shown, saveCsv, savePng } from './save.ts';
import { mostTokens, orderFrom, orderText, percent, tokensOf } from './text.ts';

const maskNames: Record<Mask, string> = {
  open: 'None',
  causal: 'Causal',
  window: 'Window',
  first: 'First + window',
  prefix: 'Prefix',
};
const partNames: Record<Part, string> = {
  both: 'Words and places',
  content: 'Words only',
  position: 'Places only',
};
type NumberKey = 'seed' | 'sharp' | 'span' | 'cap';
const limits: Record<NumberKey, readonly [least: number, most: number]> = {
  seed: [0, 999],
  sharp: [0, 8],
  span: [1, mostTokens],
  cap: [0, 1000],
};
/** What this lab shows depends on, besides the encoding. */
const own = 'say cut with heads width seed sharp cap hide span part one row mix'.split(
  ' ',
) as KeyName[];

/** More points than these are a line. */
const mostDots = 64;

class WordsLab {
  readonly #text = h('textarea', {
    id: 'words-text',
    class: 'words-text',
    rows: 2,
    spellcheck: 'false',
    maxlength: 4096,
    'aria-describedby': 'words-hint',
    input: () => this.#type(false),
    change: () => this.#type(true),
  });
  readonly #hint = h('p', { class: 'control-doc', id: 'words-hint' });
  readonly #selects: readonly [HTMLSelectElement, HTMLSelectElement];
  readonly #choices: readonly { readonly control: ChoiceControl; show(values: Values): void }[];
  readonly #numbers: Record<NumberKey, NumberControl>;
  readonly #problem = h('p', { class: 'control-error', role: 'alert', hidden: true });
  readonly #maps = new Maps((place) => this.#look(place));
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
      const { say, cut, mix, part } = this.store.get().values;
      return mix === '' && part === 'both' && tokensOf(say, cut).length > 1
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
  readonly #redraw = framed(() => this.#draw());
  readonly #later = afterwards();
  #shown: Shown | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
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
    this.#choices = [
      this.#choice(
        'part',
        'What counts',
        'Blanks the meaning of the words, or their places.',
        parts.map((part) => [part, partNames[part]] as const),
        (value) => ({ part: value as Part }),
      ),
      this.#choice(
        'hide',
        'Mask',
        'First: the two first words stay in sight.',
        masks.map((mask) => [mask, maskNames[mask]] as const),
        (value) => ({ hide: value as Mask }),
      ),
      this.#choice(
        'cut',
        'Cut into',
        '',
        [
          ['words', 'Words'],
          ['letters', 'Letters'],
        ],
        (value) => ({ cut: value as Values['cut'], mix: '', row: 0 }),
      ),
      this.#choice(
        'heads',
        'Heads',
        '',
        ['1', '2', '4', '8'].map((n) => [n, n] as const),
        (value) => ({ heads: Number(value), one: -1 }),
      ),
      this.#choice(
        'width',
        'Width',
        'Of all heads together.',
        ['16', '32', '64', '128'].map((n) => [n, n] as const),
        (value) => ({ width: Number(value) }),
      ),
    ];
    const number = (
      key: NumberKey,
      name: string,
      doc: string,
      high: number,
      step: number,
    ): NumberControl =>
      new NumberControl(
        key,
        { name, doc },
        { low: limits[key][0], high, step, logarithmic: false },
        (value, committed) => this.#set(key, value, committed),
      );
    this.#numbers = {
      sharp: number(
        'sharp',
        'Sharpness',
        'Scales content against position; 0 leaves position alone.',
        4,
        0.1,
      ),
      span: number('span', 'Window or prefix', 'Words that a window or a prefix takes in.', 32, 1),
      cap: number(
        'cap',
        'Soft cap',
        'Bends scores: cap · tanh(score / cap), before any bias. 0 leaves them alone.',
        50,
        0.5,
      ),
      seed: number('seed', 'Seed', 'Another one, other projections.', 99, 1),
    };
    const button = (text: string, click: () => void, primary = false): HTMLButtonElement =>
      h('button', { type: 'button', click, ...(primary ? { class: 'primary' } : {}) }, text);
    byId('words-body').append(
      box('type-row', h('label', { for: 'words-text' }, 'Your words'), this.#text, this.#hint),
      box(
        'words-bar',
        box('versus', h('label', { for: 'words-a' }, 'A'), this.#selects[0]),
        box('versus', h('label', { for: 'words-b' }, 'B'), this.#selects[1]),
        button('Shuffle the words', () => this.#shuffle(), true),
        button('As typed', () => store.put({ mix: '' })),
      ),
      box('words-switches', ...this.#choices.slice(0, 2).map(({ control }) => control.root)),
      this.#problem,
      this.#maps.root,
      box('words-answer', box('what', h('h3', {}, 'What to notice'), this.#notice), this.#tiles),
      this.#heads.root,
      this.#row.root,
      this.#panel.root,
      box(
        'words-controls',
        ...this.#choices.slice(2).map(({ control }) => control.root),
        ...Object.values(this.#numbers).map(({ root }) => root),
      ),
      box(
        'button-row',
        button('All weights as CSV', () => this.#save(saveCsv)),
        button('Maps as PNG', () => this.#save(savePng)),
        button('Copy A as code', () => void copy(this.#code(0), 'Code')),
        button('Copy B as code', () => void copy(this.#code(1), 'Code')),
      ),
    );
    byId('words-body').prepend(this.#guess.root);
    store.subscribe((state, previous) => {
      if (state.encoding !== previous.encoding || differ(state.values, previous.values, ...own))
        this.#redraw();
    });
    onTheme(this.#redraw);
  }

  #choice(
    key: 'cut' | 'part' | 'hide' | 'heads' | 'width',
    name: string,
    doc: string,
    options: readonly (readonly [string, string])[],
    change: (value: string) => Partial<Values>,
  ): { control: ChoiceControl; show(values: Values): void } {
    const control = new ChoiceControl(
      key,
      { name, doc },
      options,
      (value) => this.store.put(change(value ?? '')),
      false,
    );
    return { control, show: (values) => control.show(String(values[key]), true) };
  }
  #set(key: NumberKey, value: number | undefined, committed: boolean): void {
    const asked = value ?? fallbacks[key];
    const [least, most] = limits[key];
    const fits =
      asked >= least &&
      asked <= most &&
      (key === 'sharp' || key === 'cap' || Number.isInteger(asked));
    this.#numbers[key].problem(
      fits ? undefined : `${key} must be from ${least} to ${most}, got ${value}`,
    );
    if (fits) this.store.put({ [key]: asked } as Partial<Values>, committed);
  }
  #type(committed: boolean): void {
    const say = this.#text.value;
    if (say === this.store.get().values.say && !committed) return;
    // An empty field is a pause between two texts, not one.
    if (say.trim() === '') setText(this.#hint, 'Type at least one word.');
    else {
      const same = say === this.store.get().values.say;
      this.store.put({ say, ...(same ? {} : { mix: '' }) }, committed);
    }
  }
  #shuffle(): void {
    const { say, cut, mix } = this.store.get().values;
    const before = orderFrom(mix, tokensOf(say, cut).length);
    let next = before;
    for (let attempt = 0; attempt < 20 && orderText(next) === orderText(before); attempt += 1)
      next = shuffled(before, Math.random);
    this.store.put({ mix: orderText(next) });
  }
  #look(place: number): void {
    const { say, cut, mix } = this.store.get().values;
    const word = orderFrom(mix, tokensOf(say, cut).length)[place];
    if (word !== undefined) this.store.put({ row: word });
  }

  #draw(): void {
    const state = this.store.get();
    const { values } = state;
    // While it is empty somebody is about to type; otherwise a link may have brought another text.
    const pausing = document.activeElement === this.#text && this.#text.value.trim() === '';
    if (!pausing && this.#text.value !== values.say) this.#text.value = values.say;
    const tokens = tokensOf(values.say, values.cut);
    const whole = tokensOf(`${values.say} +`, values.cut).length > mostTokens;
    setText(
      this.#hint,
      whole
        ? `The first ${mostTokens} tokens are used.`
        : `${tokens.length} ${values.cut}. Equal ones are equal vectors.`,
    );
    for (const { show } of this.#choices) show(values);
    for (const key of Object.keys(this.#numbers) as NumberKey[])
      this.#numbers[key].show(values[key], values[key] === fallbacks[key]);
    const a = infoOf(manifest, state);
    const b = manifest.find(({ id }) => id === values.with) ?? manifest.find(actsNowhere) ?? a;
    this.#selects[0].value = a.id;
    this.#selects[1].value = b.id;
    const order = orderFrom(values.mix, tokens.length);
    const layer = {
      heads: values.heads,
      width: values.width,
      seed: values.seed,
      sharpness: values.sharp,
    };
    const question: Question = {
      words: order.map((word) => tokens[word] as string),
      layer,
      mask: values.hide,
      span: values.span,
      part: values.part,
      softcap: values.cap,
    };
    try {
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
      this.#shown = { question, weights, maps, infos: [a, b] };
      this.#problem.hidden = true;
      this.#guess.show();
      this.#show(this.#shown, order, tokens, head);
    } catch (error) {
      this.#problem.hidden = false;
      setText(this.#problem, problemOf(error).message);
    }
  }

  #show(shown: Shown, order: readonly number[], tokens: readonly string[], head: number): void {
    const { question, weights, maps, infos } = shown;
    const { words, layer } = question;
    const count = words.length;
    const { row } = this.store.get().values;
    const place = Math.max(0, order.indexOf(Math.min(row, count - 1)));
    const names = [infos[0].title, infos[1].title] as const;
    const [a, b] = maps;
    this.#maps.show({ words, a, b, names, place, dark: isDark() });
    const moved = orderText(order) !== '';
    const typed: Question = { ...question, words: tokens };
    const rigid = moved
      ? ([0, 1].map((which) =>
          rigidity(
            mapOf(weightsOf(this.engine, typed, infos[which] as EncodingInfo), layer.heads, head),
            maps[which] as Float32Array,
            order,
          ),
        ) as [number, number])
      : ([0, 0] as const);
    this.#rigid = rigid;
    const elsewhere = variation(a, b, count);
    const mean = elsewhere.reduce((sum, value) => sum + value, 0) / count;
    const at = elsewhere.indexOf(Math.max(...elsewhere));
    const most = { word: words[at] ?? '', share: elsewhere[at] ?? 0 };
    this.#tile([
      ['Attention elsewhere', percent(mean), 'mean total variation of A and B', mean],
      ...(['A', 'B'] as const).map((letter, which): [string, string, string, number] => [
        `${letter} when words move`,
        moved ? scientific(rigid[which] ?? 0) : '—',
        moved
          ? (rigid[which] ?? 0) <= still
            ? 'the map moves along'
            : 'largest change of a weight'
          : 'shuffle to see',
        rigid[which] ?? 0,
      ]),
    ]);
    setText(
      this.#notice,
      wordsNotice({
        names,
        part: question.part,
        moved,
        rigid,
        mean,
        most,
        masked: question.mask !== 'open',
      }),
    );
    // 18 small maps, a table and a curve take longer than all before them, and can wait until the maps are seen.
    this.#later(() => {
      this.#heads.show(weights, layer.heads, head, sequential(isDark()));
      this.#row.show({
        words,
        place,
        a: a.subarray(place * count, (place + 1) * count),
        b: b.subarray(place * count, (place + 1) * count),
        names,
        choose: (at) => this.#look(at),
      });
      this.#panel.show({
        title: 'How much of each word’s attention lies elsewhere',
        plot: {
          xs: Float64Array.from({ length: count }, (_, i) => i + 1),
          series: [{ name: 'A against B', letter: 'V', look: 0, values: elsewhere }],
          xName: 'place',
          yName: 'total variation',
          yRange: [0, Math.max(0.1, ...elsewhere) * 1.1],
          dots: count <= mostDots,
          label: `Total variation between A and B for ${count} words: ${percent(mean)} on average, most for ${most.word}, ${percent(most.share)}.`,
        },
        xText: (column) => `place ${column + 1}: ${words[column]}`,
        table: {
          caption: 'Total variation of each row',
          lines: count,
          lineName: 'word',
          lineText: (line) => words[line] ?? '',
          columns: ['total variation'],
          cell: (line) => elsewhere[line] ?? Number.NaN,
        },
        remarks: remarksOf(shown),
      });
    });
  }
  #tile(
    rows: readonly (readonly [name: string, value: string, note: string, exact: number])[],
  ): void {
    this.#tiles.replaceChildren(
      ...rows.map(([name, value, note, exact]) =>
        box(
          'tile',
          h('dt', {}, name),
          h('dd', { class: 'tile-value', 'data-value': exact }, value),
          h('dd', { class: 'tile-note' }, note),
        ),
      ),
    );
  }

  #save(as: (shown: Shown) => void): void {
    if (this.#shown) as(this.#shown);
  }
  #code(which: 0 | 1): string {
    const shown = this.#shown;
    return shown ? layerCode(shown.question, shown.infos[which]) : '';
  }
  start(): void {
    this.#draw();
    offer('words', () => this.#code(0));
  }
}

export async function open(engine: Engine, store: Store): Promise<void> {
  new WordsLab(engine, store).start();
}
