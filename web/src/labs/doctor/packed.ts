// SPDX-License-Identifier: Apache-2.0
// A configuration as a value of the address: the name of one that comes with the page, or a text, deflated.
import { presets, usualPreset } from './presets.ts';

/** Stands for a text too long for an address. */
export const elsewhere = '~';

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: GenericTransformStream,
): Promise<Uint8Array> {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

export async function pack(text: string, most: number): Promise<string> {
  const known = presets.find((one) => one.text.trim() === text.trim());
  if (known) return known === usualPreset ? '' : known.id;
  // Indentation is most of such a file and says nothing.
  let dense = text;
  try {
    dense = JSON.stringify(JSON.parse(text));
  } catch {
    // Not yet JSON: it travels as it is.
  }
  const bytes = await through(
    new TextEncoder().encode(dense),
    new CompressionStream('deflate-raw'),
  );
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const packed = `~${btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')}`;
  return packed.length > most ? elsewhere : packed;
}

/** Undefined for what is neither a name nor a packed text. */
export async function unpack(value: string): Promise<string | undefined> {
  if (value === '') return usualPreset.text;
  if (!value.startsWith('~')) return presets.find((one) => one.id === value)?.text;
  try {
    const binary = atob(value.slice(1).replace(/-/g, '+').replace(/_/g, '/'));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const text = new TextDecoder().decode(
      await through(bytes, new DecompressionStream('deflate-raw')),
    );
    if (text === '') return undefined;
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  } catch {
    return undefined;
  }
}
