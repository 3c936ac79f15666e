// SPDX-License-Identifier: Apache-2.0
// What is drawn in a frame and what after it, by how long it took before.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

/** A browser’s frames and clock, moved on by hand. */
let now = 0;
let frames: (() => void)[] = [];
let posted: (() => void)[] = [];
const runAll = (list: (() => void)[]): void => {
  for (const task of list.splice(0)) task();
};

beforeEach(() => {
  vi.resetModules();
  [now, frames, posted] = [0, [], []];
  vi.stubGlobal('requestAnimationFrame', (task: () => void) => frames.push(task));
  vi.stubGlobal('scheduler', { postTask: (task: () => void) => posted.push(task) });
  vi.stubGlobal('document', { documentElement: { dataset: {} } });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      observe(): void {}
    },
  );
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** A lab in view, and whether a drawing of it that takes so long is done in the frame. */
async function lab(): Promise<(takes: number) => boolean> {
  const { drawing } = await import('../../web/src/view.ts');
  let cost = 0;
  let count = 0;
  const redraw = drawing(
    { classList: { contains: () => true }, querySelectorAll: () => [] } as unknown as Element,
    () => {
      count += 1;
      now += cost;
    },
  );
  return (takes) => {
    cost = takes;
    const before = count;
    redraw();
    runAll(frames);
    const within = count > before;
    while (posted.length + frames.length > 0) {
      runAll(posted);
      runAll(frames);
    }
    expect(count).toBe(before + 1);
    return within;
  };
}

it('draws what is not known yet after the frame, and what was short in it', async () => {
  const inFrame = await lab();
  expect(inFrame(5)).toBe(false);
  expect(inFrame(5)).toBe(true);
  expect(inFrame(5)).toBe(true);
});

it('draws what is long after the frame, each time', async () => {
  const inFrame = await lab();
  inFrame(60);
  expect([60, 60, 60].map(inFrame)).toEqual([false, false, false]);
});

it('remembers a long drawing for the next one, and no longer for how long it was', async () => {
  for (const long of [60, 600]) {
    vi.resetModules();
    const inFrame = await lab();
    for (let i = 0; i < 5; i += 1) inFrame(5);
    expect(inFrame(long)).toBe(true);
    expect(inFrame(5)).toBe(false);
    expect(inFrame(5)).toBe(true);
  }
});
