// SPDX-License-Identifier: Apache-2.0
/** The examples of docs/attention.md, run: what stands behind a line in a comment is what it gives. */

import { fromTotal, PosencError } from 'posenc';
import { describe, expect, it } from 'vitest';
import doc from '../../docs/attention.md?raw';
import { pe } from './support/instance.ts';
import { expectClose } from './support/numbers.ts';

const blocks = [...doc.matchAll(/```js( helpers)?\n([\s\S]*?)```/g)].map(([, helpers, code]) => ({
  helpers: helpers !== undefined,
  code,
}));
const helpers = blocks.filter((block) => block.helpers).map(({ code }) => code);
const examples = blocks.filter((block) => !block.helpers).map(({ code }) => code);

/** A line `expression; // [numbers]` or `expression; // throws CODE` becomes a check. */
const checking = (line: string) =>
  line
    .replace(/^(.*); \/\/ (\[.*\])$/, 'same($1, $2);')
    .replace(/^(.*); \/\/ throws (\w+)$/, 'fails(() => $1, "$2");');

function run(code: string): number {
  let checks = 0;
  const same = (given: number | ArrayLike<number>, want: readonly number[]) => {
    checks += 1;
    const got = typeof given === 'number' ? [given] : given;
    expectClose(got, want, { rtol: 1e-6, atol: 1e-6 }, code);
  };
  const fails = (call: () => unknown, expected: string) => {
    checks += 1;
    try {
      call();
    } catch (error) {
      expect(PosencError.is(error) && error.code).toBe(expected);
      return;
    }
    throw new Error(`no ${expected}`);
  };
  const body = [...helpers, ...code.split('\n').map(checking)].join('\n');
  new Function('pe', 'fromTotal', 'same', 'fails', body)(pe, fromTotal, same, fails);
  return checks;
}

describe('docs/attention.md', () => {
  for (const code of examples)
    it(code.split('\n').slice(-2)[0].slice(0, 100), () => {
      expect(run(code)).toBeGreaterThan(0);
    });
  it('has examples', () => expect(examples.length).toBeGreaterThan(15));
});
