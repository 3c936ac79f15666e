// SPDX-License-Identifier: Apache-2.0
import { text } from '../errors.js';
import { configFault } from './faults.js';
import { isPlain } from './section.js';

/** The largest published files have some hundred thousand characters, for lists of labels. */
const longestText = 16 * 2 ** 20;

/** The object itself, or the object in a text of JSON. */
export function parseConfig(where: string, json: unknown): object {
  const value = typeof json === 'string' ? parseText(where, json) : json;
  if (isPlain(value)) return value;
  throw configFault('NOT_A_CONFIG', {
    where,
    path: 'config',
    expected: 'an object, as JSON.parse gives it, or its text',
    received: value,
  });
}

function parseText(where: string, json: string): unknown {
  if (json.length > longestText)
    throw configFault('TOO_COMPLEX', {
      where,
      path: 'config',
      expected: `a text of at most ${longestText} characters`,
      received: json.length,
    });
  try {
    return JSON.parse(json.charCodeAt(0) === 0xfeff ? json.slice(1) : json);
  } catch (error) {
    // Where it stopped, as far as the engine tells.
    const at = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    throw configFault('NOT_A_CONFIG', {
      where,
      path: 'config',
      expected: 'JSON',
      received: text(
        at === undefined ? 'a text that is not' : `a text that ends to be so at ${at}`,
      ),
      more: at === undefined ? {} : { offset: Number(at) },
    });
  }
}
