// SPDX-License-Identifier: Apache-2.0
// Where the heads come from: random projections, or a file of trained ones, fetched when it is chosen.
import { box, h, setHidden, setText } from '../../dom.ts';
import { manifest, problemOf } from '../../engine.ts';
import { fallbacks, type Values } from '../../model/keys.ts';
import { untouched } from '../../model/settings.ts';
import type { Store } from '../../model/state.ts';
import { readHeads, type TrainedHeads } from '../../train/heads.ts';
import { sampleOf } from '../../train/symbols.ts';
import type { Task } from '../../train/tasks.ts';
import { files, type HeadsFile } from './heads-files.ts';
import { provenanceText, type Reading, readingOf, taskNames, titleOf } from './provenance.ts';

const taskOf = ({ metadata }: HeadsFile): string =>
  taskNames[metadata.task as Task] ?? metadata.task ?? '';

/** More than any of these files takes on a slow line, in milliseconds. */
const patience = 20_000;

/** What a visitor had chosen before, to go back to. */
type Before = Pick<Values, 'hide' | 'sink' | 'cap' | 'one' | 'row' | 'mix'>;
const beforeOf = ({ hide, sink, cap, one, row, mix }: Values): Before => ({
  hide,
  sink,
  cap,
  one,
  row,
  mix,
});

export class HeadSource {
  readonly root: HTMLElement;
  readonly #select: HTMLSelectElement;
  readonly #about = h('p', { class: 'control-doc', id: 'words-heads-about' });
  readonly #message = h('p', { class: 'control-error', role: 'alert' });
  readonly #again = h('button', { type: 'button', click: () => this.#retry() }, 'Try again');
  readonly #failure = box('words-failure', this.#message, this.#again);
  /** By name: heads, an error, or nothing yet while they are on their way. */
  readonly #known = new Map<string, TrainedHeads | Error | undefined>();
  #before: Before | undefined;

  constructor(
    private readonly store: Store,
    private readonly arrived: () => void,
  ) {
    const groups = new Map<string, HTMLElement[]>();
    for (const file of files) {
      const name = taskOf(file);
      const option = h(
        'option',
        { value: file.name },
        `${name}, ${titleOf(file.metadata.encoding)}`,
      );
      groups.set(name, [...(groups.get(name) ?? []), option]);
    }
    this.#select = h(
      'select',
      {
        id: 'words-heads',
        'aria-describedby': 'words-heads-about',
        change: () => this.#choose(this.#select.value),
      },
      h('option', { value: '' }, 'Random projections'),
      ...[...groups].map(([name, options]) =>
        h('optgroup', { label: `Trained: ${name}` }, ...options),
      ),
    );
    setHidden(this.#failure, true);
    this.root = box(
      'words-source',
      box('versus', h('label', { for: 'words-heads' }, 'Heads'), this.#select),
      this.#about,
      this.#failure,
    );
  }

  /** Whether heads are on their way. */
  waiting({ trained }: Values): boolean {
    if (trained !== '' && !this.#known.has(trained)) void this.load(trained);
    return trained !== '' && this.#known.get(trained) === undefined;
  }
  /** The heads in force and what they read; undefined are random projections, which also stand in for heads that did not come. */
  reading({ trained, seq }: Values): Reading | undefined {
    const heads = this.#known.get(trained);
    return heads === undefined || heads instanceof Error ? undefined : readingOf(heads, seq);
  }

  async load(name: string): Promise<void> {
    if (name === '' || this.#known.has(name)) return;
    this.#known.set(name, undefined);
    this.#known.set(name, await fetched(name).catch(asError));
    this.arrived();
  }
  #retry(): void {
    const { trained } = this.store.get().values;
    this.#known.delete(trained);
    // The button goes with the message.
    this.#select.focus();
    this.arrived();
  }

  /** With trained heads come what they were trained with and under: the encoding, a causal mask, a sequence of the task. */
  #choose(name: string): void {
    const { values } = this.store.get();
    const file = files.find((one) => one.name === name);
    if (!file) {
      const back: Partial<Values> = this.#before ?? {
        hide: fallbacks.hide,
        one: fallbacks.one,
        row: fallbacks.row,
        mix: '',
      };
      this.#before = undefined;
      this.store.put({ ...back, trained: '', seq: '' });
      return;
    }
    if (values.trained === '') this.#before = beforeOf(values);
    const { encoding, task, longest } = file.metadata;
    const asked = sampleOf(task as Task, Number(longest)).split(' ').length - 1;
    this.store.set({
      ...(manifest.some(({ id }) => id === encoding)
        ? { encoding: encoding as string, settings: untouched, placed: true }
        : {}),
      values: {
        ...values,
        ...{ trained: name, seq: '', mix: '', one: -1, row: asked, part: 'both' },
        ...{ hide: 'causal', sink: 0, cap: 0 },
      },
    });
  }

  show({ trained }: Values): void {
    const found = this.#known.get(trained);
    this.#select.value = files.some(({ name }) => name === trained) ? trained : '';
    const failed = trained !== '' && found instanceof Error;
    setHidden(this.#failure, !failed);
    setText(
      this.#message,
      failed
        ? `These heads did not come: ${found.message}. The maps are of random projections.`
        : '',
    );
    setHidden(this.#again, !files.some(({ name }) => name === trained));
    setText(
      this.#about,
      trained === '' || failed
        ? ''
        : found && !(found instanceof Error)
          ? provenanceText(found)
          : 'The heads are on their way.',
    );
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(problemOf(error).message);

async function fetched(name: string): Promise<TrainedHeads> {
  const file = files.find((one) => one.name === name);
  if (!file) throw new Error(`this page has none named “${name.slice(0, 40)}”`);
  const response = await fetch(file.url, { signal: AbortSignal.timeout(patience) });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return readHeads(await response.arrayBuffer(), manifest);
}
