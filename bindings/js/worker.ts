// SPDX-License-Identifier: Apache-2.0
/** The entry that computes in workers, for browsers: same methods, promises. */

import { host } from './host.js';
import { createWorkerLoad, type LoadWorker } from './remote/load.js';

export * from './worker-exports.js';

export const load: LoadWorker = createWorkerLoad(host, (listener) => {
  // Bundlers find the script by this very expression, and a policy of worker-src 'self' lets it run.
  const worker = new Worker(new URL('./worker-thread.js', import.meta.url), { type: 'module' });
  worker.onmessage = ({ data }) => listener.message(data);
  worker.onerror = (event) => {
    event.preventDefault();
    listener.lost(
      event.message ||
        "its script could not be loaded: is it served, and allowed by the policy's worker-src?",
    );
  };
  worker.onmessageerror = () => listener.lost('a message could not be read');
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    terminate: () => worker.terminate(),
    hold() {},
  };
});
