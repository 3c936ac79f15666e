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

/** Every key of a configuration, at any depth. */
export function* flatKeys(config: object): Generator<string> {
  for (const [key, value] of Object.entries(config)) {
    yield key;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      yield* flatKeys(value);
  }
}

/** Every place of one: the object and the key. */
export function* paths(
  config: Record<string, unknown>,
): Generator<[Record<string, unknown>, string]> {
  for (const [key, value] of Object.entries(config)) {
    yield [config, key];
    if (typeof value === 'object' && value !== null) yield* paths(value as Record<string, unknown>);
  }
}
