// SPDX-License-Identifier: Apache-2.0
// Lab 6: small decoders, one per encoding, trained side by side and asked about lengths they never saw.
import './train.css';
import { announce, box, byId, h, setHidden, setText } from '../../dom.ts';
import { type Engine, manifest } from '../../engine.ts';
import type { Store } from '../../model/state.ts';
import { motionless } from '../../motion.ts';
import type { Guess } from '../../parts/guess.ts';
import { PlotPanel } from '../../parts/plot-panel.ts';
import { offer } from '../../parts/programs.ts';
import { copy } from '../../parts/save.ts';
import { inSheet } from '../../parts/sheet.ts';
import { onTheme } from '../../theme.ts';
import type { Who } from '../../train/protocol.ts';
import { fixed } from '../../train/run.ts';
import { type Card, cardItem, lineOf } from './cards.ts';
import { trainCode } from './code.ts';
import { letters, pupilsOf, seedsOf, setupOf, TrainControls } from './controls.ts';
import { Course, type Look } from './course.ts';
import { type Earlier, earlier, looksLike, runsLike } from './earlier.ts';
import { accuracyPanel, type Curve, lossPanel, trainNotice } from './figures.ts';
import { ProbeView } from './probe.ts';
import { trainQuestion } from './question.ts';
import { torchCode } from './torch.ts';

const buttons = ['Train', 'Pause', 'Stop'] as const;

