// SPDX-License-Identifier: Apache-2.0
// Single keys, the list of keys, and numbers that are taken along.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labs } from '../../web/src/model/labs.ts';
import { plain } from '../../web/src/parts/copy-number.ts';
import { copied, type Opened, PageDriver, settled, violations } from './page-driver.ts';

let driver: PageDriver;
let opened: Opened;
let page: Page;
beforeAll(async () => {
  driver = await PageDriver.start();
  opened = await driver.open('', {
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  page = opened.page;
});
afterAll(() => driver?.stop());

const at = (id: string) =>
  page.waitForFunction((id) => document.activeElement?.id === `${id}-title`, id);
const blur = () => page.evaluate(() => (document.activeElement as HTMLElement).blur());
const dialog = () => page.locator('dialog[open]');

describe('single keys', () => {
  it('go to every lab', async () => {
    for (const [digit, lab] of [...labs.entries()].reverse()) {
      await page.keyboard.press(String(digit));
      await at(lab);
    }
  });

  it('do nothing in a field, in a figure, or with another key held', async () => {
    await page.locator('#sentence').fill('four');
    await page.keyboard.press('4');
    await page.keyboard.press('?');
    expect(await page.locator('#sentence').inputValue()).toBe('four4?');
    await page.locator('#atlas-map').focus();
    await page.keyboard.press('4');
    await page.keyboard.press('?');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('atlas-map');
    await blur();
    await page.keyboard.press('Alt+4');
    await settled(page);
    expect(await page.evaluate(() => document.activeElement?.id)).not.toBe('config-title');
    expect(await dialog().count()).toBe(0);
  });

  it('list all keys, and give the focus back', async () => {
    await page.locator('#share').focus();
    await page.keyboard.press('?');
    const listed = await dialog()
      .locator('section')
      .evaluateAll((all) =>
        all.map((one) => [
          one.querySelector('h3')?.textContent,
          ...[...one.querySelectorAll('dt')].map(
            (key) => `${key.textContent}: ${key.nextElementSibling?.textContent}`,
          ),
        ]),
      );
    expect(listed).toEqual([
      [
        'Anywhere',
        `0 to ${labs.length - 1}: go to a lab`,
        '?: opens this list',
        'Tab: next control; a figure is one stop',
      ],
      [
        'In a figure',
        'Arrows: move the cursor; with Shift ten steps',
        'Home, End: first and last place',
        'Page Up, Page Down: change the row by several',
        '+, −: zoom',
        'Enter: pins the cursor, or chooses its row',
        'Escape: leaves',
      ],
      [
        'Among words and numbers',
        'Alt + ←, →: move the word in focus, in Lab 0',
        'Enter: goes into a table, a list or the values under a figure',
        'Arrows: from number to number',
        'Enter: copies the number in focus, as a click does',
        'Escape: back to the table or list',
      ],
    ]);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page, 'dialog')).toEqual([]);
    }
    await page.keyboard.press('2');
    expect(await dialog().count()).toBe(1);
    await page.keyboard.press('Escape');
    expect(await dialog().count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('share');
  });

  it('can be turned off, which is remembered, and on again', async () => {
    await page.keyboard.press('?');
    await dialog().getByRole('button', { name: 'Turn single keys off' }).click();
    await dialog().getByRole('button', { name: 'Close' }).click();
    await page.reload();
    await page.waitForSelector('html[data-ready="true"]');
    await page.keyboard.press('?');
    await page.keyboard.press('4');
    await settled(page);
    expect(await dialog().count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.id)).not.toBe('config-title');
    // The list can still be had, by its button.
    await page.locator('#all-keys').click();
    await dialog().getByRole('button', { name: 'Turn single keys on' }).click();
    await page.keyboard.press('Escape');
    await blur();
    await page.keyboard.press('4');
    await at('config');
  });
});

describe('a number', () => {
  it('is copied by a click, with all its digits, and one that is being selected is not', async () => {
    const big = page.locator('.big-number');
    const digits = await big.getAttribute('data-value');
    expect(await copied(page, () => big.click())).toBe(digits);
    // Said at most twice a second.
    await expect.poll(() => page.locator('#live').textContent()).toBe(`${digits} copied`);
    await page.evaluate(() => navigator.clipboard.writeText('kept'));
    await big.evaluate((one) => getSelection()?.selectAllChildren(one));
    await big.dispatchEvent('click');
    await settled(page);
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('kept');
    await page.evaluate(() => getSelection()?.removeAllRanges());
  });

  it('of a table is reached and copied by keys', async () => {
    await page.keyboard.press('1');
    await at('atlas');
    await page.locator('#atlas button[aria-controls="atlas-numbers"]').click();
    const table = page.locator('#atlas-numbers .numbers-scroll');
    const cell = (row: number, column: number) =>
      table.locator('tbody tr').nth(row).locator('td').nth(column);
    await table.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const ringed = await page.evaluate(
      () => getComputedStyle(document.activeElement as Element).outlineStyle,
    );
    expect(ringed).toBe('solid');
    const text = await copied(page, () => page.keyboard.press('Enter'));
    expect(text).toBe(await cell(2, 1).getAttribute('data-value'));
    expect(Number(text).toPrecision(8)).toBe(await cell(2, 1).textContent());
    await page.keyboard.press('Escape');
    expect(await table.evaluate((one) => one === document.activeElement)).toBe(true);
  });

  it('under the cursor of a figure is reached once it is pinned', async () => {
    await page.locator('#atlas-map').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.locator('#atlas .readout').focus();
    await page.keyboard.press('Enter');
    const text = await copied(page, () => page.keyboard.press('Enter'));
    expect(Number(text)).toBeCloseTo(Math.cos(1), 6);
    expect(opened.complaints).toEqual([]);
  });

  it('loses what only people read', () => {
    expect(plain(' −1,234,567.25 ')).toBe('-1234567.25');
    expect(plain('0.25 %')).toBe('0.25 %');
  });
});
