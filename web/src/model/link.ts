// SPDX-License-Identifier: Apache-2.0
// A link to share: the address of the state, deflated as a whole where it is long. The address bar keeps the readable one.
import { deflated, inflated } from './deflated.ts';

/** Longer addresses are cut by some of the programs that people send them with. */
const longest = 2000;
const mark = '#v1&z=';

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
    return {
      hash: `#v1&${await inflated(hash.slice(mark.length).split('&')[0] ?? '')}`,
      problems: [],
    };
  } catch {
    return { hash: '#v1', problems: ['This link is damaged: what it holds cannot be unpacked.'] };
  }
}
