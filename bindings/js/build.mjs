// SPDX-License-Identifier: Apache-2.0
// dist/: the compiled TypeScript, the module with its glue, and the entry that is one file. Made in
// build/dist, so that a build that fails leaves the last good one in place.

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = new URL('../../', import.meta.url);
const file = (name) => fileURLToPath(new URL(name, root));

rmSync(file('build/dist'), { recursive: true, force: true });
mkdirSync(file('build/dist'), { recursive: true });
execFileSync(
  process.execPath,
  [
    file('node_modules/typescript/bin/tsc'),
    '-p',
    file('tsconfig.build.json'),
    '--outDir',
    file('build/dist'),
  ],
  { stdio: 'inherit' },
);

// The manifest is data: on one line it is 40 KB shorter.
const manifestText = /(?<=\bfrozen\()\[[\s\S]*\](?=\);\s*$)/;
const manifest = readFileSync(file('build/dist/encodings.gen.js'), 'utf8');
const compact = manifest.replace(manifestText, (all) => JSON.stringify(JSON.parse(all)));
if (compact === manifest) throw new Error('the manifest in encodings.gen.js was not found');
writeFileSync(file('build/dist/encodings.gen.js'), compact);

const wasm = readFileSync(file('build/wasm/posenc.wasm'));
writeFileSync(file('build/dist/posenc.wasm'), wasm);
copyFileSync(file('build/wasm/posenc-relaxed.wasm'), file('build/dist/posenc-relaxed.wasm'));
for (const name of ['posenc', 'posenc-relaxed'])
  copyFileSync(file('bindings/js/posenc.d.wasm.ts'), file(`build/dist/${name}.wasm.d.ts`));
copyFileSync(file('bindings/js/posenc.d.mts'), file('build/dist/posenc.d.mts'));

// The glue's own reference to the file is never used, since load.ts brings the module, but it makes
// bundlers emit the file for the entries that need none, and fails where import.meta.url is no URL.
const reference = /new URL\(\s*["']posenc\.wasm["']\s*,\s*import\.meta\.url\s*\)\.href/g;
// For-in also finds what a page has added to Object.prototype: over objects that cross, Embind would fail in the middle of a call.
const walks = /\bfor\s*\((?:(?:var|let|const)\s+)?\w+\s+in\b/g;

const glue = readFileSync(file('build/wasm/posenc.mjs'), 'utf8');
/** How often is checked, so that another Emscripten cannot bring back what is mended here or was left out. */
const expect = (pattern, times, what) => {
  const found = glue.match(pattern)?.length ?? 0;
  if (found !== times)
    throw new Error(
      `the glue has ${what} ${found} times, expected ${times}: adapt ${import.meta.url}`,
    );
};
expect(reference, 1, 'its reference to posenc.wasm');
expect(walks, 0, 'for-in');
// Both modules go through this glue, so they must mean the same by the short names that were made up for imports and exports.
const other = readFileSync(file('build/wasm/posenc-relaxed.mjs'), 'utf8');
const link = (code) => code.match(/wasmImports\s*=\s*\{[^}]*\}|\w+\s*=\s*wasmExports\S*/g)?.join();
if (link(glue) === undefined || link(glue) !== link(other))
  throw new Error('the relaxed module is linked in another order and needs its own glue');
writeFileSync(file('build/dist/posenc.mjs'), glue.replace(reference, '"posenc.wasm"'));

writeFileSync(
  file('build/dist/inline-bytes.js'),
  `export const base64 = '${wasm.toString('base64')}';\n`,
);
await build({
  configFile: false,
  logLevel: 'warn',
  root: file('build/dist'),
  build: {
    outDir: file('build/dist/inline'),
    // Of a library Vite keeps the spaces; half of this file is one string anyway.
    rolldownOptions: { output: { minify: true } },
    target: 'es2022',
    lib: { entry: file('build/dist/inline.js'), formats: ['es'], fileName: () => 'inline.js' },
  },
});
renameSync(file('build/dist/inline/inline.js'), file('build/dist/inline.js'));
for (const leftover of ['inline', 'inline-bytes.js', 'inline.d.ts'])
  rmSync(file(`build/dist/${leftover}`), { recursive: true });

// For Node, which joins no files by itself: of sixty, finding and linking took most of the time to the first result. What the main
// entry has is one file, that of the workers' side another. Bundlers get the single ones, of which they leave out more.
const entries = ['index.node', 'worker.node', 'worker-thread.node', 'host.node'];
const inputs = Object.fromEntries(entries.map((name) => [name, file(`build/dist/${name}.js`)]));
inputs['module.node'] = file('build/dist/module.js');
inputs['remote-load.node'] = file('build/dist/remote/load.js'); // for tests, which break workers of their own
const shared = (id) =>
  !/[/](remote|index|module|worker)\b/.test(id.slice(file('build/dist').length));
const quickToRead = {
  name: 'quick-to-read',
  // Read as JSON the manifest takes half the time that it takes as a program.
  transform: (code, id) =>
    id.endsWith('encodings.gen.js')
      ? code.replace(manifestText, (all) => `JSON.parse(${JSON.stringify(all)})`)
      : undefined,
};
await build({
  configFile: false,
  logLevel: 'warn',
  root: file('build/dist'),
  plugins: [quickToRead],
  build: {
    outDir: file('build/dist/joined'),
    ssr: true, // leaves addresses of files beside the module as they are written
    target: 'es2022',
    rolldownOptions: {
      input: inputs,
      preserveEntrySignatures: 'strict',
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: '[name].node.js',
        minify: true,
        codeSplitting: { groups: [{ name: 'main', test: shared }] },
      },
    },
  },
});
// One letter beyond Latin-1 would make all of a file take two bytes each.
for (const name of readdirSync(file('build/dist/joined'))) {
  const code = readFileSync(file(`build/dist/joined/${name}`), 'utf8');
  const ascii = code.replace(
    /[^\0-\x7f]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  writeFileSync(file(`build/dist/joined/${name}`), ascii);
}
cpSync(file('build/dist/joined'), file('build/dist'), { recursive: true });
rmSync(file('build/dist/joined'), { recursive: true });

rmSync(file('dist'), { recursive: true, force: true });
renameSync(file('build/dist'), file('dist'));
