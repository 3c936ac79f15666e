// SPDX-License-Identifier: Apache-2.0
// Texts too long for an address as they are: deflated without a header, in letters that an address may have, and behind a full stop a
// checksum, which links made before there was one lack.

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

/** CRC-32: it finds every change within four bytes in a row, so of any letter, where deflate alone reads another text. */
function checksum(bytes: Uint8Array): string {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (~sum >>> 0).toString(36).padStart(7, '0');
}

/** Browsers from before 2023 lack this format. */
export function canInflate(): boolean {
  try {
    return new DecompressionStream('deflate-raw').readable !== undefined;
  } catch {
    return false;
  }
}

export async function deflated(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const letters = btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  return `${letters}.${checksum(bytes)}`;
}

/** Fails for what was changed on the way, cannot be unpacked, is no text or is too long. */
export async function inflated(packed: string): Promise<string> {
  const [letters = '', sum] = packed.split(/\.(.*)/s);
  const binary = atob(letters.replace(/-/g, '+').replace(/_/g, '/'));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  if (sum !== undefined && sum !== checksum(bytes)) throw new RangeError('not as it was packed');
  const text = await through(bytes, new DecompressionStream('deflate-raw'));
  return new TextDecoder('utf-8', { fatal: true }).decode(text);
}
