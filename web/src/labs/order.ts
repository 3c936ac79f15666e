// SPDX-License-Identifier: Apache-2.0
// Lab 0: does order matter?
import {
  compareOrders,
  layer,
  seed as layerSeed,
  spread as layerSpread,
} from '../compute/layer.ts';
import { box, byId, h, setHidden, setText } from '../dom.ts';
import { type Engine, manifest, problemOf } from '../engine.ts';
import { actsNowhere } from '../model/manifest.ts';
import {
  infoOf,
  isMoved,
  longestSentence,
  longestWord,
  placedInfo,
  type State,
  type Store,
  wordsOf,
} from '../model/state.ts';
import { layerCode } from '../parts/layer-code.ts';
import { offer } from '../parts/programs.ts';
import { copy } from '../parts/save.ts';
import { pause } from '../pause.ts';
import { isDark, onTheme } from '../theme.ts';
import { drawing } from '../view.ts';
import { Arrangement } from './arrangement.ts';
import { orderNotice } from './notices.ts';
import { AttentionView } from './order-attention.ts';
import { OrderControls } from './order-controls.ts';
import { orderQuestion } from './order-question.ts';
import { OrderResult } from './order-result.ts';
import { strips, twinMarks } from './order-strips.ts';
import { WordRow } from './order-words.ts';

/** What this lab depends on; a slider of another one leaves it alone. */
const drawn = [
  'encoding',
  'placed',
  'causal',
  'canonical',
  'text',
  'order',
  'token',
  'head',
] as const satisfies readonly (keyof State)[];

