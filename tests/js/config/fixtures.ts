// SPDX-License-Identifier: Apache-2.0
/** Published configurations by file name: the keys that matter, as their authors wrote them. */

const files = import.meta.glob<Record<string, unknown>>('../../fixtures/configs/*.json', {
  eager: true,
  import: 'default',
});

export const fixtures = new Map(
  Object.entries(files).map(([path, config]) => [path.replace(/^.*\/|\.json$/g, ''), config]),
);

/** A fresh copy, which a test may change. */
export function fixture(name: string): Record<string, never> {
  const config = fixtures.get(name);
  if (config === undefined) throw new Error(`there is no fixture ${name}`);
  return structuredClone(config) as Record<string, never>;
}
