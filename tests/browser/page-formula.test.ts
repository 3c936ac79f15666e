// SPDX-License-Identifier: Apache-2.0
// Formulas of the manifest as the build writes them: nothing lost on the way, words that can be said, and shown as such.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodings } from '../../dist/index.node.js';
import { formulaOf } from '../../web/formulas.ts';
import type { Branch } from '../../web/src/parts/formula.ts';
import { goTo, PageDriver, screenshots, shoot, violations } from './page-driver.ts';

const textOf = ([, , ...children]: Branch): string =>
  children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');
/** Letters and numbers in order, wherever they stand: above, below, or on the line. */
const bare = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/∑/g, 'Σ')
    .replace(/ϕ/g, 'φ')
    .replace(/[^\p{Letter}\p{Number}]/gu, '');

describe.each(encodings)('the formula of $id', ({ formula }) => {
  const { parts, spoken } = formulaOf(formula);
  it('keeps every letter and number', () => {
    expect(bare(parts.map(textOf).join(' '))).toBe(bare(formula));
  });
  it('is sound MathML without styles', () => {
    const walk = ([name, attributes, ...children]: Branch): void => {
      expect(name).toMatch(/^m[a-z]+$/);
      expect(Object.keys(attributes)).not.toContain('style');
      for (const child of children) if (typeof child !== 'string') walk(child);
    };
    for (const part of parts) {
      expect(part[0]).toBe('math');
      walk(part);
    }
  });
  it('can be read out', () => {
    expect(spoken).toMatch(/^[a-zA-Z0-9 ,;.]+$/);
  });
});

it('says powers, indices and bounds', () => {
  expect(formulaOf('ωᵢ = base^(−2i/r)').spoken).toBe(
    'omega sub i equals base to the power of minus 2 i over r,',
  );
  expect(formulaOf('√(3d) ≤ Σ_{t=j..m} x').spoken).toBe(
    'the root of 3 d, at most the sum over t equals j to m, x',
  );
  expect(formulaOf('c: d; x ? [a] : b').spoken).toBe('c, d; x then open a, else b');
  expect(() => formulaOf('a ⊕ b')).toThrow('no way to write ⊕');
  expect(() => formulaOf('a^(b')).toThrow('open bracket');
});

describe('on the page', () => {
  let driver: PageDriver;
  beforeAll(async () => {
    driver = await PageDriver.start();
  });
  afterAll(() => driver?.stop());

  it('stands as MathML, fits, and has its words', async () => {
    const viewport = { width: 360, height: 800 };
    const { page, complaints, close } = await driver.open('#v1&lab=atlas', { viewport });
    for (const { id, formula } of encodings) {
      await goTo(page, `#v1&lab=atlas&len=16&enc=${id}`);
      const shown = page.locator('.facts .formula');
      expect(await shown.getAttribute('aria-label')).toBe(formulaOf(formula).spoken);
      const across = await shown.evaluate((one) => [
        one.scrollWidth - one.clientWidth,
        ...[...one.querySelectorAll('math')].map((part) =>
          Math.max(0, part.getBoundingClientRect().right - one.getBoundingClientRect().right),
        ),
      ]);
      expect(Math.max(...across), id).toBeLessThanOrEqual(0);
      expect(across.length, id).toBeGreaterThan(1);
    }
    expect(await violations(page, '.facts')).toEqual([]);
    await shoot(page, '.facts', `${screenshots}/formula.png`);
    expect(complaints).toEqual([]);
    await close();
  });
});
