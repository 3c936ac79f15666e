// SPDX-License-Identifier: Apache-2.0
/** Buffers in states that a library must expect. */

export interface ResizableBuffer extends ArrayBuffer {
  resize(bytes: number): void;
}

export function resizable(bytes: number, maxByteLength: number): ResizableBuffer {
  const make = ArrayBuffer as unknown as new (bytes: number, o: object) => ResizableBuffer;
  return new make(bytes, { maxByteLength });
}

/** `view`, whose buffer has been transferred elsewhere. */
export function detached<T extends ArrayBufferView<ArrayBuffer>>(view: T): T {
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
}

/** A view that ends beyond its buffer, because that shrank. */
export function shrunk(): Float32Array {
  const buffer = resizable(64, 64);
  const view = new Float32Array(buffer, 32, 4);
  buffer.resize(16);
  return view;
}
