// SPDX-License-Identifier: Apache-2.0
/** Waiting on a machine that is busy with other things too. */

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
