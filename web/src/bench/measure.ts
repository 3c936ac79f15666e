// SPDX-License-Identifier: Apache-2.0
// First whether answers are right, then how long they take, in turns.
import type { Checked, Timed } from './protocol.ts';
import { median } from './statistics.ts';
import { difference, passes } from './workloads.ts';

export interface Contender {
  readonly name: string;
  /** Which function of it, in words. */
  readonly how: string;
  run(): Float32Array | Promise<Float32Array>;
  /** The answer as [heads, rows, headDim], where it comes in another order. */
  answer?(given: Float32Array): Float32Array;
}

export async function check(contender: Contender, truth: Float64Array): Promise<Checked> {
  const { name, how } = contender;
  try {
    const given = await contender.run();
    const found = difference(contender.answer?.(given) ?? given, truth);
    return { name, how, difference: found, passed: passes(found) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return {
      name,
      how,
      difference: { absolute: Number.NaN, relative: Number.NaN },
      passed: false,
      problem,
    };
  }
}

export type Clock = () => number;

async function timed({ run }: Contender, calls: number, clock: Clock): Promise<number> {
  const start = clock();
  for (let call = 0; call < calls; call += 1) await run();
  return clock() - start;
}

/** How many calls fill a batch. */
async function callsFor(contender: Contender, batch: number, clock: Clock): Promise<number> {
  for (let calls = 1; ; ) {
    const took = await timed(contender, calls, clock);
    if (took >= batch || calls >= 1 << 20) return calls;
    // A clock of 0.1 ms says little about a short time, so steps are at most tenfold.
    const wanted = took > 0 ? Math.ceil((1.1 * batch * calls) / took) : calls * 10;
    calls = Math.min(Math.max(wanted, calls + 1), calls * 10);
  }
}

/** Runs until the median of five samples stays within a twentieth of that of the five before, at most forty times. */
async function warm(contender: Contender, calls: number, clock: Clock): Promise<void> {
  const took: number[] = [];
  for (let i = 0; i < 40; i += 1) {
    took.push(await timed(contender, calls, clock));
    if (took.length < 10) continue;
    const before = median(took.slice(-10, -5));
    if (Math.abs(median(took.slice(-5)) - before) < 0.05 * before) return;
  }
}

/** A B C, C B A, A B C …: what the machine does to one it does to all. */
export async function race(
  contenders: readonly Contender[],
  samples: number,
  batch: number,
  clock: Clock,
  told: (round: number) => void,
): Promise<Timed[]> {
  const calls: number[] = [];
  for (const contender of contenders) {
    const few = await callsFor(contender, batch / 4, clock);
    await warm(contender, few, clock);
    calls.push(await callsFor(contender, batch, clock));
  }
  const taken: number[][] = contenders.map(() => []);
  for (let round = 0; round < samples; round += 1) {
    const order = contenders.map((_, i) => (round % 2 ? contenders.length - 1 - i : i));
    for (const i of order) {
      const count = calls[i] as number;
      taken[i]?.push((await timed(contenders[i] as Contender, count, clock)) / count);
    }
    told(round + 1);
  }
  return contenders.map(({ name }, i) => ({
    name,
    samples: taken[i] as number[],
    calls: calls[i] as number,
  }));
}
