// SPDX-License-Identifier: Apache-2.0
// One encoding through its training: a step at a time, an exam every so many steps. What comes out depends on the settings
// alone, never on time.
import type { EncodingInfo } from '../model/manifest.ts';
import { Decoder, type Package } from './decoder.ts';
import type { Parts } from './parts.ts';
import {
  answers,
  type Batch,
  examLengths,
  examOf,
  lessons,
  probeOf,
  questions,
  type Task,
  vocabulary,
} from './tasks.ts';

export interface Setup {
  readonly task: Task;
  /** Longest length trained on. */
  readonly longest: number;
  readonly seed: number;
  readonly steps: number;
}
export const fixed = {
  width: 32,
  heads: 2,
  layers: 1,
  sequences: 16,
  rate: 5e-3,
  warmUp: 20,
  /** Steps between exams, and sequences of an exam. */
  every: 25,
  exam: 8,
} as const;

export interface Exam {
  readonly step: number;
  /** Mean loss of the steps since the exam before; none before the first step. */
  readonly loss: number | null;
  /** For each of `examLengths`, how many of the tokens asked for are right. */
  readonly right: readonly number[];
}
export const askedAt = (task: Task, longest: number): number[] =>
  examLengths(longest).map((n) => fixed.exam * questions(task, n));

/** Whether two runs went the same way as far as both went: to the last bit of every loss. */
export function agreement(
  ours: readonly Exam[],
  theirs: readonly Exam[],
): { compared: number; differs: number | undefined } {
  let compared = 0;
  for (const mine of ours) {
    const other = theirs.find(({ step }) => step === mine.step);
    if (!other) continue;
    compared += 1;
    if (other.loss !== mine.loss || other.right.join() !== mine.right.join())
      return { compared, differs: mine.step };
  }
  return { compared, differs: undefined };
}

export class Run {
  readonly #decoder: Decoder;
  readonly #lesson: (sequences: number) => Batch;
  readonly #exams: readonly Batch[];
  readonly #probe: Batch;
  #losses = 0;
  #counted = 0;
  step = 0;

  constructor(
    pe: Package,
    info: EncodingInfo,
    private readonly setup: Setup,
  ) {
    const { task, longest, seed } = setup;
    const { width, heads, layers } = fixed;
    const shape = { width, heads, layers, vocabulary: vocabulary[task], answers: answers[task] };
    this.#decoder = new Decoder(pe, info, shape, seed);
    this.#lesson = lessons(task, longest, seed);
    this.#exams = examLengths(longest).map((n) => examOf(task, n, fixed.exam));
    this.#probe = probeOf(task, longest);
  }
  get parameters(): number {
    return this.#decoder.count;
  }
  /** Of the decoder, as they are now. */
  get parts(): Parts {
    return this.#decoder.parts;
  }
  get finished(): boolean {
    return this.step >= this.setup.steps;
  }

  /** Attention over the probe as it is now: [heads, places, places]. */
  look(): Float32Array {
    return this.#decoder.look(this.#probe);
  }

  /** A step; the exam where one is due. */
  advance(): Exam | undefined {
    const { warmUp, rate, sequences, every } = fixed;
    const before = this.step === 0 ? this.#examine() : undefined;
    const gentle = Math.min(1, (this.step + 1) / warmUp);
    this.#losses += this.#decoder.learn(this.#lesson(sequences), rate * gentle);
    this.#counted += 1;
    this.step += 1;
    return this.step % every === 0 || this.finished ? this.#examine() : before;
  }
  #examine(): Exam {
    const right = this.#exams.map((exam) => {
      try {
        return this.#decoder.examine(exam).right;
      } catch {
        // Beyond a table there is no place, and so no answer.
        return 0;
      }
    });
    const loss = this.#counted ? this.#losses / this.#counted : null;
    this.#losses = 0;
    this.#counted = 0;
    return { step: this.step, loss, right };
  }
  dispose(): void {
    this.#decoder.dispose();
  }
}
