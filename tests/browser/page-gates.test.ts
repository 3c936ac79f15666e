// SPDX-License-Identifier: Apache-2.0
// What holds for all labs together: the keyboard alone, questions before answers, forced colours, links, paper, no script at all.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { firstView, most } from '../../web/budget.ts';
import { labs } from '../../web/src/model/labs.ts';
import { stated } from '../../web/src/parts/print.ts';
import {
  type Opened,
  openEveryLab,
  PageDriver,
  screenshots,
  settled,
  shoot,
  violations,
} from './page-driver.ts';

let driver: PageDriver;
let opened: Opened;
let page: Page;
beforeAll(async () => {
  driver = await PageDriver.start();
  opened = await driver.open('', { reducedMotion: 'reduce' });
  page = opened.page;
});
afterAll(() => driver?.stop());

const inFocus = <T>(read: (element: HTMLElement) => T): Promise<T> =>
  page
    .evaluateHandle(() => document.activeElement as HTMLElement)
    .then((one) => one.evaluate(read));

/** Tabs until the focus is on what fits; fails after so many. */
async function tabTo(selector: string, limit = 60): Promise<void> {
  for (let i = 0; i < limit; i += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((one) => document.activeElement?.matches(one), selector)) return;
  }
  throw new Error(`${limit} Tabs do not reach ${selector}`);
}

describe('the keyboard alone', () => {
  it.each(labs)('goes to %s from the bar, and into it', async (lab) => {
    await page.evaluate(() => {
      (document.activeElement as HTMLElement).blur();
      scrollTo(0, 0);
    });
    await page.locator('.wordmark').focus();
    await tabTo(`.bar-nav a[href="#${lab}"]`, 12);
    await page.keyboard.press('Enter');
    await page.waitForSelector(`#${lab}:not(.lazy:not([data-loaded]))`);
    await page.waitForFunction((id) => document.activeElement?.id === `${id}-title`, lab);
    await page.keyboard.press('Tab');
    expect(await inFocus((one) => one.closest('.lab')?.id)).toBe(lab);
    expect(await inFocus((one) => getComputedStyle(one).outlineStyle)).not.toBe('none');
    await page.keyboard.press('Shift+Tab');
    expect(await inFocus((one) => one.closest('.lab')?.id)).not.toBe(lab);
  });

  it('answers the question of each lab that has one, and finds what is measured', async () => {
    const right: Record<string, string> = {
      order: 'Something changes',
      atlas: 'Above',
      beyond: 'Fewer than half',
      words: 'Only B',
      train: 'Both alike',
    };
    for (const lab of labs) {
      // Its answer is a run against another library: page-bench.test.ts.
      if (lab === 'bench') continue;
      const guess = page.locator(`#${lab} .guess`);
      if ((await guess.count()) === 0) continue;
      expect(await guess.isVisible(), lab).toBe(true);
      await guess.locator('button').first().focus();
      await page.keyboard.press('Enter');
      await settled(page);
      const answer = (await guess.locator('.guess-answer').textContent()) ?? '';
      expect(answer, lab).toMatch(/^(As you expected|Not so: )/);
      expect(answer, lab).toMatch(/\d/);
      expect(await guess.isVisible(), lab).toBe(true);
      const shown = await guess.locator('button.right').textContent();
      if (right[lab]) expect(shown, lab).toBe(right[lab]);
    }
    // What was asked about has been done.
    expect(await page.locator('#order input[value="causal"]').isChecked()).toBe(true);
    expect(Number(await page.locator('.big-number').getAttribute('data-value'))).toBeGreaterThan(0);
    expect(page.url()).toContain('len=4097');
    expect(page.url()).toContain('mix=');
    expect(opened.complaints).toEqual([]);
  });

  it('skips a question, and all of them for good', async () => {
    await page.selectOption('#encoding', 'rope-yarn');
    await page.locator('#reset').click();
    await settled(page);
    const atlas = page.locator('#atlas .guess');
    expect(await atlas.isVisible()).toBe(true);
    await atlas.getByRole('button', { name: 'Skip' }).click();
    expect(await atlas.isVisible()).toBe(false);
    await page.locator('#questions').click();
    expect(await page.locator('.guess:visible').count()).toBe(0);
    await page.reload();
    await page.waitForSelector('html[data-ready="true"]');
    expect(await page.locator('.guess:visible').count()).toBe(0);
    await page.locator('#questions').click();
    expect(await page.locator('#order .guess').isVisible()).toBe(true);
  });
});

