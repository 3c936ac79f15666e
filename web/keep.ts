// SPDX-License-Identifier: Apache-2.0
// Writes into the service worker which files the build consists of.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

export const workerName = 'service-worker';

/**
 * What lies elsewhere is somebody else's: onnxruntime alone has 14 MB, all of ours less than 1. That, the vocabulary of
 * GPT-2, trained heads and the second build of the module, which the benchmark asks for, are kept once they are used; so are the figures for those without scripts, who have no worker.
 */
const own = /^([^/]+|assets\/(?!.*(relaxed|\.safetensors$)).*)$/;

export function keptFiles(folder: string): { version: string; files: string[]; late: string[] } {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== `${workerName}.js`)
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
  const version = createHash('sha256');
  const files: string[] = [];
  const late: string[] = [];
  for (const name of names) {
    const bytes = readFileSync(join(folder, name));
    version.update(name).update(bytes);
    if (!own.test(name)) late.push(name);
    else files.push(name === 'index.html' ? '' : name);
  }
  return { version: version.digest('hex').slice(0, 12), files, late };
}

/** After everything else is written, since the list is of everything else. */
export function keepFiles(folderOf: () => string): Plugin {
  return {
    name: 'keep-files',
    apply: 'build',
    closeBundle: () => {
      const folder = folderOf();
      const worker = join(folder, `${workerName}.js`);
      const script = readFileSync(worker, 'utf8');
      const written = script.replace('__KEPT__', JSON.stringify(keptFiles(folder)));
      if (written === script) throw new Error('the service worker has no place for its files');
      writeFileSync(worker, written);
    },
  };
}
