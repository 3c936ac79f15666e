// SPDX-License-Identifier: Apache-2.0
// What is done within a frame, how long that frame will be, and what is done after it.

type Priority = 'user-blocking' | 'user-visible' | 'background';
interface Scheduling {
  readonly scheduler?: {
    postTask?(task: () => void, options: { priority: Priority }): unknown;
  };
}
/** Outside of frames, as soon as its priority allows. */
export function post(task: () => void, priority: Priority): void {
  const { scheduler } = globalThis as Scheduling;
  if (scheduler?.postTask) scheduler.postTask(task, { priority });
  else setTimeout(task, 0);
}

const tasks = new Set<() => void>();
/** Those of them that others follow from. */
const first = new Set<() => void>();
let inFrame = false;
let began = 0;

/** What is left of a longer time at the next shorter one. */
export const fading = 0.8;

/** What the browser takes to show something that is drawn: its share of the style, layout and painting of a frame. */
export class Showing {
  #last = 0;
  #takes = 0;
  /** In ms. As long as it took twice in a row, since other programs lengthen some, and less only by and by: many change little. */
  get takes(): number {
    return this.#takes;
  }
  took(time: number): void {
    this.#takes = Math.max(Math.min(time, this.#last || time), fading * this.#takes);
    this.#last = time;
  }
}
/** What is drawn and not yet on screen. */
const drawn = new Set<Showing>();

export const frameBegan = (): number => began;
/** How long this frame will be, from its first task on, if nothing is added to it, in ms. */
export const frameTakes = (): number =>
  [...drawn].reduce((sum, { takes }) => sum + takes, performance.now() - began);

/** After the tasks of a frame. */
function watch(): void {
  if (drawn.size === 0) return;
  const all = [...drawn];
  drawn.clear();
  const end = performance.now();
  // What is posted within a frame comes once that is painted, and this before what has less priority.
  post(() => {
    const share = (performance.now() - end) / all.length;
    for (const one of all) one.took(share);
  }, 'user-blocking');
}
/** Something was drawn, in a frame or for the next one. */
export function drew(one: Showing): void {
  if (drawn.size === 0 && !inFrame) requestAnimationFrame(watch);
  drawn.add(one);
}

function* due(): Generator<() => void> {
  const done = new Set<() => void>();
  for (;;) {
    const next = [...first, ...tasks].find((task) => !done.has(task));
    if (!next) return;
    done.add(next);
    tasks.delete(next);
    first.delete(next);
    yield next;
  }
}
/** What a task asks for in its turn is done in the same frame, so that a result is drawn in the frame that computed it; once each. */
function runFrame(): void {
  inFrame = true;
  began = performance.now();
  for (const task of due()) {
    try {
      task();
    } catch (error) {
      // The others belong to other labs.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
  inFrame = false;
  watch();
  if (first.size + tasks.size > 0) requestAnimationFrame(runFrame);
}

/**
 * Runs `task` at the next frame; calls before then collapse into one, so the newest state always wins. Those whose results others show
 * are `leading`: else a figure would be drawn before its numbers, and again a frame later.
 */
export function framed(task: () => void, leading = false): () => void {
  // Of its own for each call: two figures may share a function.
  const own = (): void => task();
  return () => {
    if (first.size + tasks.size === 0 && !inFrame) requestAnimationFrame(runFrame);
    (leading ? first : tasks).add(own);
  };
}

/** Does what is given once the frame now drawn is on screen; of several in between, the last. */
export function afterwards(): (task: () => void) => void {
  let waiting = 0;
  return (task) => {
    clearTimeout(waiting);
    waiting = window.setTimeout(task, 0);
  };
}
