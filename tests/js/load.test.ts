// SPDX-License-Identifier: Apache-2.0
/** Loading: one shared instance, separate ones, and every way the module can be wrong. */

import { load, PosencError, type PosencErrorCode } from 'posenc';
import { PosencError as InlineError, load as loadInline } from 'posenc/inline';
import { load as loadModule } from 'posenc/module';
import { describe, expect, it } from 'vitest';
import { abiVersion } from '../../bindings/js/raw.ts';
import { anyEncoding, expectGoldenAnswer, inNode, pe } from './support/instance.ts';
import { loadTrappable } from './support/trap.ts';

async function readWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const url = new URL('../../dist/posenc.wasm', import.meta.url);
  if (!inNode) return new Uint8Array(await (await fetch(url)).arrayBuffer());
  const { readFileSync } = await import('node:fs');
  return new Uint8Array(readFileSync(url));
}

const wasm = await readWasm();

async function expectInitError(promise: Promise<unknown>, code: PosencErrorCode, says: RegExp) {
  const error = await promise.then(
    () => new Error('loading was expected to fail'),
    (reason: unknown) => reason,
  );
  expect(error, String(error)).toBeInstanceOf(PosencError);
  const { kind, message } = error as PosencError;
  expect((error as PosencError).code, message).toBe(code);
  expect(kind).toBe('init');
  expect(message).toMatch(says);
  // A failure must not stick.
  expectGoldenAnswer(await load());
}

describe('load', () => {
  it('gives one instance to everyone who asks', async () => {
    const all = await Promise.all(Array.from({ length: 1000 }, () => load()));
    expect(new Set(all).size).toBe(1);
    expect(all[0]).toBe(pe);
  });

  it('gives a separate instance with a memory of its own when asked', async () => {
    const other = await load({ fresh: true });
    expect(other).not.toBe(pe);
    const before = pe.info.memory();
    other.tensor([1000]);
    expect(other.info.memory().liveBytes).toBeGreaterThanOrEqual(4000);
    expect(pe.info.memory()).toEqual(before);
    expectGoldenAnswer(other);
    other.dispose();
  });

  it('takes the bytes, a view of them, or a compiled module', async () => {
    const padded = new Uint8Array(wasm.length + 16);
    padded.set(wasm, 8);
    const sources = [
      { bytes: wasm },
      { bytes: wasm.buffer },
      { bytes: padded.subarray(8, 8 + wasm.length) },
      { module: await WebAssembly.compile(wasm) },
    ];
    for (const source of sources) expectGoldenAnswer(await load({ ...source, fresh: true }));
  });

  it('takes a URL', async () => {
    const url = new URL('../../dist/posenc.wasm', import.meta.url);
    expectGoldenAnswer(await load({ url, fresh: true }));
    const here = await load({ url: url.href, fresh: true });
    expectGoldenAnswer(here);
    expect(here.info.loading).toBe(inNode ? 'file' : 'fetch');
  });

  it.runIf(inNode)(
    'says how the content of a URL came (in browsers, skipped: only Node also reads files)',
    async () => {
      const data = `data:application/wasm;base64,${Buffer.from(wasm).toString('base64')}`;
      for (const from of [load, loadInline])
        expect((await from({ url: data, fresh: true })).info.loading).toBe('fetch');
    },
  );

  it('forgets a failure, so that trying again can succeed', async () => {
    await expect(loadModule()).rejects.toMatchObject({ code: 'MISSING_OPTION' });
    // The entries that are not one file know the same error.
    await expect(loadModule()).rejects.toBeInstanceOf(PosencError);
    const module = await WebAssembly.compile(wasm);
    const foreign = await WebAssembly.compile(wasm.slice(0, 8));
    // Those who ask for something else while a load fails are not told of its failure.
    const [failed, first, alike] = await Promise.all(
      [foreign, module, foreign].map((one) => loadModule({ module: one }).catch((error) => error)),
    );
    for (const error of [failed, alike]) expect(error).toMatchObject({ code: 'VERSION_MISMATCH' });
    expect(await loadModule()).toBe(first);
    // Nor are those who ask for nothing in particular.
    const [other, own] = await Promise.allSettled([loadInline({ module: foreign }), loadInline()]);
    expect(other).toMatchObject({ status: 'rejected', reason: { code: 'VERSION_MISMATCH' } });
    expect(own.status).toBe('fulfilled');
    first.dispose();
    expectGoldenAnswer(await loadModule({ module }));
  });

  it('has an entry with everything inside, and one that is given a module', async () => {
    const inline = await loadInline();
    expect(inline.info.loading).toBe('inline');
    expectGoldenAnswer(inline);
    const compiled = await WebAssembly.compile(wasm);
    const module = await loadModule({ module: compiled, fresh: true });
    expect(module.info.loading).toBe('module');
    expectGoldenAnswer(module);
    await expect(loadModule({ fresh: true })).rejects.toMatchObject({ code: 'MISSING_OPTION' });
    await expect(loadModule({ url: 'x', fresh: true })).rejects.toMatchObject({
      code: 'OPTION_NOT_APPLICABLE',
    });
  });

  it('has one kind of error, whichever entry it comes from', async () => {
    const inline = await loadInline();
    const errors = [pe, inline].map((one) => {
      try {
        return one.encoding('rope', { headDim: 3 });
      } catch (error) {
        return error;
      }
    });
    expect(PosencError).not.toBe(InlineError);
    class Mine extends PosencError {}
    const mine = new Mine({ code: 'INTERNAL', message: 'mine' });
    for (const Class of [PosencError, InlineError])
      for (const error of [...errors, mine]) expect(error instanceof Class).toBe(true);
    expect(errors.map((error) => error instanceof Mine)).toEqual([false, false]);
    expect(mine instanceof Mine).toBe(true);
    for (const other of [new Error('other'), {}, null, undefined, 'PosencError'])
      expect((other as unknown) instanceof PosencError).toBe(false);
  });

  it('says what is loaded', () => {
    const { version, build, memory } = pe.info;
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(build).toBe('simd');
    const use = memory();
    expect(use.heapBytes % 65536).toBe(0);
    expect(use.bytes).toBe(use.liveBytes);
    expect(use.peakBytes).toBeGreaterThanOrEqual(use.liveBytes);
  });

  it('refuses other options once loaded', async () => {
    await expectInitError(load({ bytes: wasm }), 'ALREADY_LOADED', /bytes.*fresh/);
    await expectInitError(load({ url: 'https://other.example/x.wasm' }), 'ALREADY_LOADED', /url/);
  });

  it('refuses options that it does not have', async () => {
    const refused: [unknown, string][] = [
      [{ build: 'fast' }, 'OUT_OF_RANGE'],
      [{ bild: 'simd' }, 'UNKNOWN_OPTION'],
      [{ fresh: 1 }, 'WRONG_TYPE'],
      [{ bytes: 'AGFzbQ==' }, 'WRONG_TYPE'],
      [{ module: {} }, 'WRONG_TYPE'],
      [{ url: 42 }, 'WRONG_TYPE'],
      [{ url: 'x', bytes: wasm }, 'OPTION_NOT_APPLICABLE'],
      ['fast', 'WRONG_TYPE'],
      [null, 'WRONG_TYPE'],
    ];
    for (const [options, code] of refused)
      await expect(load(options as object), JSON.stringify(options)).rejects.toMatchObject({
        code,
      });
  });
});

