// SPDX-License-Identifier: Apache-2.0
// Trains the encodings it is given in turns, a step of each, and looks for messages in between.
import { load } from 'posenc';
import { manifest, problemOf } from '../engine.ts';
import type { Package } from './decoder.ts';
import type { Command, News } from './protocol.ts';
import { Run } from './run.ts';

const tell = (news: News): void => postMessage(news);

let runs = new Map<string, Run>();
/** Steps still to make before resting. */
let allowed = 0;
let working = false;

/** The next task of the queue, so that messages come in: a timer would wait 4 ms each time. */
const { port1, port2 } = new MessageChannel();
port1.onmessage = () => turn();

function attempt(id: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    runs.get(id)?.dispose();
    runs.delete(id);
    tell({ kind: 'failed', id, message: problemOf(error).message });
  }
}

function turn(): void {
  if (allowed <= 0 || runs.size === 0) {
    working = false;
    tell({ kind: 'resting' });
    return;
  }
  allowed -= 1;
  for (const [id, run] of runs)
    attempt(id, () => {
      const start = performance.now();
      const exam = run.advance();
      tell({ kind: 'at', id, step: run.step, milliseconds: performance.now() - start });
      if (exam) tell({ kind: 'exam', id, exam });
      if (!run.finished) return;
      run.dispose();
      runs.delete(id);
      tell({ kind: 'finished', id });
    });
  port2.postMessage(0);
}

function work(steps: number): void {
  allowed = steps;
  if (working || runs.size === 0) return;
  working = true;
  port2.postMessage(0);
}

async function begin({ setup, ids }: Command & { kind: 'begin' }): Promise<void> {
  const pe = (await load()) as unknown as Package;
  runs = new Map();
  for (const id of ids)
    attempt(id, () => {
      const info = manifest.find((one) => one.id === id);
      if (!info) throw new Error(`the package has no encoding ${id}`);
      const run = new Run(pe, info, setup);
      runs.set(id, run);
      tell({ kind: 'made', id, parameters: run.parameters });
    });
}

let begun: Promise<void> = Promise.resolve();
addEventListener('message', ({ data }: MessageEvent<Command>) => {
  if (data.kind === 'begin')
    begun = begin(data).catch((error: unknown) => {
      for (const id of data.ids) tell({ kind: 'failed', id, message: problemOf(error).message });
    });
  else
    void begun.then(() =>
      work(data.kind === 'go' ? Number.POSITIVE_INFINITY : data.kind === 'step' ? data.count : 0),
    );
});
