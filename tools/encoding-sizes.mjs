// SPDX-License-Identifier: Apache-2.0
// What each encoding adds to the WebAssembly module. Usage: node tools/encoding-sizes.mjs, after ./run build.
// Links the module once more with the names of its functions, and gives each function to the encoding in whose name it
// is. "brotli" is by how much the code of all functions shrinks without those of one encoding, compressed together as it
// is delivered; code that several share, constants and tables of functions count for none of them.
import { execSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';

const build = resolve(process.argv[2] ?? 'build/wasm');
const source = new URL('../src/posenc/encodings/', import.meta.url);

/** The classes of each id: that of the header, and the schedule that it turns by. */
function classes() {
  const found = new Map();
  for (const name of readdirSync(source, { recursive: true })) {
    if (!name.endsWith('.hpp')) continue;
    const text = readFileSync(new URL(name, source), 'utf8');
    const id = /\.id = "([^"]+)"/.exec(text)?.[1];
    if (id === undefined) continue;
    const names = [...text.matchAll(/^(?:class|struct) (\w+)|^using (\w+) =/gm)];
    for (const [, a, b] of names) found.set(a ?? b, id);
  }
  return found;
}

/** The module with names, from the very command that linked it. */
function named() {
  const folder = mkdtempSync(join(tmpdir(), 'posenc-'));
  const command = execSync(`ninja -C "${build}" -t commands posenc_wasm`, { encoding: 'utf8' })
    .trim()
    .split('\n')
    .at(-1)
    .replace(/-o posenc\.mjs/, `--profiling-funcs -o "${join(folder, 'posenc.mjs')}"`);
  try {
    execSync(command, { cwd: build, stdio: ['ignore', 'ignore', 'inherit'] });
    return readFileSync(join(folder, 'posenc.wasm'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The body of each function with its name. */
function functions(wasm) {
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = wasm[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const text = () => {
    const length = number();
    at += length;
    return wasm.toString('utf8', at - length, at);
  };
  let imported = 0;
  const bodies = [];
  const names = new Map();
  while (at < wasm.length) {
    const kind = wasm[at++];
    const size = number();
    const end = at + size;
    if (kind === 2)
      for (let left = number(); left > 0; --left) {
        text();
        text();
        const what = wasm[at++];
        if (what !== 0) throw new Error('only functions should be imported: memory is our own');
        imported += 1;
        number();
      }
    else if (kind === 10)
      for (let left = number(); left > 0; --left) {
        const length = number();
        bodies.push(wasm.subarray(at, at + length));
        at += length;
      }
    else if (kind === 0 && text() === 'name')
      while (at < end) {
        const part = wasm[at++];
        const stop = number() + at;
        if (part === 1) for (let left = number(); left > 0; --left) names.set(number(), text());
        at = stop;
      }
    at = end;
  }
  return bodies.map((body, i) => ({ body, name: names.get(imported + i) ?? '' }));
}

const idOf = classes();
const all = functions(named()).map(({ body, name }) => {
  const ids = new Set(
    [...name.matchAll(/\w+/g)].map(([word]) => idOf.get(word)).filter((id) => id !== undefined),
  );
  return { body, id: ids.size === 1 ? [...ids][0] : undefined };
});
const brotli = (some) => brotliCompressSync(Buffer.concat(some.map(({ body }) => body))).length;
const raw = (some) => some.reduce((sum, { body }) => sum + body.length, 0);
const whole = brotli(all);
const rows = [...new Set(idOf.values())].map((id) => {
  const own = all.filter((one) => one.id === id);
  return { id, raw: raw(own), brotli: whole - brotli(all.filter((one) => one.id !== id)) };
});
rows.sort((a, b) => b.brotli - a.brotli);
const shared = all.filter(({ id }) => id === undefined);
const print = (name, a, b) =>
  console.log(name.padEnd(22) + String(a).padStart(9) + String(b).padStart(9));
print('bytes', 'raw', 'brotli');
for (const one of rows) print(one.id, one.raw, one.brotli);
print('what all share', raw(shared), brotli(shared));
print('all code', raw(all), whole);
