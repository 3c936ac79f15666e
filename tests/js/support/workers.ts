// SPDX-License-Identifier: Apache-2.0
/** `posenc/worker` with workers that a test can watch and break. */

import type { LoadWorker } from 'posenc/worker';
import type { Host } from '../../../dist/load.js';
import type { Spawn } from '../../../dist/remote/lane.js';
import { inNode } from './instance.ts';

interface Breakable {
  break(): void;
  /** The methods that were asked of it. */
  readonly calls: string[];
}

export interface Reply {
  id: number;
  value?: unknown;
  error?: unknown;
  back?: readonly (Float32Array | undefined)[];
}
/** What a test puts between a page and its workers. */
export interface Meddle {
  reply?: ((data: Reply) => unknown) | undefined;
  /** Called for every message to a worker. */
  post?: ((message: unknown, transfer: ArrayBuffer[]) => void) | undefined;
}

const noting = (calls: string[], message: unknown) => {
  const { method } = message as { method?: string };
  if (method !== undefined) calls.push(method);
};

export async function loadBreakable(
  script = `../../../dist/worker-thread${inNode ? '.node' : ''}.js`,
  meddle: Meddle = {},
): Promise<{ load: LoadWorker; workers: Breakable[] }> {
  const workers: Breakable[] = [];
  const url = new URL(script, import.meta.url);
  const spawn = inNode ? await inThread(url, workers, meddle) : inPage(url, workers, meddle);
  const { createWorkerLoad } = await remoteHere();
  return { load: createWorkerLoad(await hostHere(), spawn), workers };
}

/** Node's entries are joined with what they share, so that errors are of one class there. */
async function remoteHere(): Promise<typeof import('../../../dist/remote/load.js')> {
  const joined = '../../../dist/remote-load.node.js';
  return inNode ? import(/* @vite-ignore */ joined) : import('../../../dist/remote/load.js');
}

async function hostHere(): Promise<Host> {
  if (inNode) return (await import('../../../dist/host.node.js')).host;
  return (await import('../../../dist/host.js')).host;
}

async function inThread(url: URL, workers: Breakable[], meddle: Meddle): Promise<Spawn> {
  const { Worker } = await import('node:worker_threads');
  return (listener) => {
    const worker = new Worker(url);
    worker.on('message', (data) => listener.message(meddle.reply?.(data) ?? data));
    worker.on('error', (error) => listener.lost(String(error)));
    worker.on('exit', (code) => listener.lost(`the worker ended with code ${code}`));
    const calls: string[] = [];
    workers.push({ break: () => void worker.terminate(), calls });
    return {
      post: (message, transfer) => {
        meddle.post?.(message, transfer);
        noting(calls, message);
        worker.postMessage(message, transfer);
      },
      terminate: () => void worker.terminate(),
      hold: (busy) => (busy ? worker.ref() : worker.unref()),
    };
  };
}

function inPage(url: URL, workers: Breakable[], meddle: Meddle): Spawn {
  return (listener) => {
    const worker = new Worker(url, { type: 'module' });
    worker.onmessage = ({ data }) => listener.message(meddle.reply?.(data) ?? data);
    worker.onerror = (event) => listener.lost(event.message || 'no script');
    // A page is told nothing of a worker that ends; an error that nobody caught stands for it.
    const fail = () => worker.dispatchEvent(new ErrorEvent('error', { message: 'broken' }));
    const calls: string[] = [];
    workers.push({ break: fail, calls });
    return {
      post: (message, transfer) => {
        meddle.post?.(message, transfer);
        noting(calls, message);
        worker.postMessage(message, transfer);
      },
      terminate: () => worker.terminate(),
      hold() {},
    };
  };
}
