// SPDX-License-Identifier: Apache-2.0
// Lab 2: what each way of stretching a rotation does beyond the trained length.
import { type Beyond, beyond, beyondInParts, type Setup } from '../../compute/beyond.ts';
import { box, byId, h, renew, setHidden, setText } from '../../dom.ts';
import { grouped } from '../../draw/scale.ts';
import { type Engine, manifest } from '../../engine.ts';
import { differ, fallbacks, longestSequence, type Values } from '../../model/keys.ts';
import { type EncodingInfo, startingEncoding } from '../../model/manifest.ts';
import type { Store } from '../../model/state.ts';
import { inWords, ListControl, NumberControl, SwitchControl } from '../../parts/control.ts';
import { Guess } from '../../parts/guess.ts';
import { PlotPanel } from '../../parts/plot-panel.ts';
import { offer } from '../../parts/programs.ts';
import { copy } from '../../parts/save.ts';
import { inSheet } from '../../parts/sheet.ts';
import { pause } from '../../pause.ts';
import { drawing } from '../../view.ts';
import { beyondCode } from './code.ts';
import { beyondNotice, type Look, type Panels, panels } from './figures.ts';
import { looks, methods, usual } from './methods.ts';
import { saveSummary, summary } from './summary.ts';

/** What this lab shows depends on. */
const own = ['hd', 'theta', 'from', 'to', 'methods', 'lists', 'hot'] as const;

type NumberKey = 'hd' | 'theta' | 'from' | 'to';

const parseLists = (text: string): Record<string, readonly number[]> =>
  Object.fromEntries(
    text
      .split(';')
      .filter((part) => part.includes(':'))
      .map((part) => {
        const at = part.indexOf(':');
        return [
          part.slice(0, at),
          part
            .slice(at + 1)
            .split(',')
            .map(Number),
        ] as const;
      })
      .filter(([, list]) => list.length > 0 && list.every(Number.isFinite)),
  );
const writeLists = (lists: Readonly<Record<string, readonly number[]>>): string =>
  Object.entries(lists)
    .map(([name, list]) => `${name}:${list.join(',')}`)
    .join(';');

