// SPDX-License-Identifier: Apache-2.0
// What a visitor of a page that uses the package downloads, for each way in: as a bundler delivers it, raw, gzip and brotli.
// Ends with an error when a way in outgrows tools/size-budget.json.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'vite';

const dist = resolve('dist');
const budget = JSON.parse(readFileSync(new URL('size-budget.json', import.meta.url), 'utf8'));

/** "load of index.js" is what a page gets that imports that one name; the rest is shaken off. */
function virtualEntry(entry) {
  const [names, file] = entry.includes(' of ') ? entry.split(' of ') : ['*', entry];
  const path = resolve(dist, file);
  if (!existsSync(path)) throw new Error(`dist/${file} is not there; run ./run build first`);
  const exported = names === '*' ? '*' : `{ ${names} }`;
  return {
    name: 'entry',
    resolveId: (id) => (id === 'entry' ? resolve(dist, 'entry.js') : undefined),
    load: (id) =>
      id === resolve(dist, 'entry.js')
        ? `export ${exported} from ${JSON.stringify(path)};`
        : undefined,
  };
}

/** The files a bundler makes of an entry: scripts minified, the .wasm beside them. */
async function delivered(entry) {
  const { output } = await build({
    configFile: false,
    plugins: [virtualEntry(entry)],
    logLevel: 'silent',
    root: dist,
    build: {
      write: false,
      assetsInlineLimit: 0,
      target: 'es2022',
      rollupOptions: { input: 'entry', preserveEntrySignatures: 'strict' },
    },
  });
  // The other build is emitted for those who ask for it, and fetched by nobody else.
  return output
    .filter(({ fileName }) => !fileName.includes('posenc-relaxed'))
    .map((file) => ({ name: file.fileName, bytes: Buffer.from(file.code ?? file.source) }));
}

const sizesOf = ({ bytes }) => ({
  raw: bytes.length,
  gzip: gzipSync(bytes, { level: 9 }).length,
  brotli: brotliCompressSync(bytes).length,
});
const sum = (all) =>
  all.reduce(
    (a, b) => ({ raw: a.raw + b.raw, gzip: a.gzip + b.gzip, brotli: a.brotli + b.brotli }),
    { raw: 0, gzip: 0, brotli: 0 },
  );
const cells = (values) => values.map((value) => value.padStart(9)).join('');
const row = (name, { raw, gzip, brotli }, note = '') =>
  console.log(
    name.padEnd(26) + cells([raw, gzip, brotli].map((bytes) => (bytes / 1024).toFixed(1))) + note,
  );

console.log('KiB'.padEnd(26) + cells(['raw', 'gzip', 'brotli']));
let over = false;
for (const [entry, limit] of Object.entries(budget.brotliBytes)) {
  const files = await delivered(entry);
  const wasm = files.filter(({ name }) => name.endsWith('.wasm')).map(sizesOf);
  const script = files.filter(({ name }) => !name.endsWith('.wasm')).map(sizesOf);
  const total = sum([...wasm, ...script]);
  const exceeded = total.brotli > limit;
  over ||= exceeded;
  if (wasm.length > 0) {
    row(`${entry}: WebAssembly`, sum(wasm));
    row(`${entry}: JavaScript`, sum(script));
  }
  row(
    `${entry}: all`,
    total,
    `   limit ${(limit / 1024).toFixed(1)}${exceeded ? ', exceeded' : ''}`,
  );
}
process.exitCode = over ? 1 : 0;
