// SPDX-License-Identifier: Apache-2.0
// Lab 5: times of this machine. Nothing is loaded or run before a click.
import './bench.css';
import type { News, Outcome } from '../../bench/protocol.ts';
import { sizes, tolerance, type Work } from '../../bench/workloads.ts';
import { announce, box, byId, h, setText } from '../../dom.ts';
import type { Engine } from '../../engine.ts';
import { fallbacks, type Values } from '../../model/keys.ts';
import type { Store } from '../../model/state.ts';
import { ChoiceControl, SwitchControl } from '../../parts/control.ts';
import type { Guess } from '../../parts/guess.ts';
import { PlotPanel } from '../../parts/plot-panel.ts';
import { offer } from '../../parts/programs.ts';
import { copy } from '../../parts/save.ts';
import { benchCode } from './code.ts';
import { benchQuestion } from './question.ts';
import { benchNotice, type Card, cardOf, jsonOf, markdownOf, resultTable } from './report.ts';

const letters = 'ABCDEFG';
const workNames: readonly (readonly [Work, string])[] = [
  ['rotation', 'Rotation'],
  ['attention', 'Causal attention'],
  ['decode', 'One new token'],
  ['bias', 'Attention with biases'],
];
const sizeNames = { usual: 'Usual', small: 'Small', large: 'Large', tiny: 'Tiny' };
const batch = 20;
const megabytes = (benchmarkPeer.bytes / 1e6).toFixed(1);

interface Battery {
  readonly charging: boolean;
  readonly level: number;
}
async function browserCard(): Promise<Card> {
  const { userAgent, hardwareConcurrency } = navigator;
  const asked = (navigator as { getBattery?: () => Promise<Battery> }).getBattery;
  const battery = await asked?.call(navigator).catch(() => undefined);
  return [
    ['Browser', userAgent],
    ['Cores', String(hardwareConcurrency)],
    ...(battery
      ? ([
          [
            'Battery',
            `${Math.round(100 * battery.level)} %, ${battery.charging ? 'charging' : 'discharging'}`,
          ],
        ] as const)
      : []),
    ['When', new Date().toISOString()],
  ];
}

