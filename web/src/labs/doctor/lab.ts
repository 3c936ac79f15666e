// SPDX-License-Identifier: Apache-2.0
// Lab 4: what a model's configuration says about positions, what it does not, and who reads it wrongly.
import { box, byId, h, renew, setHidden, setText, toast } from '../../dom.ts';
import type { Engine } from '../../engine.ts';
import { differ, longestShared } from '../../model/keys.ts';
import type { State, Store } from '../../model/state.ts';
import { ChoiceControl } from '../../parts/control.ts';
import { PlotPanel } from '../../parts/plot-panel.ts';
import { offer } from '../../parts/programs.ts';
import { copy } from '../../parts/save.ts';
import { drawing } from '../../view.ts';
import { readingCode, torchCode } from './code.ts';
import { differences, differenceTable } from './difference.ts';
import { FileOffer } from './file-offer.ts';
import { load } from './files.ts';
import { frequencyPanel } from './frequencies.ts';
import { ConfigInput, own } from './input.ts';
import { inAtlas, inBeyond } from './onward.ts';
import { elsewhere, lost, pack, unpack } from './packed.ts';
import { faultCard, figureTiles, findings, originTable } from './parts.ts';
import { presets, usualPreset } from './presets.ts';
import { turningQuestion } from './question.ts';
import { isReading, type KindRead, type Reading, read, type Tensors } from './read.ts';
import { doctorNotice, verdict } from './verdict.ts';

