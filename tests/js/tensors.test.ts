// SPDX-License-Identifier: Apache-2.0
/** Tensors in every accepted form, tensors in the module's memory, and where results go. */

import type { Tensor, TensorInput } from 'posenc';
import { load } from 'posenc';
import { describe, expect, it } from 'vitest';
import { resizable } from './support/buffers.ts';
import { expectRefusal } from './support/failure.ts';
import { inNode, pe } from './support/instance.ts';
import { expectSame, randomTensor, tensor } from './support/numbers.ts';
import { collected } from './support/patience.ts';

const rope = pe.encoding('rope', { headDim: 4 });
const x = randomTensor([2, 3, 4], 7);
const turned = rope.rotate(x);

describe('forms of a tensor', () => {
  it('reads the tensors of other libraries', () => {
    const forms: TensorInput[] = [
      { data: x.data, shape: x.shape },
      { data: x.data, dims: x.shape },
      { data: Array.from(x.data), dims: x.shape },
      { data: Float64Array.from(x.data), dims: x.shape },
      { shape: x.shape, dataSync: () => x.data },
      { shape: x.shape, dtype: 'float32', dataSync: () => x.data } as TensorInput,
      { data: x.data, dims: x.shape, type: 'float32', location: 'cpu' } as TensorInput,
    ];
    for (const form of forms) expectSame(rope.rotate(form).data, turned.data);
  });

  it('reads numbers of every width, by either name of the shape', () => {
    const whole = [0, 1, 2, 3, 100, 50, 25, 12];
    const shape = [2, 4];
    const want = rope.rotate(tensor(shape, whole)).data;
    interface Kind {
      from(values: readonly number[]): ArrayLike<number>;
    }
    const kinds: readonly Kind[] = [
      Array,
      Float32Array,
      Float64Array,
      Int8Array,
      Int16Array,
      Int32Array,
      Uint8Array,
      Uint8ClampedArray,
      Uint16Array,
      Uint32Array,
    ];
    for (const kind of kinds) {
      const data = kind.from(whole);
      const forms = [
        { data, shape },
        { data, dims: shape },
        { shape, dataSync: () => data },
      ];
      for (const form of forms) expectSame(rope.rotate(form).data, want);
      expectSame(data, whole);
      const learned = pe.encoding('learned', { table: { data, shape } });
      expectSame(learned.table([1]).data, whole.slice(4));
      const slopes = kind.from([1, 2]);
      const alibi = pe.encoding('alibi', { heads: 2, slopes });
      expectSame(alibi.bias([1], [0]).data, [-1, -2]);
    }
    // Rounded once: a double goes to single precision and an integer of 25 bits to even.
    const rounded = { data: Int32Array.of(2 ** 24 + 1, 0, 0, 0), shape: [1, 4] };
    expect(rope.rotate(rounded).data[0]).toBe(2 ** 24);
    const typed = { data: Int32Array.from(whole), dims: shape, type: 'int32' };
    expectSame(rope.rotate(typed as TensorInput).data, want);
  });

  it('reads a part of a buffer, a shared buffer, a subclass and a growing buffer', () => {
    const wide = new Float32Array(40);
    wide.set(x.data, 5);
    expectSame(rope.rotate({ data: wide.subarray(5, 29), shape: x.shape }).data, turned.data);
    if (typeof SharedArrayBuffer === 'function') {
      const shared = new Float32Array(new SharedArrayBuffer(96));
      shared.set(x.data);
      expectSame(rope.rotate({ data: shared, shape: x.shape }).data, turned.data);
    }
    class Mine extends Float32Array {}
    expectSame(rope.rotate({ data: Mine.from(x.data), shape: x.shape }).data, turned.data);
    const growing = new Float32Array(resizable(96, 960), 0, 24);
    growing.set(x.data);
    growing.buffer.resize(960);
    expectSame(rope.rotate({ data: growing, shape: x.shape }).data, turned.data);
  });

  it('reads each property once', () => {
    const reads: Record<string, number> = {};
    const watched = new Proxy({ data: x.data, shape: [...x.shape] } as Record<string, unknown>, {
      get(target, name) {
        reads[String(name)] = (reads[String(name)] ?? 0) + 1;
        return target[String(name)];
      },
    });
    expectSame(rope.rotate(watched as unknown as TensorInput).data, turned.data);
    expect(reads.data).toBe(1);
    expect(reads.shape).toBe(1);
    let given = 0;
    const changing = {
      get data() {
        given += 1;
        return given === 1 ? x.data : new Float32Array(1);
      },
      shape: x.shape,
    };
    expectSame(rope.rotate(changing).data, turned.data);
  });

  it('lets an error of a getter through, unchanged', () => {
    const mine = new Error('mine');
    const broken = {
      get data(): Float32Array {
        throw mine;
      },
      shape: [1, 4],
    };
    expect(() => rope.rotate(broken)).toThrow(mine);
  });

  it('is not misled by patched prototypes', () => {
    const { set } = Float32Array.prototype;
    const typedArray = Object.getPrototypeOf(Float32Array.prototype) as object;
    const length = Object.getOwnPropertyDescriptor(typedArray, 'length') as PropertyDescriptor;
    let result: Tensor;
    Float32Array.prototype.set = () => {};
    Object.defineProperty(typedArray, 'length', { ...length, get: () => 0 });
    try {
      result = rope.rotate(x);
    } finally {
      Float32Array.prototype.set = set;
      Object.defineProperty(typedArray, 'length', length);
    }
    expectSame(result.data, turned.data);
  });

  it('never changes its inputs, and gives fresh results', () => {
    const before = Float32Array.from(x.data);
    const one = rope.rotate(x);
    expectSame(x.data, before);
    expect(one.data.buffer).not.toBe(rope.rotate(x).data.buffer);
  });

  it('has empty tensors', () => {
    expect(rope.rotate(tensor([2, 0, 4], [])).shape).toEqual([2, 0, 4]);
    expect(rope.rotate(tensor([0, 3, 4], [])).data.length).toBe(0);
    const q = tensor([1, 2, 0, 4], []);
    const k = tensor([1, 2, 5, 4], new Array(40).fill(0));
    expect(pe.attention(q, k, k).output.shape).toEqual([1, 2, 0, 4]);
    const none = tensor([1, 2, 0, 4], []);
    const some = tensor([1, 2, 3, 4], new Array(24).fill(1));
    const { output, logSumExp } = pe.attention(some, none, none, { logSumExp: true });
    expectSame(output.data, new Array(24).fill(0));
    expectSame(logSumExp?.data ?? [], new Array(6).fill(-Infinity));
    expect(
      pe.attention(tensor([0, 2, 3, 4], []), tensor([0, 2, 3, 4], []), tensor([0, 2, 3, 4], []))
        .output.shape,
    ).toEqual([0, 2, 3, 4]);
    const flat = tensor([1, 1, 2, 0], []);
    expect(
      pe.attention(flat, flat, tensor([1, 1, 2, 3], [1, 2, 3, 3, 4, 5])).output.data.length,
    ).toBe(6);
  });
});