class BeyondLab {
  readonly #numbers: Record<NumberKey, NumberControl>;
  readonly #checks = new Map<string, HTMLInputElement>();
  readonly #listControls: ReadonlyMap<string, ListControl>;
  readonly #hot: SwitchControl;
  readonly #panels = {
    ratios: new PlotPanel(
      'beyond-ratios',
      'A flat line slows all pairs alike; a slope spares the fast ones, a ramp keeps them whole. Pairs that stand still are not drawn.',
    ),
    unseen: new PlotPanel(
      'beyond-unseen',
      'A pair that never completed a turn in training meets a new angle as soon as it turns further.',
    ),
    resolution: new PlotPanel(
      'beyond-resolution',
      'The eight fastest pairs tell neighbours apart. What is below 1 they tell apart less.',
    ),
    envelope: new PlotPanel(
      'beyond-envelope',
      '|Σ exp(iωδ)| over the number of pairs, averaged over distances within a tenth: the score of equal vectors without its ripples. Methods that move distances are read at the distance they act upon.',
    ),
    distances: new PlotPanel(
      'beyond-distances',
      'Measured through attention itself: a slow probe pair scores the sine of the distance acted upon, and the weights give it back.',
    ),
  };
  readonly #notice = h('p', { class: 'notice-text' });
  readonly #summary = h('div', {
    class: 'numbers-scroll',
    tabindex: 0,
    role: 'region',
    'aria-label': 'All methods in numbers',
  });
  readonly #guess = new Guess({
    ask: () => {
      const { trained, target } = this.#setup();
      return target > trained
        ? `Trained for ${grouped(trained)} tokens, asked for ${grouped(target)}, and nothing is rescaled. How many pairs of channels meet an angle they never saw?`
        : undefined;
    },
    choices: ['None', 'Fewer than half', 'Half or more'],
    answer: () => {
      const setup = this.#setup();
      const plain = startingEncoding(manifest);
      const [method] = beyond(this.engine, manifest, [plain], setup).methods;
      const share = method?.unseenAtTarget ?? 0;
      return {
        right: share === 0 ? 0 : share < 0.5 ? 1 : 2,
        text: `${Math.round(share * (method?.frequencies.length ?? 0))} of ${method?.frequencies.length} pairs do: those that are too slow to complete a turn in training.`,
      };
    },
  });
  readonly #redraw = drawing(byId('beyond-body'), () => this.#draw(), 'after');
  #found: Beyond | undefined;
  /** What that was found for. */
  #drawn: Setup | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    const number = (
      key: NumberKey,
      name: string,
      doc: string,
      low: number,
      high: number,
      step: number,
    ): NumberControl =>
      new NumberControl(
        key,
        { name, doc },
        { low, high, step, logarithmic: true },
        (value, committed) => this.#set(key, value, committed),
      );
    this.#numbers = {
      from: number('from', 'Trained for', 'Tokens the model has seen at once.', 256, 131072, 1),
      to: number(
        'to',
        'Asked for',
        'Tokens it shall read, up to 1,048,576.',
        256,
        longestSequence,
        1,
      ),
      hd: number('hd', 'Head width', 'Channels of one head; even.', 8, 256, 2),
      theta: number('theta', 'Base θ', 'The wavelengths span 2π to 2π θ.', 100, 1e7, 0),
    };
    this.#hot = new SwitchControl(
      'hot',
      { name: 'Scores take the logit factor along', doc: 'Leaving it out is a frequent mistake.' },
      (value) => store.put({ hot: value ?? true }),
      false,
    );
    const lists = methods.flatMap((info) =>
      info.fields
        .filter((field) => field.type === 'list' && field.required)
        .map((field) => [info, field] as const),
    );
    this.#listControls = new Map(
      lists.map(([info, field]) => [
        field.name,
        new ListControl(
          field.name,
          {
            name: `${info.title}: ${inWords(field.name)}`,
            doc: `${field.doc} Empty: one number for all.`,
          },
          (value) => this.#list(field.name, value),
        ),
      ]),
    );
    const inputs = box('beyond-inputs', ...Object.values(this.#numbers).map(({ root }) => root));
    byId('beyond-body').append(
      inputs,
      this.#choices(),
      ...(lists.length
        ? [
            h(
              'details',
              { class: 'lists' },
              h('summary', {}, 'Lists of divisors'),
              box('controls', ...[...this.#listControls.values()].map(({ root }) => root)),
            ),
          ]
        : []),
      this.#panels.ratios.root,
      box('what', h('h3', {}, 'What to notice'), this.#notice),
      box('beyond-pair', this.#panels.unseen.root, this.#panels.resolution.root),
      box('beyond-envelope-head', this.#hot.root),
      this.#panels.envelope.root,
      this.#panels.distances.root,
      this.#summary,
      box(
        'button-row',
        h('button', { type: 'button', click: () => this.#save() }, 'All methods as CSV'),
        h(
          'button',
          { type: 'button', click: () => void copy(this.#code(), 'Code') },
          'Copy as code',
        ),
      ),
    );
    inSheet('beyond', inputs);
    byId('beyond-body').prepend(this.#guess.root);
    store.subscribe((state, previous) => {
      if (differ(state.values, previous.values, ...own)) this.#redraw();
    });
  }

  #choices(): HTMLElement {
    const set = h('fieldset', { class: 'method-list' }, h('legend', {}, 'Methods'));
    for (const info of methods) {
      const { look, letter } = looks.get(info.id) as Look;
      const input = h('input', {
        type: 'checkbox',
        id: `method-${info.id}`,
        change: () => this.#choose(),
      });
      this.#checks.set(info.id, input);
      set.append(
        h(
          'label',
          { for: input.id, class: 'method' },
          input,
          h('span', { class: `swatch look${look}`, 'aria-hidden': 'true' }, letter),
          h('span', {}, info.title),
        ),
      );
    }
    return set;
  }
  #choose(): void {
    const chosen = methods.filter(({ id }) => this.#checks.get(id)?.checked).map(({ id }) => id);
    const isUsual = chosen.join() === usualIds.join();
    // No method at all is a choice too, and not the usual one.
    this.store.put({ methods: isUsual ? '' : chosen.join() || '-' });
  }
  #set(key: NumberKey, value: number | undefined, committed: boolean): void {
    const asked = value ?? fallbacks[key];
    const problem = problemWith(key, asked);
    this.#numbers[key].problem(problem);
    if (problem === undefined) this.store.put({ [key]: asked } as Partial<Values>, committed);
  }
  #list(name: string, value: readonly number[] | undefined): void {
    const { [name]: _, ...others } = parseLists(this.store.get().values.lists);
    this.store.put({ lists: writeLists(value ? { ...others, [name]: value } : others) });
  }
  #setup(): Setup {
    const { hd, theta, from, to, lists } = this.store.get().values;
    return {
      headDim: hd - (hd % 2),
      base: theta,
      trained: from,
      target: Math.max(to, 4),
      lists: parseLists(lists),
    };
  }

  *#draw(): Generator<void> {
    const { values } = this.store.get();
    for (const key of Object.keys(this.#numbers) as NumberKey[]) {
      this.#numbers[key].show(values[key], values[key] === fallbacks[key]);
      this.#numbers[key].problem(undefined);
    }
    this.#hot.show(values.hot, true);
    const wanted = values.methods === '' ? usualIds : values.methods.split(',');
    const chosen = methods.filter(({ id }) => wanted.includes(id));
    for (const { id } of methods) {
      const check = this.#checks.get(id);
      if (check) check.checked = chosen.some((info) => info.id === id);
    }
    const setup = this.#setup();
    for (const [name, control] of this.#listControls)
      control.show(setup.lists[name], setup.lists[name] === undefined);
    const found = yield* beyondInParts(this.engine, manifest, chosen, setup);
    this.#found = found;
    this.#drawn = setup;
    this.#guess.show();
    const drawn = panels(found, setup, looks, values.hot);
    for (const name of Object.keys(this.#panels) as (keyof Panels)[]) {
      const isEmpty = drawn[name].plot.series.length === 0;
      setHidden(this.#panels[name].root, isEmpty);
      if (!isEmpty) this.#panels[name].show(drawn[name]);
      yield;
    }
    for (const control of this.#listControls.values()) control.problem(undefined);
    for (const { info, message } of found.failures) this.#complain(info, message);
    setText(this.#notice, beyondNotice(found, setup));
    renew(this.#summary, summary(found, looks));
  }
  /** An error of a method belongs to the list that was given for it; the summary shows it in any case. */
  #complain(info: EncodingInfo, message: string): void {
    for (const field of info.fields)
      if (message.includes(field.name)) this.#listControls.get(field.name)?.problem(message);
  }
  #save(): void {
    this.#redraw.now();
    if (this.#found && this.#drawn) saveSummary(this.#found, this.#drawn);
  }
  #code(): string {
    this.#redraw.now();
    return this.#found && this.#drawn ? beyondCode(this.#found, this.#drawn) : '';
  }
  async start(): Promise<void> {
    for (const _ of this.#draw()) await pause();
    offer('beyond', () => this.#code());
  }
}
const usualIds = usual.map(({ id }) => id);

function problemWith(key: NumberKey, value: number): string | undefined {
  if (key === 'hd')
    return Number.isInteger(value) && value >= 4 && value <= 512 && value % 2 === 0
      ? undefined
      : `Head width must be an even number from 4 to 512, got ${value}`;
  if (key === 'theta')
    return value > 1 && value <= 1e12
      ? undefined
      : `The base must be above 1 and at most 1e12, got ${value}`;
  const least = key === 'from' ? 16 : 32;
  return Number.isInteger(value) && value >= least && value <= longestSequence
    ? undefined
    : `A length must be a whole number from ${least} to ${grouped(longestSequence)}, got ${value}`;
}

export async function open(engine: Engine, store: Store): Promise<void> {
  await new BeyondLab(engine, store).start();
}
