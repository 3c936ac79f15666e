// SPDX-License-Identifier: Apache-2.0
/** Files of weights: three dtypes to float32, and rows 100 to 102 of what a header can claim. */

import fc from 'fast-check';
import { fromConfig, learnedTable, PosencError, readSafetensors } from 'posenc';
import { describe, expect, it } from 'vitest';
import { fixture } from './config/fixtures.ts';
import { caught } from './support/failure.ts';
import { pe } from './support/instance.ts';
import { expectSame, noise } from './support/numbers.ts';
import { runs } from './support/runs.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);

/** A file of this header, whatever it says, and this data. */
function file(header: string | Uint8Array, data: Uint8Array = new Uint8Array()): Uint8Array {
  const json = typeof header === 'string' ? utf8(header) : header;
  const bytes = new Uint8Array(8 + json.length + data.length);
  new DataView(bytes.buffer).setUint32(0, json.length, true);
  bytes.set(json, 8);
  bytes.set(data, 8 + json.length);
  return bytes;
}

const entry = (dtype: string, shape: unknown, begin: unknown, end: unknown) =>
  JSON.stringify({ dtype, shape, data_offsets: [begin, end] });
const single = (json: string, bytes = 0) => file(`{"a":${json}}`, new Uint8Array(bytes));

/** float32 to the nearest bfloat16 and binary16, ties to even, by arithmetic on whole numbers. */
function nearestBf16(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}
/** The value of a binary16 by the definition of its fields. */
function valueOfF16(bits: number): number {
  const sign = bits >>> 15 === 1 ? -1 : 1;
  const [exponent, fraction] = [(bits >>> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return exponent === 0
    ? sign * fraction * 2 ** -24
    : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

describe('dtypes', () => {
  it('every F16 is exact', () => {
    const data = new Uint16Array(65536).map((_, i) => i);
    const view = readSafetensors(
      file(`{"a":${entry('F16', [65536], 0, 131072)}}`, new Uint8Array(data.buffer)),
    );
    const { data: values } = view.get('a')?.read() ?? { data: [] };
    for (let i = 0; i < 65536; ++i)
      if (!Object.is(values[i], valueOfF16(i)))
        expect.unreachable(`${i}: got ${values[i]}, want ${valueOfF16(i)}`);
  });

  it('every BF16 is the float32 whose upper half it is', () => {
    const data = new Uint16Array(65536).map((_, i) => i);
    const view = readSafetensors(
      file(`{"a":${entry('BF16', [256, 256], 0, 131072)}}`, new Uint8Array(data.buffer)),
    );
    const { data: values, shape } = view.get('a')?.read() ?? { data: [], shape: [] };
    expect(shape).toEqual([256, 256]);
    const want = new Float32Array(new Uint32Array(65536).map((_, i) => i << 16).buffer);
    for (let i = 0; i < 65536; ++i) if (!Object.is(values[i], want[i])) expect.unreachable(`${i}`);
  });

  it('others can be seen but not read; an odd number of bytes is refused', () => {
    const views = readSafetensors(single(entry('I64', [2], 0, 16), 16));
    expect(views.get('a')).toMatchObject({ dtype: 'I64', shape: [2] });
    expect(caught(() => views.get('a')?.read())).toMatchObject({
      kind: 'format',
      code: 'UNSUPPORTED_DTYPE',
    });
    for (const dtype of ['F8_E4M3', 'I4', 'toString', '__proto__']) {
      const one = readSafetensors(single(entry(dtype, [3], 0, 3), 3)).get('a');
      expect(caught(() => one?.read()).code).toBe('UNSUPPORTED_DTYPE');
    }
    expect(caught(() => readSafetensors(single(entry('BF16', [1], 0, 3), 3))).code).toBe(
      'BAD_TENSOR',
    );
  });

  it('views do not copy, also at odd addresses and within larger buffers', () => {
    const values = Float32Array.of(1.5, Number.NaN, -0, 3e38);
    const bytes = file(`{"a":${entry('F32', [4], 0, 16)}}`, new Uint8Array(values.buffer));
    for (const shift of [0, 1, 2, 3]) {
      const larger = new Uint8Array(bytes.length + 9);
      larger.set(bytes, shift);
      const view = readSafetensors(larger.subarray(shift, shift + bytes.length)).get('a');
      expect(view?.bytes.buffer).toBe(larger.buffer);
      expectSame(view?.read().data ?? [], values);
    }
    expect(readSafetensors(bytes.buffer as ArrayBuffer).size).toBe(1);
  });
});

describe('headers', () => {
  const refused = (bytes: Uint8Array, code: string, options = {}) =>
    expect(caught(() => readSafetensors(bytes, options))).toMatchObject({ kind: 'format', code });
  const f32 = (shape: unknown, begin: unknown, end: unknown) => entry('F32', shape, begin, end);

  it('row 100: lengths and encodings', () => {
    for (let n = 0; n < 8; ++n) refused(new Uint8Array(n), 'TRUNCATED');
    refused(file(''), 'BAD_HEADER');
    refused(Uint8Array.of(200, 0, 0, 0, 0, 0, 0, 0, 123), 'TRUNCATED');
    refused(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 128, 123), 'BAD_HEADER');
    refused(Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 255), 'BAD_HEADER');
    refused(file(`{}${' '.repeat(100)}`), 'BAD_HEADER', { maxHeaderBytes: 50 });
    refused(file(Uint8Array.of(0x7b, 0xff, 0x7d)), 'BAD_HEADER');
    refused(file('[]'), 'BAD_HEADER');
    refused(file(' {}'), 'BAD_HEADER');
    refused(file('{"a"}'), 'BAD_HEADER');
    refused(file('{}x'), 'BAD_HEADER');
    refused(file('{}\n'), 'BAD_HEADER');
    expect(readSafetensors(file(`{}${' '.repeat(6)}`)).size).toBe(0);
  });

  it('row 101: offsets, shapes, sizes', () => {
    for (const [begin, end] of [
      [-4, 0],
      [0.5, 4.5],
      [0, 2 ** 54],
      [4, 0],
      ['0', '4'],
      [null, 4],
    ])
      refused(single(f32([1], begin, end), 4), 'BAD_TENSOR');
    refused(single(f32([2], 0, 8), 4), 'TRUNCATED');
    refused(single(f32([4194305, 4194305, 211106198978564], 0, 4), 4), 'BAD_TENSOR');
    for (const shape of [[-1], [1.5], ['1'], {}, null, Array(33).fill(1)])
      refused(single(f32(shape, 0, 4), 4), 'BAD_TENSOR');
    refused(single(f32([2], 0, 4), 4), 'BAD_TENSOR');
    refused(single('7'), 'BAD_TENSOR');
    refused(single('{"dtype":"F32","shape":[]}'), 'BAD_TENSOR');
    refused(single('{"dtype":"F32","shape":[],"data_offsets":[0,4],"more":1}', 4), 'BAD_TENSOR');
    expect(
      readSafetensors(single(f32([], 0, 4), 4))
        .get('a')
        ?.read().data,
    ).toHaveLength(1);
  });

  it('row 101: tensors cover the data once', () => {
    const two = (a: string, b: string, bytes: number) =>
      file(`{"a":${a},"b":${b}}`, new Uint8Array(bytes));
    expect(readSafetensors(two(f32([1], 0, 4), f32([1], 4, 8), 8)).size).toBe(2);
    refused(two(f32([1], 0, 4), f32([1], 2, 6), 6), 'BAD_TENSOR');
    refused(two(f32([1], 0, 4), f32([1], 8, 12), 12), 'BAD_TENSOR');
    refused(two(f32([1], 0, 4), f32([1], 0, 4), 4), 'BAD_TENSOR');
    refused(two(f32([1], 0, 4), f32([0], 2, 2), 4), 'BAD_TENSOR');
    expect(
      readSafetensors(two(f32([1], 0, 4), f32([0], 4, 4), 4))
        .get('b')
        ?.read().data,
    ).toHaveLength(0);
    refused(two(f32([1], 0, 4), f32([1], 4, 8), 9), 'BAD_HEADER');
  });

  it('row 101: names', () => {
    const one = f32([1], 0, 4);
    refused(file(`{"a":${one},"a":${one}}`, new Uint8Array(4)), 'DUPLICATE_NAME');
    refused(file(`{"a":${one},"\\u0061":${one}}`, new Uint8Array(4)), 'DUPLICATE_NAME');
    refused(
      single('{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}', 4),
      'DUPLICATE_NAME',
    );
    refused(file('{"__metadata__":{"a":1}}'), 'BAD_HEADER');
    refused(file('{"__metadata__":[]}'), 'BAD_HEADER');
    expect(readSafetensors(file('{"__metadata__":{"format":"pt","b":"{\\"c\\":1}"}}')).size).toBe(
      0,
    );
    const views = readSafetensors(file(`{"__proto__":${one}}`, new Uint8Array(4)));
    expect([...views.keys()]).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).dtype).toBeUndefined();
  });

  it('row 102: many tensors', () => {
    const names = Array.from({ length: 20000 }, (_, i) => `"t${i}":${f32([1], 4 * i, 4 * i + 4)}`);
    expect(readSafetensors(file(`{${names.join()}}`, new Uint8Array(80000))).size).toBe(20000);
  });

  it('arguments', () => {
    for (const wrong of [null, 'x', [], new Float32Array(4), {}])
      expect(caught(() => readSafetensors(wrong as never)).code).toBe('WRONG_TYPE');
    expect(caught(() => learnedTable({} as never)).code).toBe('WRONG_TYPE');
  });

  it('noise', () => {
    const good = file(
      `{"a":${f32([2], 0, 8)},"b":${entry('BF16', [2, 1], 8, 12)}}`,
      new Uint8Array(12),
    );
    fc.assert(
      fc.property(
        fc.nat(good.length - 1),
        fc.uint8Array({ minLength: 1, maxLength: 6 }),
        fc.nat(40),
        (at, put, cut) => {
          const bytes = good.slice(0, good.length - (cut % 3 === 0 ? cut : 0));
          bytes.set(put.subarray(0, Math.max(0, bytes.length - at)), Math.min(at, bytes.length));
          try {
            for (const view of readSafetensors(bytes).values()) view.read();
          } catch (error) {
            if (!PosencError.is(error)) throw error;
            expect(error.kind).toBe('format');
          }
        },
      ),
      runs(5000),
    );
  });
});

