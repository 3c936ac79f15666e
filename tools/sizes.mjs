// SPDX-License-Identifier: Apache-2.0
// What a user downloads, for each way in: raw, gzip and brotli. Ends with an error when a way in outgrows tools/size-budget.json.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const dist = 'dist';
const budget = JSON.parse(readFileSync(new URL('size-budget.json', import.meta.url), 'utf8'));

/** Every file that an entry pulls in: its imports, theirs, and the .wasm it names. */
function filesOf(entry) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    if (!existsSync(file)) throw new Error(`${file} is not there; run ./run build first`);
    found.add(file);
    if (file.endsWith('.wasm')) return;
    const text = readFileSync(file, 'utf8');
    const specifiers = text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|new URL\(\s*)["'](\.[^"']+)["']/g);
    for (const [, specifier] of specifiers) visit(normalize(join(dirname(file), specifier)));
  };
  visit(join(dist, entry));
  return [...found];
}

const sizesOf = (file) => {
  const bytes = readFileSync(file);
  return { raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes).length };
};
const sum = (all) => all.reduce((a, b) => ({ raw: a.raw + b.raw, gzip: a.gzip + b.gzip, brotli: a.brotli + b.brotli }), { raw: 0, gzip: 0, brotli: 0 });
const row = (name, { raw, gzip, brotli }, note = '') =>
  console.log(name.padEnd(30) + [raw, gzip, brotli].map((bytes) => (bytes / 1024).toFixed(1).padStart(10)).join('') + note);

console.log(`${'KiB'.padEnd(30)}${['raw', 'gzip', 'brotli'].map((head) => head.padStart(10)).join('')}`);
let over = false;
for (const [entry, limit] of Object.entries(budget.brotliBytes)) {
  const files = filesOf(entry);
  const wasm = files.filter((file) => file.endsWith('.wasm')).map(sizesOf);
  const script = files.filter((file) => !file.endsWith('.wasm')).map(sizesOf);
  const total = sum([...wasm, ...script]);
  over ||= total.brotli > limit;
  if (wasm.length > 0) row(`${entry}: WebAssembly`, sum(wasm));
  row(`${entry}: JavaScript`, sum(script), `   ${script.length} files`);
  row(`${entry}: all`, total, `   limit ${(limit / 1024).toFixed(1)}${total.brotli > limit ? '  EXCEEDED' : ''}`);
}
process.exitCode = over ? 1 : 0;
