// SPDX-License-Identifier: Apache-2.0
// Trains the encodings it is given in turns, a step of each, and looks for messages in between.
import { load } from 'posenc';
import { manifest, problemOf } from '../engine.ts';
import type { Package } from './decoder.ts';
import { type Command, keyOf, type News } from './protocol.ts';
import { Run } from './run.ts';

const tell = (news: News): void => postMessage(news);

let runs = new Map<string, Run>();
/** Steps still to make before resting. */
let allowed = 0;
let working = false;

/** The next task of the queue, so that messages come in: a timer would wait 4 ms each time. */
const { port1, port2 } = new MessageChannel();
port1.onmessage = () => turn();

function attempt(key: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    runs.get(key)?.dispose();
    runs.delete(key);
    tell({ kind: 'failed', key, message: problemOf(error).message });
  }
}
const look = (key: string, run: Run): void =>
  tell({ kind: 'look', key, step: run.step, weights: run.look() });

function turn(): void {
  if (allowed <= 0 || runs.size === 0) {
    working = false;
    tell({ kind: 'resting' });
    return;
  }
  allowed -= 1;
  for (const [key, run] of runs)
    attempt(key, () => {
      const start = performance.now();
      const exam = run.advance();
      tell({ kind: 'at', key, step: run.step, milliseconds: performance.now() - start });
      // The exam of the first step is that of before it, and so was its look.
      if (exam && exam.step > 0) look(key, run);
      if (exam) tell({ kind: 'exam', key, exam });
      if (!run.finished) return;
      run.dispose();
      runs.delete(key);
      tell({ kind: 'finished', key });
    });
  port2.postMessage(0);
}

/** Each wish for steps is answered by one `resting`, even where no run is left that could make them. */
function work(steps: number): void {
  allowed = steps;
  if (working || steps === 0) return;
  working = true;
  port2.postMessage(0);
}

async function begin({ setup, pupils }: Command & { kind: 'begin' }): Promise<void> {
  const pe = (await load()) as unknown as Package;
  runs = new Map();
  for (const who of pupils) {
    const key = keyOf(who);
    attempt(key, () => {
      const info = manifest.find((one) => one.id === who.id);
      if (!info) throw new Error(`the package has no encoding ${who.id}`);
      const run = new Run(pe, info, { ...setup, seed: who.seed });
      runs.set(key, run);
      tell({ kind: 'made', key, parameters: run.parameters });
      look(key, run);
    });
  }
}

let begun: Promise<void> = Promise.resolve();
addEventListener('message', ({ data }: MessageEvent<Command>) => {
  if (data.kind === 'begin')
    begun = begin(data).catch((error: unknown) => {
      for (const who of data.pupils)
        tell({ kind: 'failed', key: keyOf(who), message: problemOf(error).message });
    });
  else
    void begun.then(() =>
      work(data.kind === 'go' ? Number.POSITIVE_INFINITY : data.kind === 'step' ? data.count : 0),
    );
});
