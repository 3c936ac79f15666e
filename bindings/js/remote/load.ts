// SPDX-License-Identifier: Apache-2.0
/** `load` of `posenc/worker`: the module is compiled once, here, and handed to every worker. */

import { type Chosen, type Host, moduleOf, readLoadOptions, sharing } from '../load.js';
import { integer, or } from '../validate.js';
import { remoteInstance } from './instance.js';
import type { Spawn } from './lane.js';
import { Pool } from './pool.js';
import type { PosencWorker, WorkerLoadOptions } from './types.js';

/** More would only wait for each other: each call is as long as a core works on it. */
export const mostWorkers = 64;

export type LoadWorker = (options?: WorkerLoadOptions) => Promise<PosencWorker>;

interface WorkerChosen extends Chosen {
  workers?: number;
}

export function createWorkerLoad(host: Host, spawn: Spawn): LoadWorker {
  return sharing<WorkerChosen, WorkerLoadOptions, PosencWorker>(
    (options) => {
      const { fresh, chosen, given } = readLoadOptions(host, options, ['workers']);
      const range = { min: 1, max: mostWorkers };
      const workers = integer('load', 'workers', or(given.get('workers'), 1), range);
      return { fresh, chosen: given.has('workers') ? { ...chosen, workers } : chosen };
    },
    async (chosen) => {
      const [module, loading] = await moduleOf(host, chosen);
      const { build, workers = 1 } = chosen;
      const pool = new Pool(spawn, build === undefined ? { module } : { module, build }, workers);
      const hello = await pool.start();
      const pe = remoteInstance(pool, hello, loading);
      return { pe, is: { build: hello.build, workers }, usable: () => pool.usable };
    },
  );
}
