// SPDX-License-Identifier: Apache-2.0
/** The packed package in projects of strangers: Node, bundlers, a page without any. */

import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { example, filesOf, pack, project, root, run, show } from './project.ts';

let tarball: string;
let folder: string;
const folders: string[] = [];

function fresh(template?: string): string {
  const made = project(tarball, template);
  folders.push(made);
  return made;
}

beforeAll(() => {
  tarball = pack();
  folder = fresh();
});
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

const installed = (...names: string[]) => join(folder, 'node_modules/posenc', ...names);

describe('the package', () => {
  it('contains what it needs and nothing else', () => {
    const files = filesOf(installed());
    const other = files.filter(
      (name) =>
        !/^(dist\/((config|remote)\/)?[\w.-]+|bindings\/cli\/[\w-]+\.mjs|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/.test(
          name,
        ),
    );
    expect(other).toEqual([]);
    for (const name of [
      'LICENSE',
      'README.md',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/posenc.wasm',
    ])
      expect(files).toContain(name);
    const bytes = files.reduce((sum, name) => sum + statSync(installed(name)).size, 0);
    // Two modules of 0.3 MB, one of them a second time as text in inline.js with all scripts, and scripts apart and joined.
    expect(bytes).toBeLessThan(2.1 * 1024 * 1024);
  });

  it('depends on nothing, and no file of it knows where it was built', () => {
    const { dependencies = {}, sideEffects } = JSON.parse(
      readFileSync(installed('package.json'), 'utf8'),
    );
    expect([dependencies, sideEffects]).toEqual([{}, false]);
    expect(
      filesOf(join(folder, 'node_modules')).filter((n) => !/^(posenc\/|\.package-lock)/.test(n)),
    ).toEqual([]);
    for (const name of filesOf(installed()))
      expect(readFileSync(installed(name), 'latin1').includes(root), name).toBe(false);
  });

  it.each([
    'index.js',
    'inline.js',
    'module.js',
    'index.workerd.js',
    'worker.js',
    'worker-thread.js',
  ])('reaches nothing of Node from %s', (entry) => {
    const seen = new Set<string>();
    const visit = (file: string) => {
      if (seen.has(file)) return;
      seen.add(file);
      if (file.endsWith('.wasm')) return;
      const code = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
      for (const [, name] of code.matchAll(
        /(?:\bfrom\s*|\bimport\s*\(?\s*|(?<![.\w])require\s*\(\s*)["']([^"'\s]+)["']/g,
      )) {
        expect(name, `${file} imports ${name}`).toMatch(/^\.\.?\//);
        const imported = join(dirname(file), name);
        expect(imported.startsWith(installed('dist'))).toBe(true);
        visit(imported);
      }
      expect(code).not.toMatch(/\bnode:|\bnew Function\b|\beval\(/);
    };
    visit(installed('dist', entry));
    if (entry === 'inline.js') expect(seen.size).toBe(1);
  });

  it('refers to each other file once, literally', () => {
    const referring = (pattern: RegExp) =>
      filesOf(installed('dist'))
        .filter((name) => /\.m?js$/.test(name) && !name.includes('.node.'))
        .flatMap((name) =>
          [...readFileSync(installed('dist', name), 'utf8').matchAll(pattern)].map(() => name),
        );
    // Bundlers take these expressions for files to emit: one too many is a file that nobody loads.
    const url = (file: string) => `new URL\\(["']\\./${file}["'], import\\.meta\\.url\\)`;
    for (const file of ['posenc\\.wasm', 'posenc-relaxed\\.wasm'])
      expect(referring(new RegExp(url(file), 'g'))).toEqual(['host.js']);
    const worker = `new Worker\\(${url('worker-thread\\.js')}, \\{ type: 'module' \\}\\)`;
    expect(referring(new RegExp(worker, 'g'))).toEqual(['worker.js']);
    expect(referring(/new URL\([^)]*import\.meta/g).sort()).toEqual([
      'host.js',
      'host.js',
      'worker.js',
    ]);
  });
});

describe('in Node', () => {
  const { output } = example();
  it('prints what the README says', () => {
    expect(run(folder, 'node', ['example.js'])).toBe(output);
  });

  it('generates no code from strings', () => {
    const args = ['--disallow-code-generation-from-strings', 'example.js'];
    expect(run(folder, 'node', args)).toBe(output);
  });

  it('gives the same numbers from posenc/inline and posenc/module', () => {
    const inline = example().code.replace("'posenc'", "'posenc/inline'");
    writeFileSync(join(folder, 'inline.js'), inline);
    expect(run(folder, 'node', ['inline.js'])).toBe(output);
    const module = example()
      .code.replace("'posenc'", "'posenc/module'")
      .replace('load()', 'load({ module })');
    const compile = `import { readFileSync } from 'node:fs';
      const file = readFileSync(new URL(import.meta.resolve('posenc/posenc.wasm')));
      const module = new WebAssembly.Module(file);\n`;
    writeFileSync(join(folder, 'module.js'), compile + module);
    expect(run(folder, 'node', ['module.js'])).toBe(output);
  });

  it('gives the same numbers from posenc/worker, and ends when there is nothing to do', () => {
    writeFileSync(join(folder, 'worker.js'), inWorker(example().code));
    expect(run(folder, 'node', ['worker.js'])).toBe(output);
  });

  it('loads the relaxed build where it can, and says where it cannot', () => {
    const code = `import { load } from 'posenc';
      const pe = await load({ build: 'relaxed' }).catch(({ code, field }) => ({ code, field }));
      console.log(pe.info?.build ?? [pe.code, pe.field].join(' '));`;
    writeFileSync(join(folder, 'relaxed.js'), code);
    const early = Number(process.versions.node.split('.')[0]) < 22;
    expect(run(folder, 'node', ['relaxed.js'])).toBe(early ? 'UNSUPPORTED build\n' : 'relaxed\n');
    const flags = early ? ['--experimental-wasm-relaxed-simd'] : [];
    expect(run(folder, 'node', [...flags, 'relaxed.js'])).toBe('relaxed\n');
  });

  it('can be required', () => {
    const code = `const { load } = require('posenc');
      load().then((pe) => console.log(pe.encodings.length > 0));`;
    writeFileSync(join(folder, 'required.cjs'), code);
    expect(run(folder, 'node', ['--no-warnings', 'required.cjs'])).toBe('true\n');
  });

  it('has types that compile strictly, without skipping libraries', () => {
    const code = `import { load, PosencError, type Tensor } from 'posenc';
      import { load as inline } from 'posenc/inline';
      import { load as module } from 'posenc/module';
      import { load as worker, type RemoteEncoding } from 'posenc/worker';
      const pe = await load();
      const rope = pe.encoding('rope', { headDim: 8 });
      export const turned: Tensor = rope.rotate({ data: new Float32Array(8), shape: [1, 8] });
      const remote = await worker({ workers: 2 });
      export const far: RemoteEncoding<'rope'> = await remote.encoding('rope', { headDim: 8 });
      export const same: Tensor = await far.rotate(turned, [5], { role: 'key' }, { transfer: true });
      export const all = [inline, module, PosencError];\n`;
    writeFileSync(join(folder, 'typed.ts'), code);
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const options = [
      '--strict',
      '--noEmit',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--types',
      '[]',
    ];
    for (const mode of [
      ['--module', 'nodenext'],
      ['--module', 'esnext', '--moduleResolution', 'bundler'],
    ])
      expect(run(folder, 'node', [tsc, ...options.slice(0, -2), ...mode, 'typed.ts'])).toBe('');
  });
});

/** The example with calls that are awaited. */
const inWorker = (code: string, entry = 'posenc/worker') =>
  code
    .replace("'posenc'", `'${entry}'`)
    .replace(/\bpe\.|\brope\.rotate/g, 'await $&')
    .replace(/(await rope\.rotate\([^)]*\))\.data/g, '($1).data');

/** The folder to serve. */
function bundle(how: string, site: string): string {
  if (how === 'unbundled') return site;
  const vite = [join(root, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'warn'];
  const webpack = pathToFileURL(join(root, 'node_modules/webpack/lib/index.js')).href;
  if (how === 'vite') run(site, 'node', vite);
  else run(site, 'node', ['build.mjs'], { WEBPACK: webpack });
  return how === 'vite' ? join(site, 'dist') : site;
}

describe('in a page under a strict policy', () => {
  async function expectNumbers(site: string) {
    const { text, complaints } = await show(site);
    expect([complaints, text]).toEqual([[], example().output]);
  }

  it.each(['vite', 'webpack'])('built by %s', async (how) => {
    const site = fresh(how);
    const served = bundle(how, site);
    const modules = filesOf(site).filter(
      (name) => name.endsWith('.wasm') && !name.startsWith('node_modules'),
    );
    expect(modules).toHaveLength(2);
    await expectNumbers(served);
  });

  it.each(['vite', 'webpack', 'unbundled'])('in a worker, with %s', async (how) => {
    const site = fresh(how);
    const entry = how === 'unbundled' ? './posenc/worker.js' : 'posenc/worker';
    writeFileSync(join(site, 'example.js'), inWorker(example().code, entry));
    if (how === 'unbundled')
      cpSync(join(site, 'node_modules/posenc/dist'), join(site, 'posenc'), { recursive: true });
    const served = bundle(how, site);
    const { text, complaints, requests } = await show(served, undefined);
    expect([complaints, text]).toEqual([[], example().output]);
    // The other build is there for those who ask for it.
    const modules = requests.filter((address) => address.includes('.wasm'));
    expect(modules).toHaveLength(1);
    expect(modules[0]).not.toContain('relaxed');
  });

  it('served as it is, without a bundler', async () => {
    const site = fresh('unbundled');
    const code = example().code.replace("'posenc'", "'./posenc/index.js'");
    writeFileSync(join(site, 'example.js'), code);
    cpSync(join(site, 'node_modules/posenc/dist'), join(site, 'posenc'), { recursive: true });
    await expectNumbers(site);
  });

  it('from the single file of posenc/inline', async () => {
    const site = fresh('unbundled');
    const code = example().code.replace("'posenc'", "'./inline.js'");
    writeFileSync(join(site, 'example.js'), code);
    cpSync(join(site, 'node_modules/posenc/dist/inline.js'), join(site, 'inline.js'));
    await expectNumbers(site);
  });

  it.each([
    [
      'CSP_BLOCKED',
      "default-src 'none'; script-src 'self'; connect-src 'self'",
      /'wasm-unsafe-eval'/,
    ],
    ['FETCH_BLOCKED', "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'", /connect-src/],
  ])('says what a policy forbids: %s', async (code, policy, says) => {
    const site = fresh('unbundled');
    const lines = example().output.trim().split('\n').length;
    const report = `import { load } from './posenc/index.js';
      await load().catch((error) => console.log(error.kind, error.code, error.message));
      for (let i = 1; i < ${lines}; ++i) console.log('');\n`;
    writeFileSync(join(site, 'example.js'), report);
    cpSync(join(site, 'node_modules/posenc/dist'), join(site, 'posenc'), { recursive: true });
    const { text } = await show(site, policy);
    expect(text).toContain(`init ${code} load: `);
    expect(text).toMatch(says);
  });
});
