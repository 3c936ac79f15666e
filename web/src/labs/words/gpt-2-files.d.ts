// SPDX-License-Identifier: Apache-2.0
/** What the build put beside the page: see web/gpt-2.ts. */
declare const gpt2Files: {
  readonly folder: string;
  readonly file: string;
  readonly bytes: number;
};
