// SPDX-License-Identifier: Apache-2.0
// What the page knows of an encoding: only what the manifest says.

import type { EncodingInfo, Extent, FieldInfo, Site } from 'posenc';

export type { EncodingInfo, Extent, FieldInfo, Site };
export type FieldValue = NonNullable<FieldInfo['default']>;

export const actsAt = (info: EncodingInfo, ...sites: Site[]): boolean =>
  sites.some((site) => info.sites.includes(site));
export const actsNowhere = (info: EncodingInfo): boolean => info.sites.length === 0;
/** Whether attention itself has to know the encoding, as opposed to the embeddings it is given. */
export const actsInAttention = (info: EncodingInfo): boolean =>
  actsAt(info, 'rotate', 'score', 'value');

/** Shown first in the atlas: one that turns queries and keys, where the figure says most. */
export function startingEncoding(manifest: readonly EncodingInfo[]): EncodingInfo {
  const chosen =
    manifest.find((info) => actsAt(info, 'rotate')) ??
    manifest.find((info) => !actsNowhere(info)) ??
    manifest[0];
  if (!chosen) throw new Error('the package lists no encoding');
  return chosen;
}

const siteText: Record<Site, string> = {
  embed: 'added to the embedding',
  rotate: 'turns queries and keys',
  score: 'changes the score',
  value: 'changes the values',
};
export const sitesInWords = (info: EncodingInfo): string =>
  info.sites.length ? info.sites.map((site) => siteText[site]).join('; ') : 'acts nowhere';
