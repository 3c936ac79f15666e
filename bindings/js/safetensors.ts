// SPDX-License-Identifier: Apache-2.0
/**
 * `readSafetensors`: tensors in the bytes of a .safetensors file, without copying any until asked.
 * The header is checked whole and first: every claim it makes is held against the bytes that are
 * there, and nothing is allocated because a number says so.
 */

import { bytesOf } from './bytes.js';
import { fault, quote, text } from './errors.js';
import { bf16, f16 } from './half.js';
import { type HeaderEntry, scanHeader } from './safetensors-header.js';
import type { Tensor } from './types.js';
import { detached, or, reading, options as readOptions, wrongType } from './validate.js';

export interface SafetensorsOptions {
  /** Bytes of JSON at most. @default 16 MiB */
  maxHeaderBytes?: number;
}

/** A tensor in the file; `read` makes float32 of it. */
export interface SafetensorsView {
  readonly name: string;
  /** 'F32', 'F16', 'BF16', or another that can be named but not read. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Its bytes, little-endian, in place. */
  readonly bytes: Uint8Array;
  /** A copy as float32; dtypes other than F32, F16 and BF16 are an error. */
  read(): Tensor;
}

const where = 'readSafetensors';
const limit = 16 * 2 ** 20;

export function readSafetensors(
  bytes: ArrayBuffer | Uint8Array,
  options?: SafetensorsOptions,
): ReadonlyMap<string, SafetensorsView> {
  const most = or(readOptions(where, options, ['maxHeaderBytes']).get('maxHeaderBytes'), limit);
  if (typeof most !== 'number' || !(most >= 8))
    throw wrongType(where, 'maxHeaderBytes', 'a number from 8', most);
  // After the options, whose reading can run code of the user's.
  const file = bytesOf(where, 'bytes', bytes, 'an ArrayBuffer or a Uint8Array', isBytes);
  if (file.length < 8) throw truncated('header', 8, file.length);
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  const claimed = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  if (claimed > most || claimed < 2)
    throw fault('BAD_HEADER', {
      where,
      field: 'header',
      expected: `of 2 to ${most} bytes`,
      received: claimed,
      more: { offset: 0, claimed, available: file.length - 8 },
    });
  if (claimed > file.length - 8) throw truncated('header', 8 + claimed, file.length);
  const entries = scanHeader(file.subarray(8, 8 + claimed), file.length - 8 - claimed);
  const data = file.subarray(8 + claimed);
  const views = new Map<string, SafetensorsView>();
  for (const entry of entries) views.set(entry.name, viewOf(entry, data));
  return views;
}

/** A trained table of any of the three dtypes, for an encoding's options. */
export function learnedTable(view: SafetensorsView): Tensor {
  return reading('learnedTable', 'view', view, () => {
    if (typeof view !== 'object' || view === null || typeof view.read !== 'function')
      throw wrongType('learnedTable', 'view', 'a view that readSafetensors gave', view);
    return view.read();
  });
}

const isBytes = (typedArray: string | undefined) => typedArray === 'Uint8Array';

function truncated(field: string, needed: number, available: number) {
  return fault('TRUNCATED', {
    where,
    field,
    expected: `complete: it needs ${needed} bytes of the file`,
    received: text(`${available} bytes`),
    more: { needed, available },
  });
}

const readers: Readonly<Record<string, (at: DataView, index: number) => number>> = {
  F32: (at, index) => at.getFloat32(index * 4, true),
  F16: (at, index) => f16(at.getUint16(index * 2, true)),
  BF16: (at, index) => bf16(at.getUint16(index * 2, true)),
};

function viewOf(
  { name, dtype, shape, begin, end }: HeaderEntry,
  data: Uint8Array,
): SafetensorsView {
  const bytes = data.subarray(begin, end);
  return Object.freeze({
    name,
    dtype,
    shape,
    bytes,
    read(): Tensor {
      const reader = Object.hasOwn(readers, dtype) ? readers[dtype] : undefined;
      if (reader === undefined)
        throw fault('UNSUPPORTED_DTYPE', {
          where,
          field: quote(name).slice(1, -1),
          expected: 'of dtype F32, F16 or BF16',
          received: dtype,
          more: { tensor: name },
        });
      // The file may have been transferred or shrunk since.
      const { length } = bytes;
      if (length !== end - begin) throw detached(where, quote(name).slice(1, -1));
      const at = new DataView(bytes.buffer, bytes.byteOffset, length);
      const values = new Float32Array(length / (dtype === 'F32' ? 4 : 2));
      for (let i = 0; i < values.length; ++i) values[i] = reader(at, i);
      return { data: values, shape };
    },
  });
}
