// SPDX-License-Identifier: Apache-2.0
/** Memory that goes away while it is read, and shapes that cost nothing to write down. */

import {
  type AttentionOptions,
  fromGGUF,
  load,
  mropePositions,
  PosencError,
  readGGUFHeader,
  readSafetensors,
  type Tensor,
  type TensorInput,
} from 'posenc';
import { describe, expect, it } from 'vitest';
import { detached, resizable, shrunk } from './support/buffers.ts';
import { caught, expectRefusal } from './support/failure.ts';
import { anyEncoding, pe } from './support/instance.ts';
import { randomTensor } from './support/numbers.ts';
import { four, q, rotate } from './support/refused-calls.ts';

const learned = anyEncoding(pe, 'learned', { table: randomTensor([8, 4]) });

describe('memory that a getter takes away', () => {
  /** A view that follows its buffer, without a length of its own. */
  const follower = () => {
    const buffer = resizable(24 * 4, 64 * 4);
    const data = new Float32Array(buffer);
    data.set(q.data);
    return { buffer, tensor: { data, shape: q.shape } };
  };
  const late = (action: () => void): AttentionOptions => {
    const data = new Float32Array(24);
    return {
      out: {
        shape: q.shape,
        get data() {
          action();
          return data;
        },
      },
    };
  };

  it('shrunk: refused', () => {
    const { buffer, tensor } = follower();
    const options = late(() => buffer.resize(16));
    expectRefusal(() => pe.attention(tensor, q, q, options), { code: 'DETACHED', field: 'q' });
    const fixed = new Float32Array(resizable(24 * 4, 24 * 4), 0, 24);
    const shrink = late(() => (fixed.buffer as ReturnType<typeof resizable>).resize(16));
    const given = { data: fixed, shape: q.shape };
    expectRefusal(() => pe.attention(given, q, q, shrink), { code: 'DETACHED' });
  });

  it('grown: read as it was', () => {
    const { buffer, tensor } = follower();
    const want = pe.attention(tensor, q, q).output.data;
    const got = pe.attention(
      tensor,
      q,
      q,
      late(() => buffer.resize(64 * 4)),
    );
    expect(got.output.data).toEqual(want);
  });

  it('of an out, between its data and its shape: refused', () => {
    const { buffer, tensor } = follower();
    const shape = new Proxy([...q.shape], {
      get(target, name) {
        if (name === '2') buffer.resize(16);
        return Reflect.get(target, name);
      },
    });
    const out = { data: tensor.data, shape };
    expectRefusal(() => pe.attention(q, q, q, { out }), { code: 'BAD_OUT' });
  });

  it('of a mask, between its data and its shape: refused', () => {
    const data = new Uint8Array(9).fill(1);
    const mask = {
      data,
      get shape() {
        detached(data);
        return [3, 3];
      },
    };
    expectRefusal(() => pe.attention(q, q, q, { mask }), { code: 'DETACHED' });
  });

  it('of a tensor whose data is still in hand: refused to read and to write', () => {
    const owned = pe.tensor([2, 3, 4], q.data);
    const { data } = owned;
    expect(pe.attention({ data, shape: [2, 3, 4] }, q, q).output.data.length).toBe(24);
    owned.dispose();
    const kept = { data, shape: [2, 3, 4] };
    expectRefusal(() => pe.attention(kept, q, q), { code: 'STALE_VIEW', field: 'q' });
    expectRefusal(() => four.rotate(q, undefined, { out: kept }), { code: 'STALE_VIEW' });
  });
});