describe('all labs together', () => {
  beforeAll(async () => {
    await openEveryLab(page);
  });

  it('have no violation in forced colours', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    for (const width of [360, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await settled(page);
      expect(await violations(page, 'body'), `at ${width}`).toEqual([]);
    }
    await page.emulateMedia({ forcedColors: 'none' });
  });

  it('link to what there is', async () => {
    const links = await page
      .locator('a[href]')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href') as string));
    expect(links.length).toBeGreaterThan(10);
    for (const link of new Set(links))
      if (link.startsWith('#')) expect(await page.locator(link).count(), link).toBe(1);
      else if (/^\w+:/.test(link)) expect(new URL(link).protocol, link).toBe('https:');
      else
        expect((await page.request.get(new URL(link, driver.address).href)).ok(), link).toBe(true);
  });

  it('say their state on paper', async () => {
    await page.evaluate(() => {
      location.hash = '#v1&enc=alibi&len=64&say=one+two';
    });
    await settled(page);
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    const text = ((await page.locator('#paper').textContent()) ?? '').replace(/\s+/g, ' ');
    expect(text).toContain('encoding ALiBi');
    expect(text).toContain('enc = alibi; len = 64; say = one two');
    expect(text).toContain(page.url());
    for (const part of ['.bar', '.foot', '.button-row'])
      expect(await page.locator(part).first().isVisible(), part).toBe(false);
    await page.pdf({ path: `${screenshots}/paper.pdf`, printBackground: true });
    await page.setViewportSize({ width: 794, height: 1123 });
    await page.screenshot({ path: `${screenshots}/paper.png` });
    await page.emulateMedia({ media: 'screen' });
    expect(stated('#v1&a=b+c&d=%26')).toEqual([
      ['a', 'b c'],
      ['d', '&'],
    ]);
    expect(opened.complaints).toEqual([]);
  });
});

it('still reads without any script', async () => {
  const { page: plain, close } = await driver.open(
    '',
    { javaScriptEnabled: false },
    () => undefined,
  );
  for (const lab of labs) expect(await plain.locator(`#${lab}-title`).isVisible(), lab).toBe(true);
  expect(await plain.locator('noscript .notice').isVisible()).toBe(true);
  await close();
});

it('draws the first lab ahead as it is drawn live', async () => {
  const parts = ['.words', '.answer', '.what', '.strips', '.row-panel', '.legend'];
  const read = (one: Page) =>
    Promise.all(parts.map((part) => one.locator(`#order ${part}`).first().textContent()));
  const plain = await driver.open('', { javaScriptEnabled: false }, () => undefined);
  const live = await driver.open();
  expect(await read(plain.page)).toEqual(await read(live.page));
  // Five words: as many rows of outputs, and a square of weights under the marks.
  expect(await plain.page.locator('#order svg.strip').count()).toBe(10);
  expect(await plain.page.locator('#order .overlay > svg').isVisible()).toBe(true);
  expect(await plain.page.locator('#order-body [style]').count()).toBe(0);
  await shoot(plain.page, '#order', `${screenshots}/lab-order-ahead.png`);
  await plain.close();
  await live.close();
});

it('needs little for the first view', () => {
  const files = firstView(inject('page').folder);
  expect(files.length).toBeGreaterThan(2);
  const sum = files.reduce((all, { bytes }) => all + bytes, 0);
  console.log(`first view: ${sum} bytes of ${most} after brotli`);
  expect(sum).toBeLessThanOrEqual(most);
});