class TrainLab {
  readonly #controls = new TrainControls((values, committed) => this.store.put(values, committed));
  readonly #buttons: Record<(typeof buttons)[number], HTMLButtonElement>;
  readonly #more: HTMLButtonElement;
  readonly #again: HTMLButtonElement;
  readonly #status = h('p', { class: 'control-doc', id: 'train-step' });
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #cards = h('ul', { class: 'pupils' });
  readonly #origin = h('p', { class: 'control-doc' });
  readonly #accuracy = new PlotPanel(
    'train-accuracy',
    'Copying asks at each place which symbol stood four places before. Recalling shows keys with their values, then asks for the values in another order. Solid: the runs of now. Thin: those made before, the median of their seeds. The band reaches from the worst seed to the best.',
  );
  readonly #loss = new PlotPanel(
    'train-loss',
    'Mean over the steps since the point before, on training lengths only; of the first seed.',
  );
  readonly #probe = new ProbeView((values, committed) => this.store.put(values, committed));
  readonly #guess: Guess;
  #course: Course | undefined;
  #drawn = Number.NEGATIVE_INFINITY;
  #waiting = 0;

  constructor(
    private readonly store: Store,
    private readonly before: Earlier,
    private readonly program: string,
  ) {
    const button = (text: string, click: () => void, primary = false): HTMLButtonElement =>
      h('button', { type: 'button', click, ...(primary ? { class: 'primary' } : {}) }, text);
    this.#buttons = {
      Train: button('Train', () => this.#go(), true),
      Pause: button('Pause', () => this.#course?.pause()),
      Stop: button('Stop', () => this.#course?.stop()),
    };
    this.#buttons.Train.id = 'train-run';
    this.#more = button(`${fixed.every} steps`, () => this.#go(fixed.every));
    this.#again = button('Start over', () => this.#restart());
    this.#guess = trainQuestion(store, () => before);
    byId('train-body').append(
      this.#guess.root,
      ...this.#controls.roots,
      box('button-row', ...Object.values(this.#buttons), this.#more, this.#again, this.#status),
      this.#accuracy.root,
      box('what', h('h3', {}, 'What to notice'), this.#notice),
      this.#cards,
      this.#probe.root,
      this.#loss.root,
      this.#origin,
      box(
        'button-row',
        button('Copy as code', () => void copy(this.#code(), 'Code')),
        button('Copy as PyTorch', () => void copy(this.#torch(), 'Code')),
      ),
    );
    inSheet('train', ...this.#controls.roots);
    store.subscribe((state, previous) => {
      if (state.values === previous.values) return;
      const [now, then] = [state.values, previous.values];
      const keys = ['learn', 'upto', 'rounds', 'dice', 'throws', 'pupils'] as const;
      if (keys.some((key) => now[key] !== then[key])) this.#change();
      else if (now.eye !== then.eye || now.when !== then.when) this.#watch();
    });
    onTheme(() => this.#watch());
  }

  #who(): Who[] {
    const { values } = this.store.get();
    return pupilsOf(values).flatMap((id) => seedsOf(values).map((seed): Who => ({ id, seed })));
  }
  #code(): string {
    return trainCode(this.program, setupOf(this.store.get().values), this.#who());
  }
  #torch(): string {
    return torchCode(setupOf(this.store.get().values), this.#who());
  }

  /** Another task or other encodings: what was trained belongs to the ones before. */
  #change(): void {
    this.#course?.stop();
    this.#course = undefined;
    this.start();
  }
  start(): void {
    const { values } = this.store.get();
    this.#controls.show(values);
    const setup = setupOf(values);
    const { made, command, runs } = this.before;
    const seeds = new Set(runs.map((run) => run.setup.seed)).size;
    setText(
      this.#origin,
      this.#cardsOf().some(({ before }) => before.length)
        ? `Runs made before: ${made}, by “${command}”.`
        : `Of these encodings no run was made before; of the usual four there are ${seeds} seeds, up to length ${setup.longest}.`,
    );
    this.#guess.show();
    this.#steer();
    this.#draw();
    offer(
      'train',
      () => this.#code(),
      () => this.#torch(),
    );
  }

  #go(steps?: number): void {
    const { phase } = this.#course ?? {};
    if (phase === 'stopped' || phase === 'done') this.#course = undefined;
    this.#course ??= new Course(setupOf(this.store.get().values), this.#who(), (news) =>
      this.#hear(news),
    );
    this.#course.go(steps);
  }
  #restart(): void {
    this.#course?.stop();
    this.#course = undefined;
    this.#go();
    this.#draw();
  }
  #hear(news: 'exam' | 'pace' | 'phase'): void {
    if (news === 'phase') this.#steer();
    if (news === 'exam' || this.#course?.phase !== 'training') this.#soon();
    else this.#tell();
  }
  /** At most ten times a second, and twice where motion is unwelcome. */
  #soon(): void {
    const apart = motionless.matches ? 500 : 100;
    if (this.#waiting) return;
    this.#waiting = window.setTimeout(
      () => {
        this.#waiting = 0;
        this.#draw();
      },
      Math.max(0, this.#drawn + apart - performance.now()),
    );
  }

  #steer(): void {
    const phase = this.#course?.phase ?? 'idle';
    const focus = document.activeElement;
    const { Train, Pause, Stop } = this.#buttons;
    const over = phase === 'stopped' || phase === 'done';
    setHidden(Train, phase === 'training');
    setHidden(Pause, phase !== 'training');
    Train.disabled = pupilsOf(this.store.get().values).length === 0;
    this.#more.disabled = phase === 'training' || Train.disabled;
    Stop.disabled = phase !== 'training' && phase !== 'resting';
    this.#again.disabled = phase === 'idle' || over;
    // A focused button that hides or rests would drop the keyboard back to the top of the page.
    if (focus instanceof HTMLButtonElement && (focus.hidden || focus.disabled))
      [Train, Pause].find((one) => !one.hidden && !one.disabled)?.focus();
    setText(Train, phase === 'resting' ? 'Go on' : over ? 'Train again' : 'Train');
    const said = {
      idle: `${this.store.get().values.rounds} steps of ${fixed.sequences} sequences for each.`,
      training: 'Training…',
      resting: 'Paused.',
      stopped: 'Stopped.',
      done: 'Done.',
    }[phase];
    setText(this.#status, said);
    if (phase !== 'idle') announce(said);
  }

  #cardsOf(): Card[] {
    const { values } = this.store.get();
    return pupilsOf(values).map((id) => ({
      id,
      title: manifest.find((one) => one.id === id)?.title ?? id,
      pupils: this.#course?.pupils.filter((one) => one.id === id) ?? [],
      before: runsLike(this.before, setupOf(values), id),
    }));
  }
  #curves(): Curve[] {
    const { dice } = this.store.get().values;
    return this.#cardsOf().map(({ title, pupils, before }, i) => ({
      title,
      letter: letters[i] as string,
      look: i,
      now: pupils.map(({ exams }) => exams).filter((exams) => exams.length > 0),
      before: before.map(({ exams }) => exams),
      same: before.find(({ setup }) => setup.seed === dice)?.exams ?? [],
    }));
  }

  #draw(): void {
    this.#drawn = performance.now();
    const { values } = this.store.get();
    const setup = setupOf(values);
    const seeds = seedsOf(values);
    const remarks = [
      `${setup.task}, trained up to length ${setup.longest}, seed ${seeds.join(', ')}`,
      `width ${fixed.width}, ${fixed.heads} heads, one layer, Adam ${fixed.rate}, ${fixed.sequences} sequences a step`,
    ];
    const drawn = this.#curves().filter(({ now, before }) => now.length + before.length > 0);
    setHidden(this.#accuracy.root, drawn.length === 0);
    setHidden(
      this.#loss.root,
      !drawn.some(({ now, same }) => (now[0]?.length ?? 0) + same.length > 1),
    );
    if (drawn.length) this.#accuracy.show(accuracyPanel(drawn, setup, remarks));
    // In tasks of their own, so that no figure keeps the page busy for long.
    requestAnimationFrame(() => setTimeout(() => this.#watch(), 0));
    if (!this.#loss.root.hidden)
      requestAnimationFrame(() => setTimeout(() => this.#loss.show(lossPanel(drawn, remarks)), 0));
    setText(this.#notice, trainNotice(drawn, setup));
    this.#tell();
  }
  /** What the decoders of the first seed look at; before a run, those that were trained before. */
  #watch(): void {
    const { values } = this.store.get();
    const setup = setupOf(values);
    let live = false;
    const watched = this.#cardsOf().map(({ id, title, pupils }, i) => {
      const now: readonly Look[] = pupils[0]?.looks ?? [];
      live ||= now.length > 0;
      const looks = now.length ? now : looksLike(this.before, setup, id);
      return { title, letter: letters[i] as string, looks };
    });
    const origin = live
      ? `The decoders of now, seed ${setup.seed}, after every ${fixed.every} steps. All are shown the same sequence, of the longest length trained on.`
      : 'The decoders trained before, with the first seed, before training, after a quarter of it and at its end. Train some to watch the steps between.';
    this.#probe.show(watched, setup, values, origin);
  }
  /** Steps, pace, and whether the runs of now are those made before. */
  #tell(): void {
    const cards = this.#cardsOf();
    // Rebuilt only where something changed, so that a selection survives.
    const text = cards.map((card) => [card.id, lineOf(card)].join()).join('|');
    if (this.#cards.dataset.text === text) return;
    this.#cards.dataset.text = text;
    this.#cards.replaceChildren(...cards.map(cardItem));
  }
}

export async function open(_engine: Engine, store: Store): Promise<void> {
  const [before, program] = await Promise.all([earlier(), import('../../train/run.ts?program')]);
  new TrainLab(store, before, program.default).start();
}
