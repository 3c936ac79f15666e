// SPDX-License-Identifier: Apache-2.0
// The trained heads that come with the page, by tools/heads.mjs: what the header of each says comes with the lab, the weights
// only when they are asked for.
export interface HeadsFile {
  /** As the address has it. */
  readonly name: string;
  readonly url: string;
  readonly metadata: Readonly<Record<string, string | undefined>>;
}

const headers = import.meta.glob<HeadsFile['metadata']>('./trained/*.safetensors', {
  query: '?metadata',
  import: 'default',
  eager: true,
});
const urls = import.meta.glob<string>('./trained/*.safetensors', {
  query: '?url',
  import: 'default',
  eager: true,
});

export const files: readonly HeadsFile[] = Object.entries(headers).map(([path, metadata]) => ({
  name: path.replace(/^.*\/|\.safetensors$/g, ''),
  url: urls[path] ?? '',
  metadata,
}));
