// SPDX-License-Identifier: Apache-2.0
import { inNode } from '../support/instance.ts';

/** A file of a model, where there is one and a way to read it. */
export async function readFile(name: string): Promise<ArrayBuffer | undefined> {
  if (!inNode) return undefined;
  const { existsSync, readFileSync } = await import('node:fs');
  const path = new URL(`../../../../shared/golden/models/${name}`, import.meta.url);
  return existsSync(path) ? new Uint8Array(readFileSync(path)).buffer : undefined;
}
