// SPDX-License-Identifier: Apache-2.0
/** What small calls share instead of allocating: up to what size, and that no bit shows it. */

import { describe, expect, it } from 'vitest';
import { Engine } from '../../dist/engine.js';
import factory from '../../dist/posenc.mjs';
import { inNode, pe } from './support/instance.ts';
import { expectSame, randomTensor } from './support/numbers.ts';

const size = 1024;

async function bytes(): Promise<BufferSource> {
  const url = new URL('../../dist/posenc.wasm', import.meta.url);
  if (!inNode) return (await fetch(url)).arrayBuffer();
  const { readFileSync } = await import('node:fs');
  return new Uint8Array(readFileSync(url));
}
const module = await WebAssembly.compile(await bytes());
const raw = await factory({
  instantiateWasm(imports, done) {
    void WebAssembly.instantiate(module, imports).then((one) => done(one, module));
    return {};
  },
});

describe('the block that small calls share', () => {
  it('has 1024 bytes, aligned for vectors', () => {
    const shared = raw.sharedBlock(size);
    expect(shared).toBeGreaterThan(0);
    expect(shared % 16).toBe(0);
    for (const bytes of [0, 1, size - 1]) expect(raw.sharedBlock(bytes)).toBe(shared);
    for (const bytes of [size + 1, 2 ** 31 - 1]) expect(raw.sharedBlock(bytes)).toBe(0);
  });

  it('is lent for that and less, and what is more is allocated and given back', () => {
    const engine = new Engine(raw);
    const shared = raw.sharedBlock(size);
    const before = engine.memory;
    for (const bytes of [0, 1, size - 1, size]) {
      expect(engine.borrow('test', bytes)).toBe(shared);
      engine.handBack(shared, bytes);
      expect(engine.memory).toEqual(before);
    }
    const own = engine.borrow('test', size + 1);
    expect(own).not.toBe(shared);
    expect(engine.memory).toMatchObject({
      live: before.live + 1,
      liveBytes: before.liveBytes + size + 1,
    });
    engine.handBack(own, size + 1);
    expect(engine.memory).toMatchObject({ live: before.live, liveBytes: before.liveBytes });
  });

  it('shows in no bit: rows come out as they do alone', () => {
    using rope = pe.encoding('rope', { headDim: 4 });
    // 16 bytes a row, 8 more for its position: 1008 bytes are 42 rows.
    for (let n = 40; n <= 46; ++n) {
      const x = randomTensor([n, 4], n);
      const places = Float64Array.from({ length: n }, (_, i) => 3 * i + n);
      const { live, liveBytes } = pe.info.memory();
      const turned = rope.rotate(x, places).data;
      expect(pe.info.memory()).toMatchObject({ live, liveBytes });
      for (let row = 0; row < n; ++row)
        expectSame(
          turned.slice(4 * row, 4 * row + 4),
          rope.rotate(
            { shape: [1, 4], data: x.data.slice(4 * row, 4 * row + 4) },
            places.slice(row, row + 1),
          ).data,
        );
    }
  });
});
