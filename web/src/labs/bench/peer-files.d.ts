// SPDX-License-Identifier: Apache-2.0
/** What the build put beside the page: see web/vite.config.ts. */
declare const benchmarkPeer: {
  readonly version: string;
  readonly folder: string;
  readonly module: string;
  readonly wasm: string;
  readonly bytes: number;
};