describe('views that lie beyond their buffer', () => {
  const beyond = shrunk();
  const cases: [string, () => unknown, string][] = [
    ['a tensor', rotate({ data: beyond, shape: [1, 4] }), 'DETACHED'],
    ['a shape', rotate({ data: q.data, shape: beyond }), 'BAD_SHAPE'],
    ['out', () => four.rotate(q, undefined, { out: { data: beyond, shape: q.shape } }), 'BAD_OUT'],
    ['a list', () => anyEncoding(pe, 'mrope', { headDim: 8, sections: beyond }), 'DETACHED'],
    [
      'a table of one axis',
      () => anyEncoding(pe, 'kerple', { heads: 4, kind: 'log', r1: beyond, r2: beyond }),
      'DETACHED',
    ],
    ['data to copy', () => pe.tensor([4], beyond), 'DETACHED'],
    ['token ids', () => mropePositions(detached(new BigInt64Array(3))), 'DETACHED'],
    ['bytes', () => readSafetensors(detached(new Uint8Array(64))), 'DETACHED'],
    ['a header', () => readGGUFHeader(detached(new Uint8Array(64))), 'DETACHED'],
  ];
  for (const [name, call, code] of cases) it(name, () => expect(caught(call).code).toBe(code));

  it('a DataView given to load', async () => {
    const buffer = resizable(64, 64);
    const bytes = new DataView(buffer, 32);
    buffer.resize(16);
    await expect(load({ bytes, fresh: true })).rejects.toMatchObject({ code: 'DETACHED' });
  });

  it('a file that is transferred after its header was read', () => {
    const header = '{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}';
    const file = new Uint8Array(8 + header.length + 4);
    file[0] = header.length;
    file.set(new TextEncoder().encode(header), 8);
    const view = readSafetensors(file).get('t');
    detached(file);
    expect(caught(() => view?.read()).code).toBe('DETACHED');
  });
});

describe('shapes without elements, with any number of rows', () => {
  const none = (...shape: number[]): TensorInput => ({ data: new Float32Array(0), shape });
  const empty = (...shape: number[]) => none(...shape);
  /** The module's memory does not grow for what `call` asks of it. How long it takes, bench/hostile.mjs tells. */
  const inPlace = (call: () => void) => {
    const before = pe.info.memory().heapBytes;
    call();
    expect(pe.info.memory().heapBytes).toBe(before);
  };
  const soon = (what: string, call: () => Tensor, size = 0) =>
    it(what, () => inPlace(() => expect(call().data.length).toBe(size)));
  const self = (x: TensorInput, options?: AttentionOptions) => () =>
    pe.attention(x, x, x, options).output;

  soon('30,000 tokens of width 0', self(empty(1, 1, 30_000, 0)));
  soon('2^30 tokens', self(empty(1, 1, 2 ** 30, 0)));
  soon('2^30 heads', self(empty(1, 2 ** 30, 1, 0)));
  soon('2^30 sequences', self(empty(2 ** 30, 1, 1, 0)));
  soon('2^29 heads of no tokens', self(empty(1, 2 ** 29, 0, 2)));
  const counted = { encoding: pe.encoding('alibi', { heads: 1 }), keyPositions: { start: 7 } };
  soon('2^30 positions', self(empty(1, 1, 2 ** 30, 0), counted));
  soon('2^28 sequences to rotate', () => four.rotate(empty(2 ** 28, 0, 4)));
  soon('2^28 positions to rotate', () => four.rotate(empty(0, 2 ** 28, 4)));
  soon('2^28 sequences to embed into', () => learned.embed(empty(2 ** 28, 0, 4)));

  it('a result beyond the memory is refused before it is allocated', () => {
    const tall = empty(1, 1, 2 ** 30, 0);
    const one = empty(1, 1, 1, 0);
    const wide = { data: Float32Array.of(1), shape: [1, 1, 1, 1] };
    const options = { weights: true };
    const x = empty(1, 1, 2 ** 20, 0);
    inPlace(() => {
      expectRefusal(() => pe.attention(tall, one, wide), { code: 'TOO_LARGE' });
      expectRefusal(() => pe.attention(x, x, x, options), { code: 'TOO_LARGE' });
    });
  });

  it('an array of four thousand million holes is refused after a look at a few of them', () => {
    const empty: number[] = [];
    empty.length = 2 ** 32 - 1;
    let looks = 0;
    const holes = new Proxy(empty, {
      get: (from, name) => {
        if (++looks > 1000) throw new Error('read on and on');
        return Reflect.get(from, name);
      },
    });
    const calls = [
      () => four.rotate(q, undefined, { out: { data: q.data, shape: holes } }),
      () => four.rotate({ data: q.data, shape: holes }),
      () => four.rotate(q, holes),
      () => pe.tensor([1], holes),
      () => mropePositions(holes),
      () => anyEncoding(pe, 'deberta', { terms: holes }),
      () => fromGGUF({ 'general.architecture': 'llama' }, { 'rope_freqs.weight': { data: holes } }),
    ];
    for (const call of calls) expect(PosencError.is(caught(call))).toBe(true);
  });
});
