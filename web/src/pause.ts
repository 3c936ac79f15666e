// SPDX-License-Identifier: Apache-2.0

interface Yielding {
  readonly scheduler?: { yield?(): Promise<void> };
}

/** Lets the browser draw and take input before the next piece of work: a piece below 50 ms on a slow phone is 12 on a desktop. */
export const pause = (): Promise<void> =>
  (globalThis as Yielding).scheduler?.yield?.() ??
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(0);
  });
