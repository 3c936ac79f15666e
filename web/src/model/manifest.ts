// SPDX-License-Identifier: Apache-2.0
// What the page knows of an encoding: only what the manifest says.

export type Site = 'embed' | 'rotate' | 'score' | 'value';
export type FieldValue = number | string | boolean | readonly number[] | readonly string[];

export interface Dimension {
  readonly option?: string;
  readonly times?: number;
  readonly over?: number;
  readonly plus?: number;
  readonly free?: string;
  readonly example?: number;
}
export interface FieldInfo {
  readonly name: string;
  readonly doc: string;
  readonly type: 'integer' | 'number' | 'boolean' | 'choice' | 'names' | 'list';
  readonly required: boolean;
  readonly default?: FieldValue;
  readonly defaultFrom?: string;
  readonly example?: FieldValue;
  readonly min?: number;
  readonly exclusiveMin?: boolean;
  readonly max?: number;
  readonly multipleOf?: number;
  readonly choices?: readonly string[];
  readonly logarithmic?: boolean;
  /** Of a list: how many numbers. */
  readonly length?: Dimension | number;
}
export interface TableInfo {
  readonly name: string;
  readonly doc: string;
  readonly required: boolean;
  /** Optional, because another can stand in; here it stands. */
  readonly usual?: boolean;
  readonly shape: readonly (Dimension | number)[];
  readonly deviation?: number;
}
export interface EncodingInfo {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly formula: string;
  readonly paper: string;
  readonly url: string;
  readonly usedBy: readonly string[];
  readonly sites: readonly Site[];
  readonly axes: number;
  readonly positions: 'real' | 'integer' | 'index';
  /** Of several axes: all of them count the tokens of a text. */
  readonly textAxes?: boolean;
  readonly relative: boolean;
  readonly contentFree: boolean;
  /** Distances count as others, which the package tells. */
  readonly remapsDistance: boolean;
  readonly fields: readonly FieldInfo[];
  readonly tables: readonly TableInfo[];
}

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
