// SPDX-License-Identifier: Apache-2.0
// A link to share: the address of the state, deflated as a whole where it is long. The address bar keeps the readable one.
import { packedKey } from './address.ts';
import { canInflate, deflated, inflated } from './deflated.ts';

/** Longer addresses are cut by some of the programs that people send them with. */
const longest = 2000;
const mark = `#v1&${packedKey}=`;

/** Fails where the browser cannot pack. */
export async function linkOf(address: string): Promise<string> {
  if (address.length <= longest) return address;
  const packed = `${mark}${await deflated(address.slice('#v1&'.length))}`;
  return packed.length < address.length ? packed : address;
}

export const isPacked = (hash: string): boolean => hash.startsWith(mark);

/** The address as the page writes it, and what is wrong with the link. */
export async function opened(hash: string): Promise<{ hash: string; problems: string[] }> {
  if (!isPacked(hash)) return { hash, problems: [] };
  try {
    const held = await inflated(hash.slice(mark.length).split('&')[0] ?? '');
    // The page packs no link within a link; one would be unpacked when the page is next opened, and so on.
    if (!held.split('&').some((pair) => pair.startsWith(`${packedKey}=`)))
      return { hash: `#v1&${held}`, problems: [] };
  } catch {
    // Told below.
  }
  const problem = canInflate()
    ? 'This link is damaged: what it holds cannot be unpacked. Here is the page as it begins.'
    : 'This browser cannot unpack this link. Here is the page as it begins.';
  return { hash: '#v1', problems: [problem] };
}
