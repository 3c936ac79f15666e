// SPDX-License-Identifier: Apache-2.0
// Texts too long for an address as they are: deflated without a header, in letters that an address may have.

/** More than the page ever packs: a text of 10 KB can say that it is 10 MB, and would be all of the memory. */
const most = 2 * 2 ** 20;

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: GenericTransformStream,
): Promise<Uint8Array> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
    if (size > most) {
      void reader.cancel();
      throw new RangeError(`longer than ${most} bytes`);
    }
  }
  return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
}

export async function deflated(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** Fails for what cannot be unpacked, is no text or is too long; a letter that was changed can go unnoticed. */
export async function inflated(packed: string): Promise<string> {
  const binary = atob(packed.replace(/-/g, '+').replace(/_/g, '/'));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const text = await through(bytes, new DecompressionStream('deflate-raw'));
  return new TextDecoder('utf-8', { fatal: true }).decode(text);
}