describe('owned tensors', () => {
  it('are zeros, or what they are given', () => {
    const zeros = pe.tensor([2, 3]);
    expectSame(zeros.data, new Array(6).fill(0));
    const filled = pe.tensor([3], [1, 2.5, -3]);
    expectSame(filled.data, [1, 2.5, -3]);
    expectSame(pe.tensor([2], Int16Array.of(4, 5)).data, [4, 5]);
    expect(filled.data.byteOffset % 16).toBe(0);
    expect(zeros.shape).toEqual([2, 3]);
    zeros.dispose();
    filled.dispose();
  });

  it('are read and written in place', () => {
    const input = pe.tensor(x.shape, x.data);
    const out = pe.tensor(x.shape);
    expect(rope.rotate(input, undefined, { out })).toBe(out);
    expectSame(out.data, turned.data);
    expectSame(input.data, x.data);
    expect(rope.rotate(input, undefined, { out: input })).toBe(input);
    expectSame(input.data, turned.data);
    const result = pe.attention(x, x, x, { out });
    expect(result.output).toBe(out);
    expectSame(out.data, pe.attention(x, x, x).output.data);
    input.dispose();
    out.dispose();
  });

  it('keep their content when memory grows', async () => {
    const own = await load({ fresh: true });
    const small = own.tensor([4], [1, 2, 3, 4]);
    const stale = small.data;
    const heap = own.info.memory().heapBytes;
    const big = own.tensor([heap / 4]);
    expect(own.info.memory().heapBytes).toBeGreaterThan(heap);
    expect(stale.length).toBe(0);
    expectSame(small.data, [1, 2, 3, 4]);
    const encoding = own.encoding('rope', { headDim: 4 });
    expectRefusal(
      () => encoding.rotate({ data: stale, shape: [1, 4] }),
      { code: 'STALE_VIEW', field: 'x', says: ['data again'] },
      own,
    );
    big.dispose();
    own.dispose();
  });

  it('can be passed as a view, also when the call makes memory grow', async () => {
    const own = await load({ fresh: true });
    const encoding = own.encoding('rope', { headDim: 4 });
    const small = own.tensor([2, 4], [1, 2, 3, 4, 5, 6, 7, 8]);
    const want = encoding.rotate({ data: small.data, shape: [2, 4] });
    const rows = own.info.memory().heapBytes / 16;
    const big = randomTensor([rows, 4]);
    // The out tensor is a view of a memory that is replaced during the call.
    const [q, k] = [own.tensor([1, 2, 4], small.data), big];
    const out = own.tensor([1, 2, 4]);
    const view = { data: out.data, shape: [1, 2, 4] };
    const given = own.attention(
      { data: q.data, shape: [1, 2, 4] },
      { data: k.data, shape: [1, rows, 4] },
      { data: k.data, shape: [1, rows, 4] },
      { out: view },
    );
    expect(given.output).toBe(view);
    expectSame(
      out.data,
      own.attention(q, { data: k.data, shape: [1, rows, 4] }, { data: k.data, shape: [1, rows, 4] })
        .output.data,
    );
    expectSame(encoding.rotate(small).data, want.data);
    own.dispose();
  });

  it('give their memory back, once', () => {
    const before = pe.info.memory();
    const one = pe.tensor([100]);
    expect(pe.info.memory().liveBytes).toBeGreaterThan(before.liveBytes);
    one.dispose();
    one.dispose();
    expect(pe.info.memory()).toMatchObject({ live: before.live, liveBytes: before.liveBytes });
    const { dispose } = pe.tensor([1]);
    dispose();
  });

  it('work with `using`', () => {
    const before = pe.info.memory().live;
    {
      using one = pe.tensor([8]);
      using encoding = pe.encoding('rope', { headDim: 8 });
      expect(encoding.rotate({ data: one.data, shape: [1, 8] }).data.length).toBe(8);
      expect(pe.info.memory().live).toBeGreaterThan(before);
    }
    expect(pe.info.memory().live).toBe(before);
  });

  it('are not cloned into something half working', () => {
    const one = pe.tensor([1]);
    expect(() => structuredClone(one)).toThrow();
    expect(() => structuredClone(rope)).toThrow();
    expect(JSON.parse(JSON.stringify(one))).toEqual({ shape: [1] });
    expect(JSON.parse(JSON.stringify(rope))).toEqual({ id: 'rope', options: { headDim: 4 } });
    one.dispose();
  });

  it.skipIf(!inNode)(
    'are given back when they are forgotten (not in Chromium, skipped: no gc())',
    async () => {
      const { gc } = globalThis as unknown as { gc: () => void };
      const before = pe.info.memory().live;
      for (let i = 0; i < 2000; ++i) {
        pe.tensor([16]);
        pe.encoding('alibi', { heads: 4 });
      }
      const live = () => pe.info.memory().live;
      expect(await collected(gc, live, before)).toBeLessThanOrEqual(before);
    },
  );
});