describe('a module that is not ours', () => {
  const bytesOf = (text: string) => new TextEncoder().encode(text);

  it('recognises a web page', async () => {
    const bytes = bytesOf('<!doctype html><title>Not found</title>');
    await expectInitError(load({ bytes, fresh: true }), 'NOT_WASM', /web page was served/);
  });

  it('recognises something else, and nothing', async () => {
    const other = load({ bytes: bytesOf('PK\u0003\u0004'), fresh: true });
    await expectInitError(other, 'NOT_WASM', /not a whole posenc\.wasm: 4 bytes/);
    await expectInitError(load({ bytes: new Uint8Array(0), fresh: true }), 'NOT_WASM', /0 bytes/);
  });

  it('recognises a truncated and a damaged file', async () => {
    const half = wasm.slice(0, wasm.length >> 1);
    await expectInitError(load({ bytes: half, fresh: true }), 'NOT_WASM', /not a whole/);
    const damaged = wasm.slice();
    damaged.fill(0xff, 64, 128);
    await expectInitError(load({ bytes: damaged, fresh: true }), 'NOT_WASM', /not a whole/);
  });

  it('recognises a module of another release', async () => {
    const empty = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
    await expectInitError(load({ bytes: empty, fresh: true }), 'VERSION_MISMATCH', /same release/);
  });

  it('recognises a module of an older release, before it calls what that has not', async () => {
    // A function without arguments whose body is the number of the interface, and an older one.
    const body = [4, 0, 0x41, abiVersion, 0x0b];
    const older = wasm.slice();
    for (let at = 0; at < older.length; ++at)
      if (body.every((byte, i) => wasm[at + i] === byte)) older[at + 3] = abiVersion - 1;
    const found = new RegExp(`interface ${abiVersion - 1}, needed is ${abiVersion}`);
    await expectInitError(load({ bytes: older, fresh: true }), 'VERSION_MISMATCH', found);
  });

  it('says which file could not be had', async () => {
    const url = new URL('./no-such-file.wasm', import.meta.url);
    const failed = load({ url, fresh: true });
    // The development server of the browser run answers unknown addresses with a page.
    await expect(failed).rejects.toMatchObject({
      code: inNode ? 'FETCH_FAILED' : expect.stringMatching(/FETCH_FAILED|NOT_WASM/),
      message: expect.stringContaining('no-such-file'),
    });
    await expect(load({ url: 'http://localhost:1/x.wasm', fresh: true })).rejects.toMatchObject({
      code: 'FETCH_FAILED',
    });
  });
});

