// SPDX-License-Identifier: Apache-2.0
/** The entry that computes in workers, for Node, Bun and Deno: same methods, promises. */

import { Worker } from 'node:worker_threads';
import { host } from './host.node.js';
import { createWorkerLoad, type LoadWorker } from './remote/load.js';

export * from './worker-exports.js';

export const load: LoadWorker = createWorkerLoad(host, (listener) => {
  const worker = new Worker(new URL('./worker-thread.node.js', import.meta.url));
  worker.on('message', (data) => listener.message(data));
  worker.on('error', (error) => listener.lost(String(error?.message ?? error)));
  worker.on('exit', (code) => listener.lost(`the worker ended with code ${code}`));
  worker.on('messageerror', () => listener.lost('a message could not be read'));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    terminate: () => void worker.terminate(),
    // An idle worker is no reason for a program to go on.
    hold: (busy) => (busy ? worker.ref() : worker.unref()),
  };
});