describe('a file of weights', () => {
  /** GPT-2's names and BERT's, small, with the table in each of the three dtypes. */
  for (const [model, name, dtype] of [
    ['gpt2', 'wpe.weight', 'F32'],
    ['gpt2', 'wpe.weight', 'BF16'],
    ['bert-base', 'embeddings.position_embeddings.weight', 'F16'],
  ] as const)
    it(`${model} in ${dtype} goes from its file into the encoding`, () => {
      const [rows, width] = [32, 8];
      const next = noise(7);
      const bits = Uint16Array.from({ length: rows * width }, () => {
        const value = next();
        return dtype === 'BF16' ? nearestBf16(value) : Math.floor((value + 1) * 15000);
      });
      const exact = Float32Array.from(bits, (bit) =>
        dtype === 'F16' ? valueOfF16(bit) : new Float32Array(Uint32Array.of(bit << 16).buffer)[0],
      );
      const table = dtype === 'F32' ? new Uint8Array(exact.buffer) : new Uint8Array(bits.buffer);
      const other = new Uint8Array(16);
      const bytes = file(
        `{"__metadata__":{"format":"pt"},"h.0.ln_1.weight":${entry('F32', [4], 0, 16)},"${name}":${entry(dtype, [rows, width], 16, 16 + table.length)}}   `,
        Uint8Array.from([...other, ...table]),
      );

      const view = readSafetensors(bytes).get(name);
      if (view === undefined) return expect.unreachable('the tensor is in the file');
      expect(view).toMatchObject({ dtype, shape: [rows, width] });
      const { id, options, needs } = fromConfig(fixture(model)).encodingFor(0);
      expect([id, needs]).toEqual(['learned', ['table']]);
      const learned = pe.encoding('learned', { ...options, table: learnedTable(view) });
      const all = Array.from({ length: rows }, (_, i) => i);
      expectSame(learned.table(all).data, exact);
      learned.dispose();
    });
});
