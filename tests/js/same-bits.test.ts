// SPDX-License-Identifier: Apache-2.0
/** The deterministic build gives the same bits in every engine; the relaxed one stays near them. */

import { load, PosencError } from 'posenc';
import { load as loadInline } from 'posenc/inline';
import { load as loadModule } from 'posenc/module';
import { load as loadWorker } from 'posenc/worker';
import { describe, expect, it } from 'vitest';
import { committed, digest, results } from '../support/same-bits.mjs';
import { expectGoldenAnswer, inNode, pe } from './support/instance.ts';

describe('the deterministic build', () => {
  it('gives the bits that are committed', async () => {
    expect(await digest(pe)).toEqual({ made: expect.any(Number), hash: committed });
  });
});

describe('the relaxed build', () => {
  it('differs from the other by no more than rounding does', async () => {
    const relaxed = await load({ build: 'relaxed', fresh: true });
    expect(relaxed.info.build).toBe('relaxed');
    expectGoldenAnswer(relaxed);
    const others = results(relaxed);
    let different = 0;
    for (const [name, { data }] of results(pe)) {
      const other = others.next().value?.[1].data as Float32Array;
      // One rounding less in each of the sums of some hundred products: 5e-7 of the largest was seen.
      const largest = (of: (x: number, i: number) => number) =>
        data.reduce((max, x, i) => Math.max(max, of(x, i)), 0);
      const off = largest((x, i) => (x === other[i] ? 0 : Math.abs(x - other[i])));
      const most = Math.max(1, largest(Math.abs));
      expect(off, name).toBeLessThanOrEqual(1e-6 * most);
      if (off > 0) ++different;
    }
    // Or it would not be the other build.
    expect(different).toBeGreaterThan(10);
  });

  it('can be brought, and is told from the other', async () => {
    const url = new URL('../../dist/posenc-relaxed.wasm', import.meta.url);
    const brought = await load({ url, build: 'relaxed', fresh: true });
    expect(brought.info.build).toBe('relaxed');
    const standard = new URL('../../dist/posenc.wasm', import.meta.url);
    const other = load({ url: standard, build: 'relaxed', fresh: true });
    await expect(other).rejects.toMatchObject({ code: 'OPTION_NOT_APPLICABLE', field: 'build' });
    const module = await WebAssembly.compile(await bytesOf(url));
    const given = await loadModule({ module, fresh: true });
    expect(given.info.build).toBe('relaxed');
    const asked = loadModule({ module, build: 'simd', fresh: true });
    await expect(asked).rejects.toMatchObject({ code: 'OPTION_NOT_APPLICABLE', field: 'build' });
    await expect(load({ build: 'relaxed' })).rejects.toMatchObject({ code: 'ALREADY_LOADED' });
    expect(await load({ build: 'simd' })).toBe(pe);
    // What counts is the build that was brought, asked for or not.
    const shared = await loadModule({ module });
    expect(await loadModule({ module, build: 'relaxed' })).toBe(shared);
    await expect(loadModule({ build: 'simd' })).rejects.toMatchObject({
      code: 'ALREADY_LOADED',
      field: 'build',
    });
    shared.dispose();
  });

  it('computes in workers', async () => {
    const relaxed = await loadWorker({ build: 'relaxed', fresh: true });
    expect(relaxed.info.build).toBe('relaxed');
    relaxed.dispose();
  });

  it('is refused where it is not to be had', async () => {
    const refusal = { code: 'UNSUPPORTED', kind: 'argument', field: 'build' };
    const inline = loadInline({ build: 'relaxed', fresh: true });
    await expect(inline).rejects.toMatchObject({
      ...refusal,
      message: expect.stringMatching(/url, bytes or module/),
    });
    const { validate } = WebAssembly;
    // The probe for SIMD is the shorter one.
    WebAssembly.validate = (bytes) => bytes.byteLength !== 35 && validate(bytes);
    try {
      const error = await load({ build: 'relaxed', fresh: true }).catch((reason) => reason);
      expect(error).toBeInstanceOf(PosencError);
      expect(error).toMatchObject({
        ...refusal,
        message: expect.stringMatching(/--experimental-wasm-relaxed-simd/),
      });
      expect((await load({ build: 'auto', fresh: true })).info.build).toBe('simd');
    } finally {
      WebAssembly.validate = validate;
    }
  });
});

async function bytesOf(url: URL): Promise<BufferSource> {
  if (!inNode) return (await fetch(url)).arrayBuffer();
  const { readFile } = await import('node:fs/promises');
  return readFile(url);
}