describe('a host that lacks something', () => {
  /** Changes a property of the host while `call` runs. */
  async function without<T>(object: object, name: string, value: unknown, call: () => Promise<T>) {
    const before = Object.getOwnPropertyDescriptor(object, name) as PropertyDescriptor;
    Object.defineProperty(object, name, { ...before, value });
    try {
      return await call();
    } finally {
      Object.defineProperty(object, name, before);
    }
  }
  const refusing = (reason: string) => () => Promise.reject(new WebAssembly.CompileError(reason));
  const start = () => load({ bytes: wasm, fresh: true }).then(String, (error: unknown) => error);

  it.each([
    ['NO_WASM', globalThis, 'WebAssembly', undefined, /no WebAssembly: .*Safari/],
    ['NO_SIMD', WebAssembly, 'validate', () => false, /SIMD.*Chrome 91/],
    [
      'COMPILE_FORBIDDEN',
      WebAssembly,
      'compile',
      refusing('Wasm code generation disallowed by embedder'),
      /posenc\/module/,
    ],
    [
      'CSP_BLOCKED',
      WebAssembly,
      'compile',
      refusing('blocked by CSP'),
      /'wasm-unsafe-eval' to script-src/,
    ],
  ])('says so: %s', async (code, object, name, value, says) => {
    const error = await without(object, name, value, start);
    expect(error).toMatchObject({ code, kind: 'init', message: expect.stringMatching(says) });
    expectGoldenAnswer(await load({ bytes: wasm, fresh: true }));
  });

  it.runIf(inNode)(
    'reads files where modules cannot be asked of the process (in browsers, skipped: a way of Node)',
    async () => {
      const call = () => load({ fresh: true });
      expectGoldenAnswer(await without(process, 'getBuiltinModule', undefined, call));
    },
  );

  it('says that a file may be the build for others', async () => {
    const { validate } = WebAssembly;
    const compile = refusing('invalid numeric opcode 0xfd105');
    // The probe for relaxed SIMD is the longer one.
    const simdOnly = (bytes: BufferSource) => bytes.byteLength !== 35 && validate(bytes);
    const call = () => without(WebAssembly, 'compile', compile, start);
    const error = await without(WebAssembly, 'validate', simdOnly, call);
    expect(error).toMatchObject({ code: 'NOT_WASM', message: expect.stringMatching(/relaxed/) });
  });
});

describe('an instance', () => {
  it('stays dead after a trap, and a fresh one works', async () => {
    const { pe: victim, arm } = await loadTrappable(wasm);
    expectGoldenAnswer(victim);
    const rope = victim.encoding('rope', { headDim: 4 });
    const owned = victim.tensor([2, 4]);
    arm();
    expect(() => victim.tensor([4])).toThrow(
      expect.objectContaining({ code: 'TRAP', kind: 'internal' }),
    );
    const dead = expect.objectContaining({ code: 'INSTANCE_DEAD', kind: 'state' });
    const x = { data: new Float32Array(4), shape: [1, 4] };
    const calls = [
      () => rope.rotate(x),
      () => victim.attention(x, x, x),
      () => victim.encoding('none'),
      () => victim.tensor([1]),
      () => owned.data,
    ];
    for (const call of calls) expect(call).toThrow(dead);
    rope.dispose();
    owned.dispose();
    expectGoldenAnswer(await load({ fresh: true }));
  });

  it('can be disposed of; what it made says so', async () => {
    const one = await load({ fresh: true });
    const owned = one.tensor([4]);
    const rope = anyEncoding(one, 'rope', { headDim: 4 });
    one.dispose();
    one.dispose();
    const gone = expect.objectContaining({ code: 'DISPOSED' });
    expect(() => owned.data).toThrow(gone);
    expect(() => rope.plan()).toThrow(gone);
    expect(() => one.tensor([1])).toThrow(gone);
    expect(one.info.memory().heapBytes).toBe(0);
    owned.dispose();
  });
});
