// SPDX-License-Identifier: Apache-2.0
// Figures for those who have no scripts, or no WebAssembly: drawn when the page was built, fetched by nobody else.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  type Opened,
  openEveryLab,
  PageDriver,
  screenshots,
  shoot,
  violations,
} from './page-driver.ts';

let driver: PageDriver;
beforeAll(async () => {
  driver = await PageDriver.start();
});
afterAll(() => driver?.stop());

const labs: Readonly<Record<string, number>> = {
  atlas: 2,
  beyond: 3,
  words: 3,
  config: 1,
  train: 1,
};
const images = (page: Page, lab: string) => page.locator(`#${lab} .ahead img`);

async function seen(page: Page, note: string): Promise<void> {
  for (const [lab, count] of Object.entries(labs)) {
    expect(await images(page, lab).count(), lab).toBe(count);
    for (const image of await images(page, lab).all()) {
      await image.scrollIntoViewIfNeeded();
      await expect
        .poll(() => image.evaluate((one) => (one as HTMLImageElement).naturalWidth), {
          timeout: 20_000,
        })
        .toBeGreaterThan(300);
    }
    for (const text of await page.locator(`#${lab} .ahead figcaption`).allTextContents())
      expect(text.length).toBeGreaterThan(30);
    await shoot(page, `#${lab}`, `${screenshots}/lab-${lab}-${note}.png`);
  }
}

describe('figures drawn ahead', () => {
  it.each(['light', 'dark'] as const)('show without scripts, %s', async (colorScheme) => {
    const options = { javaScriptEnabled: false, colorScheme };
    const { page, complaints, close } = await driver.open('', options, () => undefined);
    await seen(page, `ahead-${colorScheme}`);
    expect(complaints).toEqual([]);
    await close();
  });

  it('show without WebAssembly, at 360 pixels, with what is missing named', async () => {
    const viewport = { width: 360, height: 800 };
    const { page, close } = await driver.open('', { viewport }, () =>
      Reflect.deleteProperty(globalThis, 'WebAssembly'),
    );
    await page.waitForSelector('#notice:not([hidden])');
    expect(await page.locator('#notice').textContent()).toMatch(
      /lacks WebAssembly,.*default state of each lab/,
    );
    await seen(page, 'without-wasm');
    expect(await violations(page, 'main')).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(
      true,
    );
    await close();
  });

  it('are asked for by nobody else', async () => {
    const opened: Opened = await driver.open();
    await openEveryLab(opened.page);
    expect(opened.requests.filter((address) => address.includes('/ahead/'))).toEqual([]);
    expect(await opened.page.locator('.ahead:visible').count()).toBe(0);
    await opened.close();
  });

  it('are what the labs draw', async () => {
    const { page, close } = await driver.open('#v1&lab=atlas', {
      viewport: { width: 1440, height: 900 },
    });
    const said = await page.locator('#atlas-map').getAttribute('aria-label');
    expect(await page.locator('#atlas .ahead figcaption').first().textContent()).toBe(said);
    const source = await images(page, 'atlas').first().getAttribute('src');
    const file = readFileSync(`${inject('page').folder}/${source}`, 'utf8');
    expect(file).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="640"/);
    expect(file).not.toMatch(/NaN|undefined|<script/);
    await close();
  });
});
