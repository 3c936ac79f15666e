// SPDX-License-Identifier: Apache-2.0
// dist/: the compiled TypeScript, the modules, and the entry that is one file. Made in
// build/dist, so that a build that fails leaves the last good one in place.

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
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
const manifest = readFileSync(file('build/dist/encodings.gen.js'), 'utf8');
const compact = manifest.replace(/(?<=\bfrozen\()\[[\s\S]*\](?=\);\s*$)/, (all) =>
  JSON.stringify(JSON.parse(all)),
);
if (compact === manifest) throw new Error('the manifest in encodings.gen.js was not found');
writeFileSync(file('build/dist/encodings.gen.js'), compact);

const wasm = readFileSync(file('build/wasm/posenc.wasm'));
writeFileSync(file('build/dist/posenc.wasm'), wasm);
copyFileSync(file('build/wasm/posenc-relaxed.wasm'), file('build/dist/posenc-relaxed.wasm'));
for (const name of ['posenc', 'posenc-relaxed'])
  copyFileSync(file('bindings/js/posenc.d.wasm.ts'), file(`build/dist/${name}.wasm.d.ts`));

// Of the compiler's glue only the short names are used that the linker made up; embind.ts is the rest. Both modules go through it,
// so they must mean the same by them.
function linkOf(name) {
  const glue = readFileSync(file(`build/wasm/${name}.mjs`), 'utf8');
  const find = (pattern, what) => {
    const found = pattern.exec(glue)?.[1];
    if (found === undefined)
      throw new Error(`the glue does not show ${what}: adapt ${import.meta.url}`);
    return found;
  };
  const imports = find(/wasmImports\s*=\s*\{([^}]*)\}/, 'what the module imports');
  return {
    from: find(/\b(\w+)["']?\s*:\s*wasmImports\b/, 'where imports come from'),
    imports: Object.fromEntries(
      imports.split(',').map((one) => {
        const [short, called] = one.split(':').map((word) => word.trim());
        return [short, called.replace(/^_/, '')];
      }),
    ),
    memory: find(/wasmMemory\s*=\s*wasmExports\[["'](\w+)/, 'the memory'),
    table: find(/wasmTable\s*=\s*wasmExports\[["'](\w+)/, 'the table'),
    start: find(/___wasm_call_ctors\s*=\s*wasmExports\[["'](\w+)/, 'the constructors'),
  };
}
const link = JSON.stringify(linkOf('posenc'));
if (link !== JSON.stringify(linkOf('posenc-relaxed')))
  throw new Error('the relaxed module is linked in another order and needs names of its own');
writeFileSync(file('build/dist/link.js'), `export const link = ${link};\n`);

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

// For Node, which joins no files by itself: of sixty, finding and linking took most of the time to the first result. Bundlers get
// the single ones, of which they leave out more.
const entries = ['index.node', 'module', 'worker.node', 'worker-thread.node', 'host.node'];
const inputs = Object.fromEntries(entries.map((name) => [name, file(`build/dist/${name}.js`)]));
inputs['remote-load.node'] = file('build/dist/remote/load.js'); // for tests, which break workers of their own
await build({
  configFile: false,
  logLevel: 'warn',
  root: file('build/dist'),
  build: {
    outDir: file('build/dist/joined'),
    ssr: true, // leaves addresses of files beside the module as they are written
    target: 'es2022',
    rolldownOptions: {
      input: inputs,
      preserveEntrySignatures: 'strict',
      external: /encodings\.gen\.js$/,
      output: { entryFileNames: '[name].js', chunkFileNames: 'node-[name].js', minify: true },
    },
  },
});
cpSync(file('build/dist/joined'), file('build/dist'), { recursive: true });
rmSync(file('build/dist/joined'), { recursive: true });

rmSync(file('dist'), { recursive: true, force: true });
renameSync(file('build/dist'), file('dist'));
