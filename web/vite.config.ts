// SPDX-License-Identifier: Apache-2.0
import { copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { aheadFigures } from './ahead-figures.ts';
import { keepToBudget } from './budget.ts';
import { firstView } from './first-view.ts';
import { formulas } from './formulas.ts';
import { gpt2Vocabulary, vocabulary } from './gpt-2.ts';
import { keepFiles, workerName } from './keep.ts';
import { weightsMetadata } from './metadata.ts';
import { asProgram } from './program.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A host that sets no headers still gets the policy. Only in the build: the development server injects inline styles. */
const policy = readFileSync(here('./policy.txt'), 'utf8').trim().split('\n');
const places = {
  page: here('.'),
  packageFolder: here('../dist'),
  cache: here('../build/page/ahead'),
};

/**
 * Two files of onnxruntime-web, for the benchmark alone: beside the page and in no bundle, so that only a click loads them.
 * Their licence goes with them; the npm package has the name of it and not the text.
 */
const peerFolder = dirname(createRequire(import.meta.url).resolve('onnxruntime-web/wasm'));
const peerFiles = ['ort.wasm.bundle.min.mjs', 'ort-wasm-simd-threaded.wasm'] as const;
const peerVersion: string = JSON.parse(
  readFileSync(join(peerFolder, '../package.json'), 'utf8'),
).version;
const peer = {
  version: peerVersion,
  folder: `onnxruntime-web-${peerVersion}/`,
  module: peerFiles[0],
  wasm: peerFiles[1],
  bytes: peerFiles.reduce((sum, name) => sum + statSync(join(peerFolder, name)).size, 0),
};
const benchmarkPeer: Plugin = {
  name: 'benchmark-peer',
  configureServer({ middlewares }) {
    middlewares.use(`/${peer.folder}`, (request, response, next) => {
      const name = peerFiles.find((file) => request.url?.split('?')[0] === `/${file}`);
      if (!name) return next();
      response.setHeader(
        'Content-Type',
        name.endsWith('.wasm') ? 'application/wasm' : 'text/javascript',
      );
      response.end(readFileSync(join(peerFolder, name)));
    });
  },
  writeBundle({ dir = here('./dist') }) {
    mkdirSync(join(dir, peer.folder), { recursive: true });
    for (const name of peerFiles)
      copyFileSync(join(peerFolder, name), join(dir, peer.folder, name));
    copyFileSync(here('./onnxruntime-web.license.txt'), join(dir, peer.folder, 'LICENSE.txt'));
  },
};

/** Where the build goes, which the command line may say. */
let built = here('./dist');
const whereTo: Plugin = {
  name: 'where-to',
  configResolved: ({ root, build }) => {
    built = resolve(root, build.outDir);
  },
};

export default defineConfig({
  root: here('.'),
  base: './',
  plugins: [
    asProgram,
    weightsMetadata,
    formulas(here('../dist/index.node.js')),
    aheadFigures(places),
    firstView(places, policy),
    benchmarkPeer,
    gpt2Vocabulary(here('./gpt-2.license.txt'), () => built),
    whereTo,
    keepToBudget(() => built),
    keepFiles(() => built),
  ],
  define: { benchmarkPeer: JSON.stringify(peer), gpt2Files: JSON.stringify(vocabulary) },
  worker: { format: 'es' },
  // The page is a user of the package as published: it sees the built public entry and nothing behind it.
  resolve: { alias: { posenc: here('../dist/index.js') } },
  build: {
    outDir: here('./dist'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      input: { page: here('./index.html'), [workerName]: here('./src/offline/service-worker.ts') },
      output: {
        // What both the first view and later labs need, in one file: each on its own, five of them have less than 4 KB.
        codeSplitting: {
          groups: [
            {
              name: 'base',
              test: /\/web\/src\/(model\/(?!safetensors)|draw\/(stage|heatmap|cursor|raster|scale)|parts\/(save|control|guess|programs|code|layer-code|random-code)|compute\/layer|labs\/notices|dom|view|remember|theme|engine|pause)/,
            },
          ],
        },
        // A worker is known by its address, so its name does not change with its content.
        entryFileNames: ({ name }) =>
          name === workerName ? '[name].js' : 'assets/[name]-[hash].js',
      },
    },
  },
});
