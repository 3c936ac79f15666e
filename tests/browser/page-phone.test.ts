// SPDX-License-Identifier: Apache-2.0
// Controls on a narrow screen: in a sheet, with the figure in view above it.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Opened,
  openEveryLab,
  PageDriver,
  screenshots,
  settled,
  violations,
} from './page-driver.ts';

let driver: PageDriver;
let opened: Opened;
let page: Page;
const viewport = { width: 360, height: 740 };
beforeAll(async () => {
  driver = await PageDriver.start();
  opened = await driver.open('', { viewport, hasTouch: true, reducedMotion: 'reduce' });
  page = opened.page;
  await openEveryLab(page);
});
afterAll(() => driver?.stop());

const bar = () => page.locator('.sheet-bar button');
const sheet = (lab: string) => page.locator(`#${lab}-sheet`);
const inFocus = (selector: string) =>
  page.evaluate((one) => document.activeElement?.matches(one) ?? false, selector);
async function visit(lab: string): Promise<void> {
  await page.evaluate(
    (id) => document.querySelector<HTMLElement>(`.bar-nav a[href="#${id}"]`)?.click(),
    lab,
  );
  await page.waitForFunction((id) => document.activeElement?.id === `${id}-title`, lab);
  await bar().waitFor();
  await page.waitForFunction(
    (id) =>
      document.querySelector('.sheet-bar button')?.getAttribute('aria-controls') === `${id}-sheet`,
    lab,
  );
}

describe.each(['atlas', 'beyond', 'words', 'train'])('the sheet of %s', (lab) => {
  it('opens and closes by keys, and leaves a figure in view', async () => {
    await visit(lab);
    expect(await sheet(lab).isVisible()).toBe(false);
    await bar().focus();
    await page.keyboard.press('Enter');
    expect(await sheet(lab).isVisible()).toBe(true);
    expect(await bar().getAttribute('aria-expanded')).toBe('true');
    expect(await inFocus(`#${lab}-sheet button`)).toBe(true);
    await settled(page);
    const seen = await page.evaluate((lab) => {
      const edge = document.getElementById(`${lab}-sheet`)?.getBoundingClientRect().top ?? 0;
      const under = document.querySelector('.bar')?.getBoundingClientRect().bottom ?? 0;
      return Math.max(
        ...[...document.querySelectorAll(`#${lab} .stage`)].map((one) => {
          const { top, bottom } = one.getBoundingClientRect();
          return Math.min(bottom, edge) - Math.max(top, under);
        }),
      );
    }, lab);
    expect(seen).toBeGreaterThan(140);
    await page.keyboard.press('Tab');
    expect(await inFocus(`#${lab}-sheet .sheet-body *`)).toBe(true);
    await page.screenshot({ path: `${screenshots}/sheet-${lab}.png` });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page, `#${lab}-sheet`), colorScheme).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
    expect(await violations(page, `#${lab}-sheet`)).toEqual([]);
    await page.emulateMedia({ forcedColors: 'none' });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wide).toBeLessThanOrEqual(0);
    await page.keyboard.press('Escape');
    expect(await sheet(lab).isVisible()).toBe(false);
    expect(await inFocus('.sheet-bar button')).toBe(true);
  });

  it('lays none of its controls over another', async () => {
    await visit(lab);
    await bar().click();
    const over = await sheet(lab)
      .locator('button, select, input:not([type="radio"]), .segments label')
      .evaluateAll((all) => {
        const boxes = all
          .filter((one) => one.checkVisibility())
          .map((one) => one.getBoundingClientRect());
        return boxes.flatMap((a, i) =>
          boxes
            .slice(i + 1)
            .filter(
              (b) =>
                a.top >= 0 &&
                Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5,
            ),
        ).length;
      });
    expect(over).toBe(0);
    await sheet(lab).getByRole('button', { name: 'Close' }).click();
    expect(await sheet(lab).isVisible()).toBe(false);
  });
});

describe('on a phone', () => {
  it('a slider moves the figure, which stays where it is', async () => {
    await visit('atlas');
    await bar().click();
    const map = page.locator('#atlas-map');
    const place = async () => (await map.boundingBox())?.y;
    const before = await place();
    const slider = sheet('atlas').locator('input[type="range"]').first();
    await slider.scrollIntoViewIfNeeded();
    const area = (await slider.boundingBox()) as { x: number; y: number; width: number };
    const numbers = () => map.getAttribute('aria-label');
    const said = await numbers();
    await page.mouse.move(area.x + 20, area.y + 8);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width - 10, area.y + 8, { steps: 5 });
    await expect.poll(numbers).not.toBe(said);
    expect(await place()).toBe(before);
    await page.mouse.up();
    await page.keyboard.press('Escape');
  });

  it('gestures of two fingers are never taken, and nothing forbids to zoom', async () => {
    const stages = await page
      .locator('.stage')
      .evaluateAll((all) => [...new Set(all.map((one) => getComputedStyle(one).touchAction))]);
    expect(stages).toEqual(['pan-y pinch-zoom']);
    const meta = await page.locator('meta[name="viewport"]').getAttribute('content');
    expect(meta).not.toMatch(/maximum-scale|user-scalable/);
  });

  it('labs without a sheet have no bar, and paper has none', async () => {
    await page.locator('#top').evaluate(() => scrollTo(0, 0));
    await expect.poll(() => page.locator('.sheet-bar').isVisible()).toBe(false);
    await visit('atlas');
    await bar().click();
    await page.emulateMedia({ media: 'print' });
    for (const one of ['.sheet-bar', '#atlas-sheet'])
      expect(await page.locator(one).isVisible()).toBe(false);
    await page.emulateMedia({ media: 'screen' });
    await page.keyboard.press('Escape');
  });

  it('everything is back in its place on a wide screen, and the other way', async () => {
    const side = page.locator('.atlas-side > .controls-box');
    const first = page.locator('#train-body > .words-switches + .method-list');
    expect(await side.count()).toBe(0);
    await page.setViewportSize({ width: 1440, height: 900 });
    await expect.poll(() => side.isVisible()).toBe(true);
    expect(await first.isVisible()).toBe(true);
    expect(await page.locator('.sheet-bar, .sheet').filter({ visible: true }).count()).toBe(0);
    await page.setViewportSize(viewport);
    await expect.poll(() => side.count()).toBe(0);
    await visit('words');
    await bar().click();
    expect(await sheet('words').locator('.control').first().isVisible()).toBe(true);
    expect(opened.complaints).toEqual([]);
  });
});
