// SPDX-License-Identifier: Apache-2.0
// Files of weights as the page reads them: what it wrote comes back, and whatever is wrong has an error that names the tensor.
import { describe, expect, it } from 'vitest';
import {
  mostHeaderBytes,
  openWeights,
  WeightsError,
  weightsFile,
} from '../../web/src/model/safetensors.ts';

const table = (shape: number[], ...numbers: number[]) => ({
  shape,
  data: Float32Array.from(numbers),
});
const good = weightsFile(
  new Map([
    ['first', table([2, 2], 1, -2, 3.5, 1e-40)],
    ['second', table([1], -0)],
    ['none', table([0, 3])],
  ]),
  { made: '2026-11-30', said: '"quoted" ü' },
);

/** A file of any header, and so many bytes after it. */
function file(header: unknown, size = 0, claimed?: number): Uint8Array {
  const json = new TextEncoder().encode(
    typeof header === 'string' ? header : JSON.stringify(header),
  );
  const bytes = new Uint8Array(8 + json.length + size);
  new DataView(bytes.buffer).setUint32(0, claimed ?? json.length, true);
  bytes.set(json, 8);
  return bytes;
}
const entry = (
  begin: number,
  end: number,
  shape: unknown = [(end - begin) / 4],
  dtype = 'F32',
) => ({
  dtype,
  shape,
  data_offsets: [begin, end],
});
function problem(work: () => unknown): WeightsError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(WeightsError);
    return error as WeightsError;
  }
  return expect.unreachable('it must be refused');
}

describe('a file of weights', () => {
  it('comes back as it was written, from an array and from within a larger one', () => {
    const larger = new Uint8Array(good.length + 16);
    larger.set(good, 5);
    for (const bytes of [good, good.buffer, larger.subarray(5, 5 + good.length)]) {
      const { metadata, tensors, read } = openWeights(bytes);
      expect({ ...metadata }).toEqual({ made: '2026-11-30', said: '"quoted" ü' });
      expect([...tensors.keys()]).toEqual(['first', 'second', 'none']);
      expect(read('first', [2, 2])).toEqual(table([2, 2], 1, -2, 3.5, 1e-40));
      expect(read('second').data[0]).toBe(-0);
      expect(read('none')).toEqual(table([0, 3]));
    }
    expect(openWeights(file({ a: entry(0, 4) }, 4)).metadata.toString).toBeUndefined();
    expect(new DataView(good.buffer).getUint32(0, true) % 8).toBe(0);
  });

  it('is read from halves, bfloats and floats alone', () => {
    const halves = file({ a: entry(0, 4, [2], 'F16'), b: entry(4, 6, [1], 'BF16') }, 6);
    // 1 and -2 as binary16, 1 as bfloat16.
    halves.set([0x00, 0x3c, 0x00, 0xc0, 0x80, 0x3f], halves.length - 6);
    const { read } = openWeights(halves);
    expect([...read('a').data, ...read('b').data]).toEqual([1, -2, 1]);
    for (const dtype of ['I32', 'F8_E4M3', 'F64', 'own']) {
      const size = dtype === 'F64' ? 8 : dtype === 'F8_E4M3' ? 1 : 4;
      const opened = openWeights(file({ 'a.b': entry(0, size, [1], dtype) }, size));
      const { message, tensor } = problem(() => opened.read('a.b'));
      expect(tensor).toBe('a.b');
      expect(message).toContain(dtype);
    }
  });

  it('is refused with the name of the tensor at fault', () => {
    for (const [header, size] of [
      [{ odd: entry(0, 8) }, 4],
      [{ odd: entry(0, 4, [2]) }, 4],
      [{ odd: entry(0, 4, [-1]) }, 4],
      [{ odd: entry(0, 4, 'one') }, 4],
      [{ odd: entry(0, 2 ** 60, [2 ** 58]) }, 4],
      [{ odd: entry(4, 0, [1]) }, 4],
      [{ odd: 7 }, 0],
      [{ first: entry(0, 8), odd: entry(4, 12) }, 12],
      [{ first: entry(0, 4), odd: entry(8, 12) }, 12],
      ['{"odd":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"odd":{}}', 4],
    ] as const) {
      const { tensor, message } = problem(() => openWeights(file(header, size)));
      expect(tensor, JSON.stringify(header)).toBe('odd');
      expect(message).toContain('odd');
    }
    const { read } = openWeights(good);
    expect(problem(() => read('third')).tensor).toBe('third');
    const { message, tensor } = problem(() => read('first', [4]));
    expect([tensor, message]).toEqual(['first', 'first must be of shape [4], got [2, 2]']);
    for (const value of [Number.NaN, Number.NEGATIVE_INFINITY]) {
      const bytes = weightsFile(new Map([['odd', table([2], 1, value)]]), {});
      expect(problem(() => openWeights(bytes).read('odd')).message).toBe(
        `odd[1] must be finite, got ${value}`,
      );
    }
  });

  it('is refused as a whole where its header is at fault', () => {
    const wide = `{"__metadata__":{"a":"${'x'.repeat(mostHeaderBytes)}"}}`;
    for (const bytes of [
      new Uint8Array(),
      good.subarray(0, 40),
      good.subarray(0, good.length - 1),
      file('', 0, 2 ** 32 - 1),
      file('not JSON'),
      file('[]'),
      file(wide),
      file({ __metadata__: { made: 1 } }),
      file({}, 4),
    ])
      expect(problem(() => openWeights(bytes)).message).not.toBe('');
  });
});
