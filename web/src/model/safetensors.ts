// SPDX-License-Identifier: Apache-2.0
// Weights in a .safetensors file: the package's own reader within the page's limits, and one error for all that can be wrong.
import { PosencError, readSafetensors, type SafetensorsView } from 'posenc';
import type { Table } from './settings.ts';

/** A header of 10,000 tensors takes less. */
export const mostHeaderBytes = 2 ** 20;

/** What is wrong with a file, and with which of its tensors: with none where it is the file or its header. */
export class WeightsError extends Error {
  override readonly name = 'WeightsError';
  constructor(
    message: string,
    readonly tensor?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The package's errors as ours. */
function told<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!PosencError.is(error)) throw error;
    const { tensor } = error.details;
    const which = typeof tensor === 'string' ? tensor : undefined;
    throw new WeightsError(error.message.replace(/^readSafetensors: /, ''), which, {
      cause: error,
    });
  }
}

export interface WeightsFile {
  /** Texts that whoever wrote the file left in it. */
  readonly metadata: Readonly<Record<string, string>>;
  /** All of them, those of other types than can be read included. */
  readonly tensors: ReadonlyMap<string, Pick<SafetensorsView, 'name' | 'dtype' | 'shape'>>;
  /**
   * A copy as float32, from F32, F16 or BF16. Throws a WeightsError with its name where it is missing, of another type or, if
   * one is asked for, of another shape, and where one of its numbers is not finite.
   */
  read(name: string, shape?: readonly number[]): Table;
}

/** Its header, of at most a megabyte, checked whole: shapes, types and offsets against the bytes that are there. */
export function openWeights(bytes: ArrayBuffer | Uint8Array): WeightsFile {
  const tensors = told(() => readSafetensors(bytes, { maxHeaderBytes: mostHeaderBytes }));
  const read = (name: string, shape?: readonly number[]): Table => {
    const view = tensors.get(name);
    if (!view) throw new WeightsError(`the file has no tensor ${name}`, name);
    if (shape && view.shape.join() !== shape.join())
      throw new WeightsError(
        `${name} must be of shape [${shape.join(', ')}], got [${view.shape.join(', ')}]`,
        name,
      );
    const data = told(() => view.read()).data as Float32Array;
    const at = data.findIndex((value) => !Number.isFinite(value));
    if (at >= 0) throw new WeightsError(`${name}[${at}] must be finite, got ${data[at]}`, name);
    return { shape: view.shape, data };
  };
  return { metadata: metadataOf(bytes), tensors, read };
}

/** Of a file whose header was found to be in order. */
function metadataOf(bytes: ArrayBuffer | Uint8Array): Record<string, string> {
  const file = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  const size = new DataView(file.buffer, file.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + size)));
  return Object.assign(
    Object.create(null),
    Object.hasOwn(header, '__metadata__') ? header.__metadata__ : {},
  );
}

/** A file of float32 tensors, in the order given, at addresses that divide by eight. */
export function weightsFile(
  tensors: ReadonlyMap<string, Table>,
  metadata: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
  let end = 0;
  const header: Record<string, unknown> = { __metadata__: metadata };
  for (const [name, { shape, data }] of tensors) {
    const begin = end;
    end += 4 * data.length;
    header[name] = { dtype: 'F32', shape, data_offsets: [begin, end] };
  }
  const bare = new TextEncoder().encode(JSON.stringify(header));
  const size = Math.ceil(bare.length / 8) * 8;
  const file = new Uint8Array(8 + size + end).fill(0x20, 8, 8 + size);
  const view = new DataView(file.buffer);
  view.setUint32(0, size, true);
  file.set(bare, 8);
  let at = 8 + size;
  for (const { data } of tensors.values())
    for (const value of data) {
      view.setFloat32(at, value, true);
      at += 4;
    }
  return file;
}