class BenchLab {
  readonly #work: ChoiceControl;
  readonly #size: ChoiceControl;
  readonly #peer: SwitchControl;
  readonly #wrong: SwitchControl;
  readonly #run = h('button', {
    type: 'button',
    class: 'primary',
    id: 'bench-run',
    click: () => this.#start(),
  });
  readonly #stop = h(
    'button',
    { type: 'button', hidden: true, click: () => this.#end('Stopped.') },
    'Stop',
  );
  readonly #progress = h('progress', { max: 1, hidden: true, 'aria-label': 'Progress of the run' });
  readonly #step = h('p', { class: 'control-doc', id: 'bench-step' });
  readonly #notice = h(
    'p',
    { class: 'notice-text' },
    'No time is shown before a run. Every contender first answers once; what is more than ',
    `${tolerance} from double precision is refused.`,
  );
  readonly #table = h('div', {
    class: 'numbers-scroll',
    tabindex: 0,
    role: 'region',
    'aria-label': 'Times of all contenders',
    hidden: true,
  });
  readonly #card = h('dl', { class: 'bench-card' });
  readonly #panel = new PlotPanel(
    'bench-samples',
    'A sample is the mean of as many calls as fill 20 ms. Contenders take turns, forwards and backwards, so what slows the machine slows all of them.',
  );
  readonly #guess: Guess;
  readonly #ways = box(
    'button-row',
    h('button', { type: 'button', click: () => this.#copy(markdownOf) }, 'Copy as Markdown'),
    h('button', { type: 'button', click: () => this.#copy(jsonOf) }, 'Copy as JSON'),
  );
  #worker: Worker | undefined;
  /** Who waits for the end of a run. */
  #waiting: { done(outcome: Outcome): void; failed(reason: Error): void } | undefined;
  #found: { outcome: Outcome; card: Card } | undefined;

  constructor(private readonly store: Store) {
    const choose =
      <K extends keyof Values>(key: K) =>
      (value: unknown): void =>
        store.put({ [key]: value ?? fallbacks[key] } as Partial<Values>);
    this.#work = new ChoiceControl(
      'work',
      { name: 'What is timed', doc: '' },
      workNames,
      choose('work'),
      false,
    );
    this.#size = new ChoiceControl(
      'size',
      { name: 'Size', doc: 'Large takes half a minute or more.' },
      sizes.filter((size) => size !== 'tiny').map((size) => [size, sizeNames[size]]),
      choose('size'),
      false,
    );
    this.#peer = new SwitchControl(
      'peer',
      {
        name: `Against onnxruntime-web ${benchmarkPeer.version}`,
        doc: `${megabytes} MB come from this site at the click, a quarter of that where the server packs them.`,
      },
      choose('peer'),
      false,
    );
    this.#wrong = new SwitchControl(
      'wrong',
      {
        name: 'And one that is wrong on purpose',
        doc: 'Off by a thousandth, to see it refused.',
      },
      choose('wrong'),
      false,
    );
    this.#guess = benchQuestion(store, new Map(workNames), megabytes, () => this.#asked());
    this.#panel.root.hidden = true;
    this.#ways.hidden = true;
    byId('bench-body').append(
      this.#guess.root,
      box('words-switches', this.#work.root, this.#size.root),
      box('words-switches', this.#peer.root, this.#wrong.root),
      box('button-row', this.#run, this.#stop, this.#progress, this.#step),
      box('what', h('h3', {}, 'What to notice'), this.#notice),
      this.#table,
      this.#panel.root,
      this.#card,
      this.#ways,
    );
    store.subscribe((state, previous) => {
      if (state.values !== previous.values) this.#show();
    });
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#end('Stopped: a page in the background is slowed down.');
    });
  }

  #show(): void {
    const { work, size, peer, wrong } = this.store.get().values;
    this.#work.show(work, true);
    this.#size.show(size, true);
    this.#peer.show(peer, true);
    this.#wrong.show(wrong, true);
    this.#guess.show();
    setText(this.#run, peer ? `Load ${megabytes} MB and run` : 'Run');
  }

  /** A run, for someone who waits for what it finds. */
  #asked(): Promise<Outcome> {
    if (this.#worker) return Promise.reject(new Error('A run is on; wait for its end.'));
    return new Promise((done, failed) => {
      this.#waiting = { done, failed };
      this.#start();
    });
  }
  #start(): void {
    const { work, size, samples, peer, wrong } = this.store.get().values;
    const at = (name: string): string =>
      new URL(benchmarkPeer.folder + name, document.baseURI).href;
    const worker = new Worker(new URL('../../bench/worker.ts', import.meta.url), {
      type: 'module',
    });
    this.#worker = worker;
    this.#run.disabled = true;
    this.#stop.hidden = false;
    this.#progress.hidden = false;
    this.#progress.removeAttribute('value');
    setText(this.#step, 'Starting…');
    worker.onmessage = ({ data }: MessageEvent<News>) => void this.#hear(data);
    worker.onerror = (event) => this.#end(`The worker failed: ${event.message}`);
    worker.postMessage({
      work,
      size,
      samples,
      seed: 1,
      wrong,
      batch,
      peer: peer ? { module: at(benchmarkPeer.module), wasm: at(benchmarkPeer.wasm) } : undefined,
    });
  }

  async #hear(news: News): Promise<void> {
    if (news.kind === 'download') {
      const { received, total } = news;
      if (total) this.#progress.value = received / total;
      setText(this.#step, `Loading onnxruntime-web: ${(received / 1e6).toFixed(1)} MB`);
    } else if (news.kind === 'step') {
      this.#progress.removeAttribute('value');
      setText(this.#step, `${news.text}…`);
    } else if (news.kind === 'checked') {
      const right = news.checked.filter(({ passed }) => passed).length;
      announce(`${right} of ${news.checked.length} answers are right`);
    } else if (news.kind === 'round') {
      this.#progress.value = news.round / news.of;
      setText(this.#step, `Sample ${news.round} of ${news.of}`);
    } else if (news.kind === 'failed') this.#end(`It failed: ${news.message}`);
    else {
      const worker = this.#worker;
      const card = cardOf(news.outcome, await browserCard());
      // Stopped meanwhile.
      if (this.#worker !== worker) return;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      this.#end('Done.');
      this.#found = { outcome: news.outcome, card };
      this.#draw();
      waiting?.done(news.outcome);
    }
  }
  #end(text: string): void {
    if (!this.#worker) return;
    this.#worker.terminate();
    this.#worker = undefined;
    this.#waiting?.failed(new Error(text));
    this.#waiting = undefined;
    this.#run.disabled = false;
    // A focused button that hides itself would drop the keyboard back to the top of the page.
    if (document.activeElement === this.#stop) this.#run.focus();
    this.#stop.hidden = true;
    this.#progress.hidden = true;
    setText(this.#step, text);
    announce(text);
  }

  #draw(): void {
    if (!this.#found) return;
    const { outcome, card } = this.#found;
    setText(this.#notice, benchNotice(outcome));
    this.#table.hidden = false;
    this.#table.replaceChildren(resultTable(outcome));
    this.#ways.hidden = false;
    this.#card.replaceChildren(
      ...card.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
    );
    const { timed, title } = outcome;
    const rounds = timed[0]?.samples.length ?? 0;
    this.#panel.root.hidden = rounds === 0;
    if (rounds)
      this.#panel.show({
        title: 'Every sample, in the order taken',
        plot: {
          xs: Float64Array.from({ length: rounds }, (_, i) => i + 1),
          series: timed.map(({ name, samples }, i) => ({
            name,
            letter: letters[i] ?? '',
            look: i,
            values: samples,
          })),
          xName: 'round',
          yName: 'ms a call',
          yLog: true,
          dots: true,
          label: `${title}. ${timed.map(({ name, samples }) => `${name}: ${samples.length} samples, least ${Math.min(...samples).toPrecision(3)} ms`).join('; ')}.`,
        },
        xText: (column) => `round ${column + 1}`,
        table: {
          caption: 'Milliseconds a call',
          lines: rounds,
          lineName: 'round',
          lineText: (line) => String(line + 1),
          columns: timed.map(({ name }) => name),
          cell: (line, column) => timed[column]?.samples[line] ?? Number.NaN,
        },
        remarks: [title, ...card.map(([name, value]) => `${name}: ${value}`)],
      });
  }
  #copy(write: typeof markdownOf): void {
    if (this.#found)
      void copy(write(this.#found.outcome, this.#found.card, location.href), 'The result');
  }
  start(): void {
    this.#show();
    offer('bench', () => benchCode(this.store.get().values));
  }
}

export async function open(_engine: Engine, store: Store): Promise<void> {
  new BenchLab(store).start();
}
