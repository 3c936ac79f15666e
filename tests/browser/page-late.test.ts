// SPDX-License-Identifier: Apache-2.0
// What comes late, and what somebody does before: a link past labs that load, a file saved before its figure was drawn, a lab that
// rests while it is out of reach.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEveryLab, PageDriver, settled } from './page-driver.ts';

let driver: PageDriver;
beforeAll(async () => {
  driver = await PageDriver.start();
});
afterAll(() => driver?.stop());

describe('a link to a late lab', () => {
  it('lands there, whatever loads on the way', async () => {
    const { page, close } = await driver.open();
    for (const lab of ['train', 'order', 'use']) {
      await page.evaluate(
        (id) => document.querySelector<HTMLElement>(`.bar-nav a[href="#${id}"]`)?.click(),
        lab,
      );
      await page.waitForSelector(`#${lab}:not(.lazy:not([data-loaded]))`);
      // A smooth scroll over the whole page, and what loads on the way.
      await page.waitForTimeout(2500);
      await settled(page);
      const top = await page.evaluate(
        (id) => document.getElementById(id)?.getBoundingClientRect().top ?? 0,
        lab,
      );
      const last = await page.evaluate(
        () => scrollY + innerHeight > document.documentElement.scrollHeight - 2,
      );
      if (!last) expect(Math.abs(top - 80), lab).toBeLessThan(40);
    }
    await close();
  }, 120_000);
});

describe('what is drawn late', () => {
  it('is whole in a file that is saved before it was on screen', async () => {
    const { page, close } = await driver.open('#v1&lab=atlas&enc=rope&len=4096');
    const saved = page.waitForEvent('download');
    await page.evaluate(() => {
      const slider = document.querySelector<HTMLInputElement>(
        '#atlas [data-field="base"] input[type="range"]',
      );
      if (!slider) throw new Error('no slider');
      slider.valueAsNumber += Number(slider.step) * 20;
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      const csv = [...document.querySelectorAll<HTMLButtonElement>('#atlas-curve-figure button')];
      csv.find(({ textContent }) => textContent === 'CSV')?.click();
    });
    const stream = await (await saved).createReadStream();
    let text = '';
    for await (const chunk of stream) text += chunk;
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines[0]).toContain('envelope,mean of random vectors,deviation of random vectors');
    expect(lines).toHaveLength(4097);
    expect(lines.slice(1).every((line) => line.split(',').every((x) => x !== 'NaN'))).toBe(true);
    await close();
  }, 60_000);
});

describe('a lab out of reach', () => {
  it('is not rendered, keeps its room, and is there for whoever comes', async () => {
    const { page, close } = await driver.open('', { reducedMotion: 'reduce' });
    await openEveryLab(page);
    const look = () =>
      page.evaluate(() => ({
        rendered: document
          .querySelector('#config-text')
          ?.checkVisibility({ contentVisibilityAuto: true }),
        height: document.documentElement.scrollHeight,
      }));
    await page.evaluate(() =>
      document.querySelector('#config-text')?.scrollIntoView({ behavior: 'instant' }),
    );
    await expect.poll(look).toMatchObject({ rendered: true });
    await settled(page);
    const { height } = await look();
    await page.evaluate(() => scrollTo({ top: 0, behavior: 'instant' }));
    await expect.poll(look).toMatchObject({ rendered: false, height });
    // By keyboard, without scrolling first: what takes the focus is rendered again and comes into view.
    await page.evaluate(() => document.querySelector<HTMLElement>('#config-text')?.focus());
    await expect.poll(look).toMatchObject({ rendered: true });
    const box = await page.locator('#config-text').boundingBox();
    expect(box).not.toBeNull();
    const { y, height: tall } = box as { y: number; height: number };
    expect(y + tall).toBeGreaterThan(0);
    expect(y).toBeLessThan(page.viewportSize()?.height ?? 0);
    await close();
  }, 120_000);
});
