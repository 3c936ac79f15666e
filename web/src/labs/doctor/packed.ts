// SPDX-License-Identifier: Apache-2.0
// A configuration as a value of the address: the name of one that comes with the page, or a text, deflated.
import { deflated, inflated } from '../../model/deflated.ts';
import { presets, usualPreset } from './presets.ts';

/** Stands for a text too long for an address. */
export const elsewhere = '~';

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
  const packed = `~${await deflated(dense)}`;
  return packed.length > most ? elsewhere : packed;
}

/** Why there is no text for such a value. */
export const lost = (value: string): string =>
  value.startsWith(elsewhere) && value !== elsewhere
    ? 'The configuration in this link is damaged.'
    : 'The configuration of this link did not travel with it.';

/** Undefined for what is neither a name nor a packed text. */
export async function unpack(value: string): Promise<string | undefined> {
  if (value === '') return usualPreset.text;
  if (!value.startsWith('~')) return presets.find((one) => one.id === value)?.text;
  try {
    const text = await inflated(value.slice(1));
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
