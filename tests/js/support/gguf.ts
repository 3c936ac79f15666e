// SPDX-License-Identifier: Apache-2.0
/** Writes the head of a GGUF file, byte by byte, so that tests can also write wrong ones. */

export class Bytes {
  readonly #parts: number[] = [];

  u8(value: number) {
    this.#parts.push(value & 0xff);
    return this;
  }
  u32(value: number) {
    for (let i = 0; i < 4; ++i) this.u8(value >>> (8 * i));
    return this;
  }
  u64(value: number | bigint) {
    let left = BigInt.asUintN(64, BigInt(value));
    for (let i = 0; i < 8; ++i, left >>= 8n) this.u8(Number(left & 0xffn));
    return this;
  }
  f32(value: number) {
    return this.raw(new Uint8Array(Float32Array.of(value).buffer));
  }
  string(text: string) {
    const bytes = new TextEncoder().encode(text);
    return this.u64(bytes.length).raw(bytes);
  }
  raw(bytes: ArrayLike<number>) {
    for (let i = 0; i < bytes.length; ++i) this.#parts.push(bytes[i]);
    return this;
  }
  done() {
    return Uint8Array.from(this.#parts);
  }
}

export type Entry = [key: string, type: 'u32' | 'u64' | 'f32' | 'string' | 'bool', value: unknown];

export function ggufBytes(
  entries: readonly Entry[],
  tensors: readonly { name: string; dims: readonly number[] }[] = [],
  version = 3,
): Uint8Array {
  const out = new Bytes().raw(new TextEncoder().encode('GGUF')).u32(version);
  out.u64(tensors.length).u64(entries.length);
  for (const [key, type, value] of entries) {
    out.string(key);
    if (type === 'u32') out.u32(4).u32(value as number);
    if (type === 'u64') out.u32(10).u64(value as number);
    if (type === 'f32') out.u32(6).f32(value as number);
    if (type === 'bool') out.u32(7).u8(value === true ? 1 : 0);
    if (type === 'string') out.u32(8).string(value as string);
  }
  for (const { name, dims } of tensors) {
    out.string(name).u32(dims.length);
    for (const dim of dims) out.u64(dim);
    out.u32(0).u64(0);
  }
  return out.done();
}

/** What the files of Llama 3.1 say. */
export const llamaEntries: readonly Entry[] = [
  ['general.architecture', 'string', 'llama'],
  ['llama.context_length', 'u32', 131072],
  ['llama.embedding_length', 'u32', 4096],
  ['llama.block_count', 'u32', 32],
  ['llama.attention.head_count', 'u32', 32],
  ['llama.attention.head_count_kv', 'u32', 8],
  ['llama.rope.freq_base', 'f32', 500000],
  ['llama.rope.dimension_count', 'u32', 128],
];
