// SPDX-License-Identifier: Apache-2.0
import { actsNowhere, type EncodingInfo, type Site } from '../../model/manifest.ts';

/** None, and of each kind the first that needs no trained table. */
export function usualPupils(manifest: readonly EncodingInfo[]): string[] {
  const bare = (info: EncodingInfo): boolean =>
    info.tables.every(({ required, usual }) => !required && !usual);
  return [
    manifest.find(actsNowhere),
    ...(['embed', 'rotate', 'score'] as readonly Site[]).map((site) =>
      manifest.find((info) => info.sites[0] === site && bare(info)),
    ),
  ].flatMap((info) => (info ? [info.id] : []));
}
