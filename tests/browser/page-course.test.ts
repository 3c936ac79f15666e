// SPDX-License-Identifier: Apache-2.0
// Lab 6: what the page and the workers that train agree on, and when a course is over.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Course } from '../../web/src/labs/train/course.ts';
import { type Command, keyOf, type News, type Who } from '../../web/src/train/protocol.ts';
import type { Setup } from '../../web/src/train/run.ts';

describe('a course of several workers', () => {
  const [first, second]: readonly [Who, Who] = [
    { id: 'none', seed: 1 },
    { id: 'rope', seed: 1 },
  ];
  class Stub {
    readonly asked: Command['kind'][] = [];
    onmessage: (event: { data: News }) => void = () => {};
    onerror: (event: { message: string }) => void = () => {};
    readonly terminate = vi.fn();
    constructor() {
      stubs.push(this);
    }
    postMessage({ kind }: Command): void {
      this.asked.push(kind);
    }
    tell(data: News): void {
      this.onmessage({ data });
    }
  }
  let stubs: Stub[] = [];
  let course: Course;
  let [a, b]: Stub[] = [];
  beforeEach(() => {
    stubs = [];
    vi.stubGlobal('Worker', Stub);
    vi.stubGlobal('navigator', { hardwareConcurrency: 8 });
    course = new Course({} as Setup, [first, second], () => {});
    course.go();
    [a, b] = stubs;
    expect([course.phase, stubs.length]).toEqual(['training', 2]);
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });
  const rests = { kind: 'resting' } as const;
  const finished = (who: Who): News => ({ kind: 'finished', key: keyOf(who) });

  it('waits for those alone that still have something to train', () => {
    a?.tell(finished(first));
    a?.tell(rests);
    course.pause();
    b?.tell(rests);
    expect(course.phase).toBe('resting');
    course.go();
    expect(a?.asked).toEqual(['begin', 'go']);
    expect(b?.asked).toEqual(['begin', 'go', 'pause', 'go']);
    b?.tell(finished(second));
    expect(course.phase).toBe('training');
    b?.tell(rests);
    expect(course.phase).toBe('done');
  });
  it('is not ended by one that rests twice', () => {
    a?.tell(rests);
    a?.tell(rests);
    expect(course.phase).toBe('training');
    b?.tell(rests);
    expect(course.phase).toBe('resting');
  });
  it('goes on without one that broke, and keeps what that one had finished', () => {
    a?.onerror({ message: 'out of memory' });
    expect(a?.terminate).toHaveBeenCalled();
    b?.tell(rests);
    expect(course.phase).toBe('resting');
    course.go();
    b?.tell(finished(second));
    b?.onerror({ message: 'too late' });
    expect(course.phase).toBe('done');
    expect(course.pupils.map(({ problem }) => problem)).toEqual(['out of memory', undefined]);
  });
});

describe('a worker that trains', () => {
  it('answers each wish for steps by resting once, with no run left as well', async () => {
    const told: string[] = [];
    let hear: (event: { data: Command }) => void = () => {};
    vi.stubGlobal('postMessage', ({ kind }: News) => told.push(kind));
    vi.stubGlobal('addEventListener', (_: string, listener: typeof hear) => {
      hear = listener;
    });
    await import('../../web/src/train/worker.ts');
    const ask = (data: Command) => hear({ data });
    const nobody = { id: 'no such encoding', seed: 1 };
    ask({ kind: 'begin', setup: {} as Setup, pupils: [nobody] });
    ask({ kind: 'go' });
    await expect.poll(() => told).toEqual(['failed', 'resting']);
    ask({ kind: 'pause' });
    ask({ kind: 'step', count: 25 });
    await expect.poll(() => told).toEqual(['failed', 'resting', 'resting']);
    vi.unstubAllGlobals();
  });
});