describe('out', () => {
  it('takes the result and is what is returned', () => {
    const out = tensor(x.shape, new Array(24).fill(9));
    expect(rope.rotate(x, undefined, { out })).toBe(out);
    expectSame(out.data, turned.data);
  });

  it('is an option of every call that returns a tensor', () => {
    const sinusoidal = pe.encoding('sinusoidal', { dim: 4 });
    const alibi = pe.encoding('alibi', { heads: 2 });
    const calls: [readonly number[], (options?: { out: Tensor }) => Tensor][] = [
      [[3, 4], (options) => sinusoidal.table([0, 1, 5], options)],
      [[2, 3, 4], (options) => sinusoidal.embed(x, undefined, options)],
      [[2, 3, 4], (options) => rope.rotate(x, undefined, options)],
      [[2, 2, 3], (options) => alibi.bias([0, 1], [0, 1, 2], options)],
      [[2, 3, 4], (options) => pe.attention(x, x, x, options).output],
    ];
    for (const [shape, call] of calls) {
      const want = call();
      expect(want.shape).toEqual(shape);
      const owned = pe.tensor(shape, new Float32Array(want.data.length).fill(7));
      for (const out of [tensor(shape, new Float32Array(want.data.length).fill(7)), owned]) {
        expect(call({ out })).toBe(out);
        expectSame(out.data, want.data);
      }
      owned.dispose();
      const wrong = { out: tensor([1], [0]) };
      expectRefusal(() => call(wrong), { code: 'BAD_OUT', says: [`[${shape.join(', ')}]`] });
    }
  });

  it('may be the input itself where that is defined', () => {
    const both = tensor(x.shape, x.data);
    rope.rotate(both, undefined, { out: both });
    expectSame(both.data, turned.data);
  });

  it('is untouched by a call that fails', () => {
    const learned = pe.encoding('learned', { table: randomTensor([2, 4]) });
    const plain = tensor([3, 4], new Array(12).fill(9));
    const owned = pe.tensor([3, 4], new Array(12).fill(9));
    const rows = randomTensor([3, 4]);
    for (const out of [plain, owned]) {
      expectRefusal(() => learned.embed(rows, [0, 1, 2], { out }), {
        code: 'POSITION_OUT_OF_TABLE',
      });
      expectSame(out.data, new Array(12).fill(9));
    }
    owned.dispose();
  });
});
