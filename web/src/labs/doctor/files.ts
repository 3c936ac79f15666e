// SPDX-License-Identifier: Apache-2.0
// Files that a visitor chooses or drops. Of a model file only the head is read, in growing pieces.
import { PosencError, readGGUFHeader } from 'posenc';
import type { Tensors } from './read.ts';

export interface Loaded {
  readonly text: string;
  readonly tensors?: Tensors;
}

const magic = [0x47, 0x47, 0x55, 0x46];
const pieces = [2 ** 20, 2 ** 23, 2 ** 26];
/** Lists of this many numbers are vocabularies, and say nothing of positions. */
const longestList = 512;
/** Divisors of frequencies are small tensors of this type: float32. */
const [plainType, mostDivisors] = [0, 65536];

const bytesOf = async (file: Blob, from: number, to: number): Promise<Uint8Array> =>
  new Uint8Array(await file.slice(from, to).arrayBuffer());

function portable(value: unknown): unknown {
  if (typeof value === 'bigint')
    return value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value);
  if (typeof value === 'string') return value.slice(0, 200);
  // Of more numbers still the reader makes typed arrays, of which JSON would make objects.
  if (ArrayBuffer.isView(value)) return undefined;
  if (Array.isArray(value)) return value.length > longestList ? undefined : value.map(portable);
  return value;
}

async function header(file: Blob): Promise<ReturnType<typeof readGGUFHeader>> {
  for (const size of pieces) {
    try {
      return readGGUFHeader(await bytesOf(file, 0, size));
    } catch (error) {
      // A head that goes on beyond this piece; the largest, or the whole file, is the last word.
      if (size >= file.size || size === pieces.at(-1) || !(error instanceof PosencError))
        throw error;
    }
  }
  throw new RangeError('the file has no head');
}

async function model(file: Blob): Promise<Loaded> {
  const { metadata, tensors, dataOffset } = await header(file);
  const kept = Object.fromEntries(
    Object.entries(metadata)
      .filter(([name]) => !name.startsWith('tokenizer.'))
      .map(([name, value]) => [name, portable(value)]),
  );
  const found: Tensors = {};
  for (const { name, shape, type, offset } of tensors) {
    const count = shape.reduce((all, size) => all * size, 1);
    const isDivisors = name.startsWith('rope_') && type === plainType && count <= mostDivisors;
    if (!isDivisors) {
      found[name] = {};
      continue;
    }
    const start = dataOffset + offset;
    const bytes = await bytesOf(file, start, start + 4 * count);
    if (bytes.byteLength === 4 * count)
      found[name] = { data: new Float32Array(bytes.buffer as ArrayBuffer) };
  }
  return { text: JSON.stringify(kept, null, 2), tensors: found };
}

export async function load(file: File): Promise<Loaded> {
  const start = await bytesOf(file, 0, 4);
  if (magic.every((byte, i) => start[i] === byte)) return model(file);
  if (file.size > 2 ** 21)
    throw new RangeError(
      `${file.name} is ${file.size} bytes long, more than a configuration ever is`,
    );
  return { text: await file.text() };
}