class ConfigLab {
  readonly #input: ConfigInput;
  readonly #verdict = h('p', { class: 'doctor-verdict', 'aria-live': 'polite' });
  readonly #kinds = box('doctor-kinds');
  readonly #tiles = box('doctor-tiles');
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #findings = box('doctor-findings');
  readonly #panel = new PlotPanel(
    'frequencies',
    'Each pair of channels turns once in so many tokens. A pair above a line never completes a turn within that length.',
  );
  readonly #origins = h('div', {
    class: 'numbers-scroll',
    tabindex: 0,
    role: 'region',
    'aria-label': 'Origins of the numbers',
  });
  readonly #against: HTMLSelectElement;
  readonly #difference = h('div', {
    class: 'numbers-scroll',
    tabindex: 0,
    role: 'region',
    'aria-label': 'Differences',
  });
  readonly #redraw = drawing(byId('config-body'), () => this.#draw());
  #kindControl: ChoiceControl | undefined;
  #kindNames = '';
  /** The values of the address that the texts stand for. */
  #shown: string | undefined;
  #compared: string | undefined;
  /** How many texts have begun to come in. */
  #texts = 0;
  #other: { text: string; title: string } | undefined;
  #tensors: { text: string; tensors: Tensors } | undefined;
  #current: { reading: Reading; one: KindRead } | undefined;

  readonly #file = new FileOffer();
  #asked = '';
  readonly #guess = turningQuestion(() => this.#current?.one.turning);

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    this.#input = new ConfigInput({
      choose: (id) => this.#choose(id),
      typing: () => {
        this.#begin();
        this.#redraw();
      },
      typed: () => void this.#keep(),
      take: (file) => void this.#take(file),
      resize: (at, committed) => store.put({ at }, committed),
      soften: (lenient) => store.put({ lenient }),
    });
    this.#against = h(
      'select',
      { id: 'config-against', change: () => store.put({ base: this.#against.value }) },
      h('option', { value: '' }, 'nothing'),
      ...presets.map(({ id, title }) => h('option', { value: id }, title)),
      h('option', { value: own, hidden: true }, 'the text of this link'),
    );
    const button = (text: string, click: () => void): HTMLButtonElement =>
      h('button', { type: 'button', click }, text);
    byId('config-body').append(
      this.#guess.root,
      box(
        'doctor',
        this.#input.root,
        box(
          'doctor-result',
          this.#verdict,
          this.#kinds,
          this.#tiles,
          box('what', h('h3', {}, 'What to notice'), this.#notice),
          this.#findings,
          box(
            'button-row',
            button('Copy as code', () => void copy(this.#code(readingCode), 'Code')),
            button('Copy as PyTorch', () => void copy(this.#code(torchCode), 'Code')),
          ),
        ),
      ),
      this.#panel.root,
      box(
        'doctor-tables',
        this.#origins,
        box(
          'doctor-difference',
          box(
            'type-row',
            h('label', { for: 'config-against' }, 'Compare with'),
            this.#against,
            h('p', { class: 'control-doc' }, 'Shows only what changes in a number.'),
          ),
          this.#difference,
          box(
            'button-row',
            button('Open in the atlas', () => this.#leave('atlas')),
            button('Stretch it further', () => this.#leave('beyond')),
          ),
        ),
      ),
    );
    store.subscribe((state, previous) => {
      if (differ(state.values, previous.values, 'cfg', 'base', 'at', 'kind', 'lenient'))
        void this.#follow(state);
    });
  }

  async start(): Promise<void> {
    await this.#follow(this.store.get());
    this.#redraw();
    this.#redraw.now();
    offer(
      'config',
      () => this.#code(readingCode),
      () => this.#code(torchCode),
    );
  }

  /** Brings the texts to what the address says; what is already there stays. */
  async #follow({ values }: State): Promise<void> {
    await Promise.all([this.#read(values.cfg), this.#readOther(values.base)]);
    this.#redraw();
  }
  async #read(packed: string): Promise<void> {
    if (packed === this.#shown) return;
    this.#shown = packed;
    const isNewest = this.#begin();
    const text = await unpack(packed);
    if (!isNewest()) return;
    if (text === undefined) toast(`${lost(packed)} Paste it, or drop its file.`);
    this.#input.field.value = text ?? usualPreset.text;
  }
  async #readOther(packed: string): Promise<void> {
    if (packed === this.#compared) return;
    this.#compared = packed;
    const text = packed === '' ? undefined : await unpack(packed);
    if (packed !== this.#compared) return;
    if (packed !== '' && text === undefined) toast(`To compare with: ${lost(packed)}`);
    const known = presets.find(({ id }) => id === packed);
    this.#other = text === undefined ? undefined : { text, title: known?.title ?? 'the other' };
    this.#against.value = known?.id ?? (text === undefined ? '' : own);
  }
  /** A text is on its way in, or being typed: whatever was on its way before must not take its place. */
  #begin(): () => boolean {
    const mine = this.#texts + 1;
    this.#texts = mine;
    return () => mine === this.#texts;
  }

  #choose(id: string): void {
    if (id === own) {
      this.#input.field.focus();
      this.#input.field.select();
      return;
    }
    this.store.put({ cfg: id === usualPreset.id ? '' : id, kind: '' });
  }
  async #keep(isNewest = this.#begin()): Promise<void> {
    const packed = await pack(this.#input.field.value, longestShared);
    if (!isNewest()) return;
    if (packed === elsewhere) this.#file.offer(this.#input.field.value);
    this.#shown = packed;
    this.store.put({ cfg: packed });
  }
  async #take(file: File): Promise<void> {
    const isNewest = this.#begin();
    try {
      const { text, tensors } = await load(file);
      if (!isNewest()) return;
      this.#tensors = tensors ? { text, tensors } : undefined;
      this.#input.field.value = text;
      await this.#keep(isNewest);
      this.#redraw();
    } catch (error) {
      toast(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  /** In pieces: a key that comes meanwhile waits for one of them. */
  *#draw(): Generator<void> {
    const { values } = this.store.get();
    const text = this.#input.field.value;
    this.#file.keepFor(text);
    const tensors = this.#tensors?.text === text ? this.#tensors.tensors : undefined;
    const reading = read(this.engine, text, values.at, values.lenient, tensors);
    const preset = presets.find((one) => one.text.trim() === text.trim());
    this.#input.choice.value = preset?.id ?? own;
    this.#input.lenient.show(values.lenient, true);
    if (!isReading(reading)) {
      this.#current = undefined;
      setText(this.#verdict, 'This cannot be read.');
      renew(this.#findings, faultCard(reading));
      setText(
        this.#notice,
        'An error here is better than a default taken in silence, which is what most readers do.',
      );
      this.#input.length.show(values.at || undefined, values.at === 0, 'as trained');
      this.#veil(true);
      return;
    }
    const one =
      reading.kinds.find(({ kind }) => kind.type === values.kind) ?? (reading.kinds[0] as KindRead);
    this.#current = { reading, one };
    this.#ask(one);
    this.#veil(false);
    this.#input.length.show(one.length, values.at === 0, 'as trained');
    setText(this.#verdict, verdict(reading));
    this.#chooseKind(reading, one);
    renew(this.#tiles, figureTiles(one));
    const warnings = reading.model.warnings.filter(({ severity }) => severity === 'warning').length;
    setText(this.#notice, doctorNotice(one, warnings));
    yield;
    renew(this.#findings, findings(reading.model.warnings));
    const panel = frequencyPanel(reading, one);
    setHidden(this.#panel.root, !panel);
    if (panel) this.#panel.show(panel);
    yield;
    this.#origins.replaceChildren(originTable(reading, one));
    this.#compare(reading, one.kind.type);
  }
  /** About another model it is another question. */
  #ask({ kind, turning }: KindRead): void {
    const asked = JSON.stringify([kind.encoding, turning?.seen]);
    if (asked !== this.#asked) this.#guess.reset();
    this.#asked = asked;
  }
  /** Results of an earlier text beside the error of this one would mislead. */
  #veil(hidden: boolean): void {
    for (const part of [
      this.#kinds,
      this.#tiles,
      this.#panel.root,
      this.#origins,
      this.#difference,
    ])
      setHidden(part, hidden);
  }
  #chooseKind({ kinds }: Reading, one: KindRead): void {
    const names = kinds.map(({ kind }) => kind.type);
    if (names.join() !== this.#kindNames) {
      this.#kindNames = names.join();
      this.#kindControl = new ChoiceControl(
        'kind',
        { name: 'Layers', doc: '' },
        names.map((name) => [name, name.replaceAll('_', ' ')] as const),
        (name) => this.store.put({ kind: name ?? '' }),
        false,
      );
      this.#kinds.replaceChildren(this.#kindControl.root);
    }
    setHidden(this.#kinds, kinds.length < 2);
    this.#kindControl?.show(one.kind.type, true);
  }
  #compare(reading: Reading, type: string): void {
    const { at, lenient } = this.store.get().values;
    const other = this.#other;
    setHidden(this.#difference, !other);
    if (!other) return;
    const there = read(this.engine, other.text, at, lenient);
    renew(
      this.#difference,
      isReading(there)
        ? differenceTable(differences(reading, there, type), other.title)
        : faultCard(there),
    );
  }

  #code(write: (text: string, one: KindRead, lenient: boolean) => string): string {
    this.#redraw.now();
    const one = this.#current?.one;
    return one ? write(this.#input.field.value, one, this.store.get().values.lenient) : '';
  }
  #leave(where: 'beyond' | 'atlas'): void {
    const one = this.#current?.one;
    if (!one) return;
    this.store.set(where === 'atlas' ? inAtlas(one) : inBeyond(one, this.store.get()));
    byId(where).scrollIntoView();
  }
}

export async function open(engine: Engine, store: Store): Promise<void> {
  await new ConfigLab(engine, store).start();
}
