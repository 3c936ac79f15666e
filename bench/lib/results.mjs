// SPDX-License-Identifier: Apache-2.0
// The two arguments that every bench takes, and the file that report.mjs reads.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';

export function filterAndFile() {
  const { values } = parseArgs({
    options: { only: { type: 'string', default: '.' }, json: { type: 'string' } },
  });
  return { only: new RegExp(values.only), json: values.json };
}

export function save(json, what) {
  if (!json) return;
  mkdirSync(dirname(json), { recursive: true });
  writeFileSync(json, JSON.stringify(what, null, 1));
}
