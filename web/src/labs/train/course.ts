// SPDX-License-Identifier: Apache-2.0
// The workers that train, and what came of it so far.
import { type Command, keyOf, type News, type Who } from '../../train/protocol.ts';
import type { Exam, Setup } from '../../train/run.ts';

/** Attention over the probe at a step. */
export interface Look {
  readonly step: number;
  readonly weights: Float32Array;
}
/** More looks than this are thinned out, every second one: a long run would fill the memory with maps. */
const mostLooks = 48;

export interface Pupil extends Who {
  readonly exams: Exam[];
  looks: Look[];
  step: number;
  /** Of a step, in milliseconds; the mean of the latest. */
  pace: number;
  parameters: number;
  problem: string | undefined;
}

const fresh = (who: Who): Pupil => ({
  ...who,
  exams: [],
  looks: [],
  step: 0,
  pace: Number.NaN,
  parameters: 0,
  problem: undefined,
});

export type Phase = 'idle' | 'training' | 'resting' | 'stopped' | 'done';

/** One core stays free for the page. */
export const workersFor = (pupils: number, cores: number): number =>
  Math.max(1, Math.min(pupils, 4, cores - 1));

export class Course {
  readonly pupils: readonly Pupil[];
  phase: Phase = 'idle';
  /** With the keys of those each of them trains. */
  #workers = new Map<Worker, readonly string[]>();
  /** Those that are yet to rest. */
  #busy = new Set<Worker>();
  #ended = new Set<string>();

  constructor(
    readonly setup: Setup,
    who: readonly Who[],
    private readonly changed: (news: 'exam' | 'pace' | 'phase') => void,
  ) {
    this.pupils = who.map(fresh);
  }

  #begin(): void {
    const all = this.pupils.map(({ id, seed }): Who => ({ id, seed }));
    const count = workersFor(all.length, navigator.hardwareConcurrency || 2);
    for (let i = 0; i < count; i += 1) {
      const worker = new Worker(new URL('../../train/worker.ts', import.meta.url), {
        type: 'module',
      });
      const pupils = all.filter((_, place) => place % count === i);
      const keys = pupils.map(keyOf);
      worker.onmessage = ({ data }: MessageEvent<News>) => this.#hear(worker, data);
      worker.onerror = ({ message }) => {
        worker.terminate();
        for (const key of keys)
          if (!this.#ended.has(key))
            this.#hear(worker, { kind: 'failed', key, message: message || 'it stopped' });
        this.#hear(worker, { kind: 'resting' });
      };
      const { setup } = this;
      worker.postMessage({ kind: 'begin', setup, pupils } satisfies Command);
      this.#workers.set(worker, keys);
    }
  }

  /** All the way, or so many steps. */
  go(steps?: number): void {
    if (this.phase === 'training' || this.phase === 'stopped' || this.phase === 'done') return;
    if (this.#workers.size === 0) this.#begin();
    // One whose runs have all ended, or that broke, has nothing to do and may never answer.
    for (const [worker, keys] of this.#workers)
      if (!keys.every((key) => this.#ended.has(key))) this.#busy.add(worker);
    this.#send(steps === undefined ? { kind: 'go' } : { kind: 'step', count: steps });
    this.#enter('training');
  }
  pause(): void {
    if (this.phase === 'training') this.#send({ kind: 'pause' });
  }
  stop(): void {
    for (const worker of this.#workers.keys()) worker.terminate();
    this.#workers.clear();
    this.#busy.clear();
    if (this.phase !== 'idle' && this.phase !== 'done') this.#enter('stopped');
  }
  #send(command: Command): void {
    for (const worker of this.#busy) worker.postMessage(command);
  }
  #enter(phase: Phase): void {
    this.phase = phase;
    this.changed('phase');
  }

  #hear(worker: Worker, news: News): void {
    if (news.kind === 'resting') {
      this.#busy.delete(worker);
      if (this.#busy.size > 0 || this.phase !== 'training') return;
      if (this.#ended.size < this.pupils.length) this.#enter('resting');
      else {
        this.stop();
        this.#enter('done');
      }
      return;
    }
    const pupil = this.pupils.find((one) => keyOf(one) === news.key);
    if (!pupil) return;
    if (news.kind === 'made') pupil.parameters = news.parameters;
    else if (news.kind === 'at') {
      pupil.step = news.step;
      const { milliseconds } = news;
      pupil.pace = Number.isNaN(pupil.pace)
        ? milliseconds
        : pupil.pace + 0.05 * (milliseconds - pupil.pace);
      if (news.step % 10 === 0) this.changed('pace');
    } else if (news.kind === 'exam') {
      pupil.exams.push(news.exam);
      this.changed('exam');
    } else if (news.kind === 'look') {
      const { step, weights } = news;
      pupil.looks.push({ step, weights });
      if (pupil.looks.length > mostLooks) pupil.looks = pupil.looks.filter((_, i) => i % 2 === 0);
    } else {
      this.#ended.add(news.key);
      if (news.kind === 'failed') pupil.problem = news.message;
      this.changed('exam');
    }
  }
}
