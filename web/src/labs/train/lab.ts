// SPDX-License-Identifier: Apache-2.0
// Lab 6: small decoders, one per encoding, trained side by side and asked about lengths they never saw.
import './train.css';
import { announce, box, byId, h, setText } from '../../dom.ts';
import { type Engine, manifest } from '../../engine.ts';
import { fallbacks, type Values } from '../../model/keys.ts';
import type { EncodingInfo } from '../../model/manifest.ts';
import type { Store } from '../../model/state.ts';
import { ChoiceControl, NumberControl } from '../../parts/control.ts';
import { PlotPanel } from '../../parts/plot-panel.ts';
import { agreement, fixed, type Setup } from '../../train/run.ts';
import { delay } from '../../train/tasks.ts';
import { Course, type Pupil } from './course.ts';
import { type Earlier, earlier, earlierRuns } from './earlier.ts';
import { accuracyPanel, type Curve, lossPanel, trainNotice } from './figures.ts';
import { usualPupils } from './pupils.ts';

/** Made once: asked for anew at each exam, it has the page styled first. */
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const letters = 'ABCD';
const most = 4;
/** Encodings whose positions are the indices of tokens in a line. */
const able = manifest.filter(({ axes, textAxes }) => axes === 1 || textAxes);
const usual = usualPupils(manifest);

const buttons = ['Train', 'Pause', 'Stop'] as const;

