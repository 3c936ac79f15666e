// SPDX-License-Identifier: Apache-2.0
// An embedding table in a .safetensors file of any size: its header is read, and then the rows that are asked for.
import { readSafetensors } from 'posenc';
import { widestRow } from '../../compute/given.ts';
import { mostHeaderBytes, WeightsError } from '../../model/safetensors.ts';

/** A tensor that can be a table. */
export interface Entry {
  readonly name: string;
  readonly dtype: 'F32' | 'F16' | 'BF16';
  readonly rows: number;
  readonly width: number;
  /** Of its first byte, in the file. */
  readonly start: number;
}

const sizes: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2 };
/** What models call their table of tokens, the likeliest first. */
const usual = [
  /(^|\.)(wte|embed_tokens)\.weight$/,
  /(^|\.)(word_embeddings|tok_embeddings|embed_in|embedding)\.weight$/,
  /embed/i,
];

const bytesOf = async (file: Blob, from: number, to: number): Promise<Uint8Array> =>
  new Uint8Array(await file.slice(from, to).arrayBuffer());
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isSize = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

async function headerOf(file: Blob): Promise<{ header: object; start: number }> {
  const bad = (why: string): WeightsError => new WeightsError(`it is no .safetensors file: ${why}`);
  const first = await bytesOf(file, 0, 8);
  if (first.length < 8) throw bad(`it has ${first.length} bytes, and 8 come before a header`);
  const view = new DataView(first.buffer);
  const size = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  if (size > mostHeaderBytes || size < 2)
    throw bad(`its header would be ${size} bytes long, and 2 to ${mostHeaderBytes} are read`);
  const text = await bytesOf(file, 8, 8 + size);
  if (text.length < size)
    throw new WeightsError(`its header is cut off: ${text.length} of ${size} bytes are there`);
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text));
  } catch {
    throw bad('its header is no JSON');
  }
  if (!isObject(header)) throw bad('its header is no object');
  return { header, start: 8 + size };
}

/** One tensor of the header, its claims held against the bytes that are there. */
function checked(name: string, value: unknown, available: number) {
  const bad = (why: string): WeightsError => new WeightsError(`${name} ${why}`, name);
  if (!isObject(value)) throw bad('is no object');
  const { dtype, shape, data_offsets: offsets } = value;
  if (typeof dtype !== 'string') throw bad('has no dtype');
  if (!Array.isArray(shape) || !shape.every(isSize)) throw bad('has no shape of whole numbers');
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize))
    throw bad('has no two data_offsets');
  const [begin, end] = offsets as [number, number];
  if (begin > end || end > available)
    throw bad(`lies at bytes ${begin} to ${end}, and there are ${available} bytes of data`);
  const size = sizes[dtype];
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (size !== undefined && count * size !== end - begin)
    throw bad(
      `is [${shape.join(', ')}] of ${dtype}, ${count * size} bytes, and has ${end - begin}`,
    );
  return { name, dtype, shape: shape as number[], begin, end };
}

/** The tables of a file. Throws a WeightsError that names the tensor, if it is one, and what is wrong. */
export async function tablesOf(file: Blob): Promise<Entry[]> {
  const { header, start } = await headerOf(file);
  const available = file.size - start;
  const tensors = Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, value]) => checked(name, value, available))
    .sort((a, b) => a.begin - b.begin || a.end - b.end);
  let reached = 0;
  for (const { name, begin, end } of tensors) {
    // Of two tensors of one name JSON keeps the last, so the first leaves a hole.
    if (begin !== reached)
      throw new WeightsError(
        `${name} begins at byte ${begin} of the data, and the one before ends at ${reached}`,
        name,
      );
    reached = end;
  }
  const tables = tensors.flatMap(({ name, dtype, shape, begin }): Entry[] => {
    const [rows = 0, width = 0] = shape;
    const fits = shape.length === 2 && rows > 0 && width > 0 && width <= widestRow;
    return fits && dtype in sizes
      ? [{ name, dtype: dtype as Entry['dtype'], rows, width, start: start + begin }]
      : [];
  });
  if (tables.length === 0)
    throw new WeightsError(
      `it has no table: no tensor [tokens, width] of F32, F16 or BF16, up to ${widestRow} wide`,
    );
  return tables;
}

/** The likeliest table: by name, else the largest. */
export function likeliest(tables: readonly Entry[]): Entry {
  const largest = [...tables].sort((a, b) => b.rows * b.width - a.rows * a.width);
  for (const pattern of usual) {
    const found = largest.find(({ name }) => pattern.test(name));
    if (found) return found;
  }
  return largest[0] as Entry;
}

/** Rows by number, as float32; those that are not finite by what is wrong with them. */
export async function rowsIn(
  file: Blob,
  { name, dtype, width, start }: Entry,
  numbers: readonly number[],
): Promise<Map<number, Float32Array | WeightsError>> {
  const size = width * (sizes[dtype] as number);
  const parts = await Promise.all(
    numbers.map((number) => bytesOf(file, start + number * size, start + (number + 1) * size)),
  );
  // The package's own reader makes float32 of them: a file of these rows alone.
  const header = JSON.stringify({
    rows: { dtype, shape: [parts.length, width], data_offsets: [0, parts.length * size] },
  });
  const bytes = new Uint8Array(8 + header.length + parts.length * size);
  new DataView(bytes.buffer).setUint32(0, header.length, true);
  bytes.set(new TextEncoder().encode(header), 8);
  parts.forEach((part, i) => {
    if (part.length !== size) throw new WeightsError(`${name} is cut off`, name);
    bytes.set(part, 8 + header.length + i * size);
  });
  const data = readSafetensors(bytes).get('rows')?.read().data as Float32Array;
  return new Map(
    numbers.map((number, i) => {
      const row = data.slice(i * width, (i + 1) * width);
      const at = row.findIndex((value) => !Number.isFinite(value));
      return [
        number,
        at < 0
          ? row
          : new WeightsError(`${name}[${number}, ${at}] must be finite, got ${row[at]}`, name),
      ];
    }),
  );
}
