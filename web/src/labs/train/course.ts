// SPDX-License-Identifier: Apache-2.0
// The workers that train, and what came of it so far.
import type { Command, News } from '../../train/protocol.ts';
import type { Exam, Setup } from '../../train/run.ts';

export interface Pupil {
  readonly id: string;
  readonly exams: Exam[];
  step: number;
  /** Of a step, in milliseconds; the mean of the latest. */
  pace: number;
  parameters: number;
  problem: string | undefined;
}

const fresh = (id: string): Pupil => ({
  id,
  exams: [],
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
  #workers: Worker[] = [];
  #busy = 0;
  #ended = new Set<string>();

  constructor(
    readonly setup: Setup,
    ids: readonly string[],
    private readonly changed: (news: 'exam' | 'pace' | 'phase') => void,
  ) {
    this.pupils = ids.map(fresh);
  }

  #begin(): void {
    const ids = this.pupils.map(({ id }) => id);
    const count = workersFor(ids.length, navigator.hardwareConcurrency || 2);
    this.#workers = Array.from({ length: count }, (_, i) => {
      const worker = new Worker(new URL('../../train/worker.ts', import.meta.url), {
        type: 'module',
      });
      const mine = ids.filter((__, place) => place % count === i);
      worker.onmessage = ({ data }: MessageEvent<News>) => this.#hear(data);
      worker.onerror = ({ message }) => {
        for (const id of mine) this.#hear({ kind: 'failed', id, message: message || 'it stopped' });
        this.#hear({ kind: 'resting' });
      };
      const { setup } = this;
      worker.postMessage({ kind: 'begin', setup, ids: mine } satisfies Command);
      return worker;
    });
  }

  /** All the way, or so many steps. */
  go(steps?: number): void {
    if (this.phase === 'training' || this.phase === 'stopped' || this.phase === 'done') return;
    if (this.#workers.length === 0) this.#begin();
    this.#busy = this.#workers.length;
    this.#send(steps === undefined ? { kind: 'go' } : { kind: 'step', count: steps });
    this.#enter('training');
  }
  pause(): void {
    if (this.phase === 'training') this.#send({ kind: 'pause' });
  }
  stop(): void {
    for (const worker of this.#workers) worker.terminate();
    this.#workers = [];
    if (this.phase !== 'idle' && this.phase !== 'done') this.#enter('stopped');
  }
  #send(command: Command): void {
    for (const worker of this.#workers) worker.postMessage(command);
  }
  #enter(phase: Phase): void {
    this.phase = phase;
    this.changed('phase');
  }

  #hear(news: News): void {
    if (news.kind === 'resting') {
      this.#busy -= 1;
      if (this.#busy > 0 || this.phase !== 'training') return;
      if (this.#ended.size < this.pupils.length) this.#enter('resting');
      else {
        this.stop();
        this.#enter('done');
      }
      return;
    }
    const pupil = this.pupils.find(({ id }) => id === news.id);
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
    } else {
      this.#ended.add(news.id);
      if (news.kind === 'failed') pupil.problem = news.message;
      this.changed('exam');
    }
  }
}
