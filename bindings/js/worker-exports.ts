// SPDX-License-Identifier: Apache-2.0
/** What both entries of `posenc/worker` export beside `load`. */

export * from './exports.js';
export type { LoadWorker } from './remote/load.js';
export type {
  CallOptions,
  PlaceOptions,
  PosencWorker,
  RemoteCache,
  RemoteEncoding,
  RemoteTensor,
  WorkerLoadOptions,
} from './remote/types.js';