class TrainLab {
  readonly #task: ChoiceControl;
  readonly #upto: ChoiceControl;
  readonly #dice: NumberControl;
  readonly #selects: readonly HTMLSelectElement[];
  readonly #buttons: Record<(typeof buttons)[number], HTMLButtonElement>;
  readonly #more: HTMLButtonElement;
  readonly #again: HTMLButtonElement;
  readonly #status = h('p', { class: 'control-doc', id: 'train-step' });
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #cards = h('ul', { class: 'pupils' });
  readonly #origin = h('p', { class: 'control-doc' });
  readonly #accuracy = new PlotPanel(
    'train-accuracy',
    'Copying asks at each place which symbol stood four places before. Recalling shows keys with their values, then asks for the values in another order. Solid: the run of now. Thin: the run made before.',
  );
  readonly #loss = new PlotPanel(
    'train-loss',
    'Mean over the steps since the point before, on training lengths only.',
  );
  #course: Course | undefined;
  #before: Earlier = { runs: [], made: '', command: '' };
  #drawn = Number.NEGATIVE_INFINITY;
  #waiting = 0;

  constructor(private readonly store: Store) {
    this.#task = new ChoiceControl(
      'learn',
      { name: 'Task', doc: '' },
      [
        ['copy', `Copy: the symbol ${delay} steps ago`],
        ['recall', 'Recall: the value of a key'],
      ],
      (value) => store.put({ learn: value as Values['learn'] }),
      false,
    );
    this.#upto = new ChoiceControl(
      'upto',
      { name: 'Trained up to length', doc: 'Asked about up to eight times that.' },
      [
        ['8', '8'],
        ['16', '16'],
      ],
      (value) => store.put({ upto: Number(value) }),
      false,
    );
    this.#dice = new NumberControl(
      'dice',
      { name: 'Seed', doc: 'The same seed gives the same curve, to the last bit.' },
      { low: 1, high: 20, step: 1, logarithmic: false },
      (value, committed) => {
        const seed = value ?? fallbacks.dice;
        const fits = Number.isInteger(seed) && seed >= 0 && seed <= 999;
        this.#dice.problem(fits ? undefined : `Seed must be from 0 to 999, got ${value}`);
        if (fits) store.put({ dice: seed }, committed);
      },
    );
    this.#selects = Array.from({ length: most }, (_, slot) =>
      h(
        'select',
        { id: `train-${slot}`, change: () => this.#choose() },
        h('option', { value: '' }, 'nothing'),
        ...able.map(({ id, title }) => h('option', { value: id }, title)),
      ),
    );
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
    byId('train-body').append(
      box('words-switches', this.#task.root, this.#upto.root, this.#dice.root),
      h(
        'fieldset',
        { class: 'method-list pupils-chosen' },
        h('legend', {}, 'Encodings, up to four'),
        ...this.#selects.map((select, i) =>
          box(
            'pupil-choice',
            h(
              'label',
              { for: select.id, class: `swatch look${i}` },
              letters[i] as string,
              h('span', { class: 'visually-hidden' }, ', encoding'),
            ),
            select,
          ),
        ),
      ),
      box('button-row', ...Object.values(this.#buttons), this.#more, this.#again, this.#status),
      this.#accuracy.root,
      box('what', h('h3', {}, 'What to notice'), this.#notice),
      this.#cards,
      this.#loss.root,
      this.#origin,
    );
    store.subscribe((state, previous) => {
      if (state.values === previous.values) return;
      const [now, then] = [state.values, previous.values];
      const keys = ['learn', 'upto', 'rounds', 'dice', 'pupils'] as const;
      if (keys.some((key) => now[key] !== then[key])) this.#change();
    });
  }

  #setup(): Setup {
    const { learn, upto, rounds, dice } = this.store.get().values;
    return { task: learn, longest: upto, seed: dice, steps: rounds };
  }
  #ids(): string[] {
    const { pupils } = this.store.get().values;
    const wanted = pupils === '' ? usual : pupils.split(',');
    return [...new Set(wanted)].filter((id) => able.some((info) => info.id === id)).slice(0, most);
  }
  #choose(): void {
    const ids = [...new Set(this.#selects.map(({ value }) => value).filter(Boolean))].join();
    this.store.put({ pupils: ids === usual.join() ? '' : ids || '-' });
  }

  /** Another task or other encodings: what was trained belongs to the ones before. */
  #change(): void {
    this.#course?.stop();
    this.#course = undefined;
    void this.#prepare();
  }
  async #prepare(): Promise<void> {
    const setup = this.#setup();
    this.#before = earlierRuns(await earlier(), setup);
    this.#task.show(setup.task, true);
    this.#upto.show(String(setup.longest), true);
    this.#dice.show(setup.seed, setup.seed === fallbacks.dice);
    const ids = this.#ids();
    this.#selects.forEach((select, i) => {
      select.value = ids[i] ?? '';
    });
    const { made, command, runs } = this.#before;
    setText(
      this.#origin,
      runs.length
        ? `Runs made before: ${made}, by “${command}”.`
        : 'For these settings no run was made before; for seeds 1 to 5 there is one.',
    );
    this.#controls();
    this.#draw();
  }

  #go(steps?: number): void {
    const { phase } = this.#course ?? {};
    if (phase === 'stopped' || phase === 'done') this.#course = undefined;
    this.#course ??= new Course(this.#setup(), this.#ids(), (news) => this.#hear(news));
    this.#course.go(steps);
  }
  #restart(): void {
    this.#course?.stop();
    this.#course = undefined;
    this.#go();
    this.#draw();
  }
  #hear(news: 'exam' | 'pace' | 'phase'): void {
    if (news === 'phase') this.#controls();
    if (news === 'exam' || this.#course?.phase !== 'training') this.#soon();
    else this.#tell();
  }
  /** At most ten times a second, and twice where motion is unwelcome. */
  #soon(): void {
    const apart = calm.matches ? 500 : 100;
    if (this.#waiting) return;
    this.#waiting = window.setTimeout(
      () => {
        this.#waiting = 0;
        this.#draw();
      },
      Math.max(0, this.#drawn + apart - performance.now()),
    );
  }

  #controls(): void {
    const phase = this.#course?.phase ?? 'idle';
    const focus = document.activeElement;
    const { Train, Pause, Stop } = this.#buttons;
    const over = phase === 'stopped' || phase === 'done';
    Train.hidden = phase === 'training';
    Pause.hidden = phase !== 'training';
    Train.disabled = this.#ids().length === 0;
    this.#more.disabled = phase === 'training' || Train.disabled;
    Stop.disabled = phase !== 'training' && phase !== 'resting';
    this.#again.disabled = phase === 'idle' || over;
    // A focused button that hides or rests would drop the keyboard back to the top of the page.
    if (focus instanceof HTMLButtonElement && (focus.hidden || focus.disabled))
      [Train, Pause].find((one) => !one.hidden && !one.disabled)?.focus();
    setText(Train, phase === 'resting' ? 'Go on' : over ? 'Train again' : 'Train');
    const said = {
      idle: `${this.#setup().steps} steps of ${fixed.sequences} sequences for each.`,
      training: 'Training…',
      resting: 'Paused.',
      stopped: 'Stopped.',
      done: 'Done.',
    }[phase];
    setText(this.#status, said);
    if (phase !== 'idle') announce(said);
  }

  #curves(): Curve[] {
    return this.#ids().flatMap((id, i) => {
      const info = manifest.find((one) => one.id === id);
      if (!info) return [];
      const now = this.#pupil(id)?.exams ?? [];
      const before = this.#before.runs.find((run) => run.id === id)?.exams ?? [];
      return [{ title: info.title, letter: letters[i] as string, look: i, now, before }];
    });
  }
  #pupil(id: string): Pupil | undefined {
    return this.#course?.pupils.find((one) => one.id === id);
  }

  #draw(): void {
    this.#drawn = performance.now();
    const setup = this.#setup();
    const curves = this.#curves();
    const remarks = [
      `${setup.task}, trained up to length ${setup.longest}, seed ${setup.seed}`,
      `width ${fixed.width}, ${fixed.heads} heads, one layer, Adam ${fixed.rate}, ${fixed.sequences} sequences a step`,
    ];
    const drawn = curves.filter(({ now, before }) => now.length + before.length > 0);
    this.#accuracy.root.hidden = drawn.length === 0;
    this.#loss.root.hidden = !drawn.some(({ now, before }) => now.length + before.length > 1);
    if (drawn.length) this.#accuracy.show(accuracyPanel(drawn, setup, remarks));
    // In a task of its own, so that neither figure keeps the page busy for long.
    if (!this.#loss.root.hidden)
      requestAnimationFrame(() => setTimeout(() => this.#loss.show(lossPanel(drawn, remarks)), 0));
    setText(this.#notice, trainNotice(drawn, setup));
    this.#tell();
  }
  /** Steps, pace, and whether the run of now is the one made before. */
  #tell(): void {
    const lines = this.#ids().map((id, i) => {
      const info = manifest.find((one) => one.id === id) as EncodingInfo;
      return [info.title, this.#line(id), i] as const;
    });
    // Rebuilt only where something changed, so that a selection survives.
    const text = lines.map((line) => line.join()).join('|');
    if (this.#cards.dataset.text === text) return;
    this.#cards.dataset.text = text;
    this.#cards.replaceChildren(
      ...lines.map(([title, line, i]) =>
        h(
          'li',
          { 'data-pupil': this.#ids()[i] ?? '' },
          h('span', { class: `swatch look${i}`, 'aria-hidden': 'true' }, letters[i] as string),
          h('b', {}, title),
          h('span', { class: 'number' }, line),
        ),
      ),
    );
  }
  #line(id: string): string {
    const pupil = this.#pupil(id);
    const before = this.#before.runs.find((run) => run.id === id);
    if (!pupil) return before ? 'made before' : 'not trained yet';
    if (pupil.problem) return `failed: ${pupil.problem}`;
    const pace = Number.isFinite(pupil.pace) ? `, ${pupil.pace.toFixed(0)} ms each` : '';
    const done = `${pupil.step} steps${pace}, ${pupil.parameters} parameters`;
    if (!before || pupil.exams.length === 0) return done;
    const { compared, differs } = agreement(pupil.exams, before.exams);
    return differs === undefined
      ? `${done}; equal to the run made before, to the last bit, at all ${compared} points`
      : `${done}; differs from the run made before from step ${differs} on`;
  }
  start(): Promise<void> {
    return this.#prepare();
  }
}

export async function open(_engine: Engine, store: Store): Promise<void> {
  await new TrainLab(store).start();
}
