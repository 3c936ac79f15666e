// SPDX-License-Identifier: Apache-2.0
/** Waiting and timing on a machine that is busy with other things too. */

/** The milliseconds of a call; asked again while it took more than `most`, since what others do comes and goes. */
export function quickest(most: number, call: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 8 && least > most; ++i) {
    const start = performance.now();
    call();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

/** Collects garbage until `count` has come down to `most`, or it is clear that it never will. */
export async function collected(
  gc: () => void,
  count: () => number | Promise<number>,
  most: number,
): Promise<number> {
  const end = performance.now() + 30_000;
  let now = await count();
  while (now > most && performance.now() < end) {
    gc();
    // What is told of collected objects runs in a task of its own.
    await new Promise((done) => setTimeout(done, 10));
    now = await count();
  }
  return now;
}
