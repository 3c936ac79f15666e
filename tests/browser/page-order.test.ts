// SPDX-License-Identifier: Apache-2.0
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { change, PageDriver, settled } from './page-driver.ts';

let driver: PageDriver;
beforeAll(async () => {
  driver = await PageDriver.start();
});
afterAll(() => driver?.stop());

/** Above any rounding of these sums, far below any real change of an output of size one. */
const roundingAtMost = 1e-6;
const reversed = 'order=4.3.2.1.0';
/** A mirror image keeps every distance, and some encodings see no more than that. */
const mixed = 'order=2.4.0.1.3';

describe('Lab 0', () => {
  it('takes a typed sentence and marks equal words', async () => {
    const { page, complaints, close } = await driver.open();
    await page.fill('#sentence', 'what was was what will be');
    await settled(page);
    expect(await page.locator('.word-text').allInnerTexts()).toEqual(
      'what was was what will be'.split(' '),
    );
    expect(await page.locator('.word .twin').allInnerTexts()).toEqual(['=a', '=b', '=b', '=a']);
    expect(await page.locator('.strips tbody tr').count()).toBe(6);
    expect(complaints).toEqual([]);
    await close();
  });

  it('shuffles and undoes by button', async () => {
    const { page, close } = await driver.open();
    const words = () =>
      page
        .locator('.word')
        .evaluateAll((all) => all.map((word) => (word as HTMLElement).dataset.word).join());
    await page.getByRole('button', { name: 'Shuffle' }).click();
    await settled(page);
    expect(await words()).not.toBe('0,1,2,3,4');
    await page.getByRole('button', { name: 'Undo' }).click();
    await settled(page);
    expect(await words()).toBe('0,1,2,3,4');
    await page.getByRole('button', { name: 'Swap two' }).click();
    await settled(page);
    expect((await page.locator('.word-text').allInnerTexts()).join(' ')).toBe(
      'the man bit the dog',
    );
    await close();
  });

  it('moves a word by keyboard alone', async () => {
    const { page, close } = await driver.open();
    await page.locator('.word[aria-selected="true"]').focus();
    await page.keyboard.press('ArrowRight');
    await settled(page);
    await page.keyboard.press('Alt+ArrowRight');
    await settled(page);
    await page.keyboard.press('Alt+ArrowRight');
    await settled(page);
    expect((await page.locator('.word-text').allInnerTexts()).join(' ')).toBe(
      'the dog the man bit',
    );
    expect(
      await page.evaluate(() => document.activeElement?.querySelector('.word-text')?.textContent),
    ).toBe('bit');
    await close();
  });

  it('finds rounding only without encoding and mask, and nothing at all in canonical order', async () => {
    const { page, close } = await driver.open(`#v1&${reversed}`);
    const noise = Number(await page.locator('.big-number').getAttribute('data-noise'));
    expect(await change(page)).toBeLessThanOrEqual(roundingAtMost);
    expect(await change(page)).toBeLessThanOrEqual(noise);
    await page.getByRole('checkbox', { name: 'Sum in canonical order' }).check();
    expect(await change(page)).toBe(0);
    expect(await page.locator('.verdict').textContent()).toBe('Not one bit differs.');
    await close();
  });

  it('gives equal words equal outputs while positions are off', async () => {
    const { page, close } = await driver.open('#v1&order=1.0.2.3.4&token=0');
    const rows = await page.locator('.row-list li').allInnerTexts();
    const shares = rows.filter((row) => row.startsWith('the')).map((row) => row.split(/\s+/)[1]);
    expect(shares).toHaveLength(2);
    expect(shares[0]).toBe(shares[1]);
    await close();
  });

  it('shows that a causal mask alone tells order apart', async () => {
    const { page, close } = await driver.open(`#v1&${reversed}`);
    await page.getByText('Causal', { exact: true }).click();
    expect(await change(page)).toBeGreaterThan(1e-3);
    expect(await page.locator('#order .notice-text').textContent()).toContain(
      'causal mask already tells order apart',
    );
    expect(await page.getByRole('checkbox', { name: 'Sum in canonical order' }).isDisabled()).toBe(
      true,
    );
    await close();
  });

  it('sees order with every encoding that acts, and not with the one that does not', async () => {
    const { page, complaints, close } = await driver.open(`#v1&${mixed}`);
    const noise = Number(await page.locator('.big-number').getAttribute('data-noise'));
    const ids = await page
      .locator('#order-encoding option')
      .evaluateAll((all) => all.map((option) => (option as HTMLOptionElement).value));
    expect(ids[0]).toBe('none');
    for (const id of ids) {
      await page.selectOption('#order-encoding', id);
      const found = await change(page);
      if (id === 'none') expect(found, id).toBeLessThanOrEqual(noise);
      else expect(found, id).toBeGreaterThan(noise);
      expect(
        await page.locator('#order-body > .order-top .control-error[role="alert"]').isHidden(),
        id,
      ).toBe(true);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it('reads the row of a chosen word, chosen on the map with the arrow keys', async () => {
    const { page, close } = await driver.open();
    await page.locator('.stage.square').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
    await settled(page);
    expect(await page.locator('.row-panel h3').textContent()).toBe('bit looks at');
    const shares = (await page.locator('.row-list .number').allInnerTexts()).map(Number.parseFloat);
    expect(shares).toEqual([...shares].sort((a, b) => b - a));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 0);
    await close();
  });

  it('survives one word, sixty-four words, and markup typed as a sentence', async () => {
    const { page, complaints, close } = await driver.open();
    for (const text of [
      'alone',
      'w '.repeat(80).trim(),
      '<img src=x onerror=alert(1)> <b>bold</b>',
    ]) {
      await page.fill('#sentence', text);
      await settled(page);
      expect(Number.isFinite(await change(page))).toBe(true);
    }
    expect(await page.locator('.word-text').first().textContent()).toBe('<img');
    expect(await page.locator('#order img').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  it('marks its first answer, once, for ./run bench --page to tell when that is', async () => {
    const { page, close } = await driver.open();
    expect(await page.evaluate(() => performance.getEntriesByName('first answer').length)).toBe(1);
    await close();
  });
});
