// SPDX-License-Identifier: Apache-2.0
// What is done within a frame, and how long it is taken to be.
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
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});
const load = () => import('../../web/src/frames.ts');

it('does first what others follow from, and in the same frame what it asks for', async () => {
  const { framed } = await load();
  const done: string[] = [];
  const figure = framed(() => done.push('figure'));
  const lab = framed(() => {
    done.push('lab');
    figure();
  }, true);
  figure();
  lab();
  lab();
  runAll(frames);
  expect(done).toEqual(['lab', 'figure']);
  expect(frames).toHaveLength(0);
});

it('does what asks for itself again in the next frame', async () => {
  const { framed } = await load();
  let count = 0;
  const again = framed(() => {
    count += 1;
    if (count < 3) again();
  });
  again();
  runAll(frames);
  expect(count).toBe(1);
  runAll(frames);
  runAll(frames);
  expect(count).toBe(3);
  expect(frames).toHaveLength(0);
});

it('goes on with the other tasks of a frame where one fails', async () => {
  const { framed } = await load();
  const later = vi.fn();
  vi.stubGlobal('queueMicrotask', later);
  const done = vi.fn();
  framed(() => {
    throw new Error('one');
  })();
  framed(done)();
  runAll(frames);
  expect(done).toHaveBeenCalledOnce();
  // The page hears of it all the same.
  expect(later).toHaveBeenCalledOnce();
  expect(later.mock.calls[0]?.[0]).toThrow('one');
});

it('takes a frame to be as long as its tasks and what it took before to show what they draw', async () => {
  const { drew, fading, framed, frameBegan, frameTakes, Showing } = await load();
  const [lab, figure] = [new Showing(), new Showing()];
  let within = Number.NaN;
  const frame = framed(() => {
    now += 3;
    drew(lab);
    drew(figure);
    drew(figure);
    within = frameTakes();
  });
  const taken = (painting: number): number => {
    frame();
    runAll(frames);
    now += painting;
    runAll(posted);
    return within;
  };
  expect(taken(6)).toBe(3);
  expect(frameBegan()).toBe(0);
  // Each has its share of it.
  expect([lab.takes, figure.takes]).toEqual([3, 3]);
  expect(taken(8)).toBe(3 + 6);
  // One that other programs lengthened says little,
  taken(60);
  expect(lab.takes).toBe(4);
  // two in a row say much, and many short ones little.
  taken(60);
  expect(lab.takes).toBe(30);
  taken(2);
  expect(lab.takes).toBeCloseTo(fading * 30, 12);
  taken(2);
  expect(lab.takes).toBeCloseTo(fading ** 2 * 30, 12);
});

it('counts what was drawn between frames for the next one, which shows it', async () => {
  const { drew, framed, frameTakes, Showing } = await load();
  const figure = new Showing();
  const shown = (): void => {
    drew(figure);
    drew(figure);
    expect(frames).toHaveLength(1);
    runAll(frames);
    now += 7;
    runAll(posted);
  };
  shown();
  expect(figure.takes).toBe(7);
  let within = Number.NaN;
  framed(() => {
    within = frameTakes();
  })();
  drew(figure);
  runAll(frames);
  expect(within).toBe(7);
});
