// SPDX-License-Identifier: Apache-2.0
// When something is drawn. What is in view: in the next frame where it fits in, else right after it, so that the frame shows the
// control that moved. What is not in view: at rest, piece by piece. The newest state wins, and what has begun is finished first, so
// that a figure moves while a slider does.
import { drew, fading, frameBegan, framed, frameTakes, post, Showing } from './frames.ts';

/** Draws all at once, or in pieces of a few milliseconds between which the page takes input. */
type Work = (() => void) | (() => Iterator<unknown>);

/**
 * `now` in the frame that answers where it fits in. `after` that frame, as what belongs to a figure beside the one in hand, and what takes
 * long anyhow. At `rest`, once nothing has been asked for in 0.1 s: what hardly changes by a step of a slider, and would take the time of
 * the next one.
 */
type When = 'now' | 'after' | 'rest';
const restful = 100;

export interface Redraw {
  (): void;
  /** What is still to be drawn is drawn at once: before somebody saves it, or prints the page. */
  now(): void;
}

/** Everything with something left to draw. */
const open = new Set<Job>();
const jobs = new WeakMap<Element, Job[]>();
const far = new WeakSet<Element>();

/**
 * How long a frame may be in all, in ms. What does not fit in comes after it, and is shown two frames of 60 a second later at the earliest,
 * so that a little more than two are no loss. On a slow machine, where the frame itself takes that long, it comes after the frame that
 * answers a key.
 */
const frameBudget = 40;
/** When the last frame began in which a lab was drawn. */
let ledFrame = Number.NaN;

class Job {
  #stale = false;
  #pieces: Iterator<unknown> | undefined;
  /** For the frame or for rest, and not for its turn among the others. */
  waits = false;
  readonly #frame: () => void;
  readonly #lab: boolean;
  #resting = 0;
  /** What the last drawings took, in ms; that of a lab may be long before it is known. */
  #takes: number;
  #taken = 0;
  /** Drawn at once with others or one by one, together they are taken to need what they needed. */
  readonly #showing = new Showing();

  constructor(
    private readonly element: Element,
    private readonly work: Work,
    private readonly when: When,
  ) {
    jobs.set(element, [...(jobs.get(element) ?? []), this]);
    this.#lab = element.classList.contains('lab-body');
    this.#takes = this.#lab ? frameBudget : 0;
    this.#frame = framed(() => {
      this.waits = false;
      if (this.late || !this.#fits()) return pump();
      if (this.#lab) ledFrame = frameBegan();
      this.now();
    }, this.#lab);
  }
  /** A lab with the figures that it asks for in its turn; a figure always, where its lab was drawn in this frame. */
  #fits(): boolean {
    if (!this.#lab && ledFrame === frameBegan()) return true;
    let takes = this.#expects;
    for (const figure of this.element.querySelectorAll('.stage'))
      for (const job of jobs.get(figure) ?? []) if (job.near && !job.late) takes += job.#expects;
    return frameTakes() + takes < frameBudget;
  }
  /** To be drawn and shown, in ms. */
  get #expects(): number {
    return this.#takes + this.#showing.takes;
  }
  get late(): boolean {
    return this.when !== 'now';
  }
  get near(): boolean {
    return !far.has(this.element);
  }
  ask(): void {
    this.#stale = true;
    open.add(this);
    tell();
    if (this.when === 'rest') this.#rest();
    else if (this.near || this.late) this.come();
    else pump();
  }
  #rest(): void {
    clearTimeout(this.#resting);
    this.waits = true;
    this.#resting = window.setTimeout(() => {
      this.waits = false;
      pump();
    }, restful);
  }
  come(): void {
    if (!open.has(this) || (this.late && this.#pieces)) return;
    this.waits = true;
    this.#frame();
  }
  /** One piece. */
  step(): void {
    const pieces = this.#pieces;
    const start = performance.now();
    this.#pieces = undefined;
    try {
      if (pieces) this.#pieces = pieces.next().done ? undefined : pieces;
      else if (this.#stale) {
        this.#stale = false;
        this.#pieces = this.work() ?? undefined;
      }
    } finally {
      this.#taken += performance.now() - start;
      if (!this.#pieces) {
        // One that was short because nothing had changed says little of the next. Of one that was long it is enough that no frame has room
        // for it: 300 ms would take ten short ones to fade.
        this.#takes = Math.max(Math.min(this.#taken, frameBudget), fading * this.#takes);
        this.#taken = 0;
      }
      if (!this.#pieces && !this.#stale) open.delete(this);
      tell();
      if (!this.late && !this.#pieces) drew(this.#showing);
    }
  }
  now(): void {
    while (this.#stale || this.#pieces) this.step();
  }
}

/** For whoever has to know that nothing is about to change. */
function tell(): void {
  const { dataset } = document.documentElement;
  if (open.size === 0) delete dataset.drawing;
  else if (dataset.drawing === undefined) dataset.drawing = '';
}

const posted = new Set<string>();
function pump(): void {
  const ready = [...open].filter((job) => !job.waits);
  if (ready.length === 0) return;
  const priority = ready.some(({ near }) => near) ? 'user-visible' : 'background';
  if (posted.has(priority)) return;
  posted.add(priority);
  post(() => {
    posted.delete(priority);
    const left = [...open].filter((job) => !job.waits);
    const job =
      left.find(({ near, late }) => near && !late) ?? left.find(({ near }) => near) ?? left[0];
    try {
      job?.step();
    } finally {
      pump();
    }
  }, priority);
}

function drawAll(): void {
  // What is drawn asks for its own parts in turn, which come after it in the set.
  for (const job of open) job.now();
}

let observer: IntersectionObserver | undefined;
function observed(element: Element): void {
  if (!observer) {
    addEventListener('beforeprint', drawAll);
    observer = new IntersectionObserver(
      (entries) => {
        // What is made aside is not yet anywhere.
        for (const { isIntersecting, target } of entries)
          if (!isIntersecting) {
            if (target.isConnected) far.add(target);
          } else if (far.delete(target)) for (const job of jobs.get(target) ?? []) job.come();
      },
      { rootMargin: '25% 0px' },
    );
  }
  observer.observe(element);
}

/** Calls before the work begins collapse into one. */
export function drawing(element: Element, work: Work, when: When = 'now'): Redraw {
  const job = new Job(element, work, when);
  observed(element);
  return Object.assign(() => job.ask(), { now: () => job.now() });
}