export class OrderLab {
  readonly #arrangement: Arrangement;
  readonly #sentence: HTMLInputElement;
  readonly #hint = h('p', { class: 'control-doc', id: 'sentence-hint' });
  readonly #words: WordRow;
  readonly #undo: HTMLButtonElement;
  readonly #controls: OrderControls;
  readonly #result = new OrderResult();
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #strips = box('strips-box');
  readonly #attention: AttentionView;
  readonly #problem = h('p', { class: 'control-error', role: 'alert', hidden: true });
  readonly #redraw = drawing(byId('order-body'), () => this.#pieces());
  readonly #body = document.createDocumentFragment();

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    this.#arrangement = new Arrangement(store);
    this.#sentence = h('input', {
      id: 'sentence',
      type: 'text',
      class: 'sentence',
      spellcheck: 'false',
      maxlength: longestSentence * (longestWord + 1),
      'aria-describedby': 'sentence-hint',
      input: () => this.#type(false),
      change: () => this.#type(true),
    });
    this.#words = new WordRow(
      (word) => store.set({ token: word }),
      (word, by) => this.#arrangement.carry(word, by),
    );
    const button = (text: string, click: () => void): HTMLButtonElement =>
      h('button', { type: 'button', click }, text);
    this.#undo = button('Undo', () => this.#arrangement.undo());
    this.#controls = new OrderControls(store);
    this.#attention = new AttentionView((word) => store.set({ token: word }));

    this.#body.append(
      box(
        'order-top',
        box(
          'order-input',
          box(
            'type-row',
            h('label', { for: 'sentence' }, 'Your sentence'),
            this.#sentence,
            this.#hint,
          ),
          this.#words.root,
          box(
            'button-row',
            h(
              'button',
              { type: 'button', class: 'primary', click: () => this.#arrangement.shuffle() },
              'Shuffle',
            ),
            button('Swap two', () => this.#arrangement.swap()),
            this.#undo,
            h('span', { class: 'spacer' }),
            button('← Move word', () => this.#arrangement.carry(this.store.get().token, -1)),
            button('Move word →', () => this.#arrangement.carry(this.store.get().token, 1)),
          ),
          this.#controls.root,
          this.#problem,
        ),
        box(
          'order-answer',
          this.#result.root,
          box('what', h('h3', {}, 'What to notice'), this.#notice),
        ),
      ),
      box(
        'order-figures',
        box(
          'strips-panel',
          this.#strips,
          box(
            'button-row',
            button('Copy as code', () => void copy(this.#code(), 'Code')),
          ),
        ),
        box(
          'map-panel',
          box('figure-head', h('h3', {}, 'Who looks at whom'), this.#controls.head.root),
          this.#attention.root,
        ),
      ),
    );
    const guess = orderQuestion(engine, store, this.#arrangement);
    guess.show();
    this.#body.prepend(guess.root);
    store.subscribe((state, previous) => {
      if (drawn.some((key) => state[key] !== previous[key])) this.#redraw();
    });
    onTheme(this.#redraw);
    offer('order', () => this.#code());
  }
  /** Draws aside, and takes the place of what was drawn ahead once that is done. */
  async start(): Promise<void> {
    for (const _ of this.#pieces()) await pause();
    const place = byId('order-body');
    const early = place.querySelector<HTMLInputElement>(`#${this.#sentence.id}`);
    const typing = early !== null && early === document.activeElement;
    place.replaceChildren(this.#body);
    place.removeAttribute('aria-busy');
    // What was typed into the lab drawn ahead, to the last letter: nothing comes between reading it and taking its place.
    if (early && early.value !== early.defaultValue) {
      this.#sentence.value = early.value;
      this.#type(false);
    }
    if (!early || !typing) return;
    const { selectionStart, selectionEnd, selectionDirection } = early;
    this.#sentence.focus();
    this.#sentence.setSelectionRange(selectionStart, selectionEnd, selectionDirection ?? undefined);
  }

  #type(committed: boolean): void {
    const text = this.#sentence.value;
    if (!committed && text === this.store.get().text) return;
    const count = wordsOf(text).length;
    // An empty field is a pause between two sentences, not one.
    if (count)
      this.store.set(
        {
          text,
          order: text === this.store.get().text ? this.store.get().order : [],
          token: Math.min(this.store.get().token, count - 1),
        },
        committed,
      );
    else setText(this.#hint, 'Type at least one word.');
  }
  /** The layer on screen as a program; it prints weights and outputs number for number. */
  #code(): string {
    const state = this.store.get();
    const { words, order } = this.#arrangement.current();
    const nowhere = manifest.find(actsNowhere) ?? infoOf(manifest, state);
    return layerCode(
      {
        words: order.map((word) => words[word] as string),
        layer: { heads: layer.heads, width: layer.width, seed: layerSeed, sharpness: layerSpread },
        mask: state.causal ? 'causal' : 'open',
        span: 1,
        part: 'both',
        softcap: 0,
      },
      placedInfo(manifest, state) ?? nowhere,
      true,
    );
  }

  /** In pieces, each of a few milliseconds; between those of the first drawing the page answers to its visitor. */
  *#pieces(): Generator<void> {
    const state = this.store.get();
    const { words, order } = this.#arrangement.current();
    const info = placedInfo(manifest, state);
    const twins = twinMarks(words);
    this.#input(state, words);
    this.#words.show({ words, order, twins, chosen: state.token });
    const canonical = state.canonical && !info && !state.causal;
    yield;
    try {
      const result = compareOrders(this.engine, words, order, info, state.causal, canonical);
      setHidden(this.#problem, true);
      this.#result.show(result, isMoved(order));
      setText(
        this.#notice,
        orderNotice({
          words: words.length,
          moved: isMoved(order),
          placed: info?.title,
          causal: state.causal,
          canonical,
          changed: result.largest > result.noise,
          twins: twins.some(Boolean),
        }),
      );
      yield;
      this.#strips.replaceChildren(strips(words, order, twins, result, state.token, isDark()));
      yield;
      this.#attention.show({
        words,
        order,
        weights: result.after.weights,
        head: Math.min(state.head, layer.heads - 1),
        chosen: state.token,
        dark: isDark(),
      });
    } catch (error) {
      setHidden(this.#problem, false);
      setText(
        this.#problem,
        `This lab uses ${layer.heads} heads of width ${layer.headDim}: ${problemOf(error).message}`,
      );
    }
  }
  #input(state: State, words: readonly string[]): void {
    if (
      document.activeElement !== this.#sentence ||
      wordsOf(this.#sentence.value).join(' ') !== words.join(' ')
    )
      this.#sentence.value = state.text;
    const typed = state.text.split(/\s+/u).filter(Boolean).length;
    setText(
      this.#hint,
      typed > longestSentence
        ? `The first ${longestSentence} of ${typed} words are used.`
        : `${typed} of at most ${longestSentence} words. Choose a word below with ← and →, move it with Alt+← and Alt+→.`,
    );
    this.#undo.disabled = !this.#arrangement.canUndo;
    this.#controls.show(state);
  }
}
