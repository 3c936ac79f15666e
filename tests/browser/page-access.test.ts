// SPDX-License-Identifier: Apache-2.0
// Who can use the page: screen readers, keyboards, narrow screens, dark rooms, old browsers.
import { readFileSync } from 'node:fs';
import { brotliCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contrast, diverging, sequential } from '../../web/src/model/colour.ts';
import { labs } from '../../web/src/model/labs.ts';
import { openEveryLab, PageDriver, screenshots, settled, violations } from './page-driver.ts';

let driver: PageDriver;
beforeAll(async () => {
  driver = await PageDriver.start();
});
afterAll(() => driver?.stop());

const busy = '#v1&lab=atlas&order=4.1.2.3.0&mask=causal';

describe('the page for everybody', () => {
  it.each(['light', 'dark'] as const)(
    'has no accessibility violation and no sideways scrolling at any width, %s',
    async (colorScheme) => {
      const { page, complaints, close } = await driver.open(busy, { colorScheme });
      const numbers = page.locator('#atlas button[aria-controls="atlas-numbers"]');
      for (const width of [1440, 360]) {
        await page.setViewportSize({ width, height: 800 });
        await numbers.click();
        await settled(page);
        expect(await violations(page, 'html'), `${width}`).toEqual([]);
        const across = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(across, `${width}`).toBeLessThanOrEqual(0);
        await numbers.click();
        await settled(page);
        await page.evaluate(() => scrollTo(0, 0));
        await page.screenshot({
          path: `${screenshots}/page-${colorScheme}-${width}.png`,
          fullPage: true,
        });
      }
      expect(complaints).toEqual([]);
      await close();
    },
  );

  // As a first load, which lays out what a window that was once wider does not.
  it.each(['light', 'dark'] as const)(
    'has none either on a load at 320 pixels, %s',
    async (colorScheme) => {
      const viewport = { width: 320, height: 800 };
      const { page, complaints, close } = await driver.open(busy, { colorScheme, viewport });
      await settled(page);
      expect(await violations(page, 'html')).toEqual([]);
      const across = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(across).toBeLessThanOrEqual(0);
      const path = `${screenshots}/page-${colorScheme}-320.png`;
      await page.screenshot({ path, fullPage: true });
      expect(complaints).toEqual([]);
      await close();
    },
  );

  it('survives forced colours and reduced motion', async () => {
    const { page, complaints, close } = await driver.open(busy, {
      forcedColors: 'active',
      reducedMotion: 'reduce',
    });
    await settled(page);
    await page.screenshot({ path: `${screenshots}/page-forced-colors.png`, fullPage: true });
    expect(complaints).toEqual([]);
    await close();
  });

  it('reaches every control once by Tab, with the focus always visible', async () => {
    const { page, close } = await driver.open('', { reducedMotion: 'reduce' });
    // Labs that come late come first here: what appears while the focus moves on would be passed over.
    await openEveryLab(page);
    // A followed link moves the place Tab goes on from to its target, sooner or later; begin at the top.
    await page.evaluate(() => {
      document.body.tabIndex = -1;
      document.body.focus();
      document.body.removeAttribute('tabindex');
    });
    const visits: { name: string; times: number; outline: string }[] = [];
    for (let i = 0; i < 600; i += 1) {
      await page.keyboard.press('Tab');
      // Elements are told apart by themselves: figures redraw while focus moves, so neither their number nor their place is fixed.
      const visit = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement & { visits?: number };
        if (element === document.body) return undefined;
        element.visits = (element.visits ?? 0) + 1;
        const ringed = element.matches('.segments input, .gallery input')
          ? (element.nextElementSibling as HTMLElement).matches('label')
            ? element.nextElementSibling
            : element
          : element;
        return {
          name: element.outerHTML.slice(0, 160),
          times: element.visits,
          outline: getComputedStyle(ringed as Element).outlineStyle,
        };
      });
      if (!visit) break;
      visits.push(visit);
    }
    expect(visits.filter(({ outline }) => outline === 'none')).toEqual([]);
    expect(visits.filter(({ times }) => times > 1)).toEqual([]);
    expect(visits.length).toBeGreaterThan(30);
    expect(visits.length).toBeLessThan(60 * labs.length);
    // Of radio buttons with one name, Tab reaches one.
    const missed = await page
      .locator('a[href], button, input, select, summary, [tabindex="0"]')
      .evaluateAll((all) =>
        all
          .filter((one) => one.checkVisibility() && !one.matches(':disabled, [tabindex="-1"]'))
          .filter((one) => !('visits' in one) && !one.matches('[type="radio"]:not(:checked)'))
          .map((one) => one.outerHTML.slice(0, 160)),
      );
    expect(missed).toEqual([]);
    await close();
  });

  it('has targets of at least 24 pixels', async () => {
    const { page, close } = await driver.open('', { viewport: { width: 360, height: 800 } });
    const small = await page
      .locator('button, select, input:not([type="radio"]), .segments label, .gallery label, .word')
      .evaluateAll((all) =>
        all
          .filter((one) => {
            const { width, height } = one.getBoundingClientRect();
            return width > 0 && (width < 24 || height < 24);
          })
          .map((one) => one.outerHTML.slice(0, 120)),
      );
    expect(small).toEqual([]);
    await close();
  });

  it.each([1440, 1100, 768, 360])('lays no control over another, %i pixels wide', async (width) => {
    const { page, close } = await driver.open('', { viewport: { width, height: 800 } });
    const late = page.locator('.lazy:not([data-loaded])');
    while ((await late.count()) > 0) {
      const one = await late.first().elementHandle();
      await one?.scrollIntoViewIfNeeded();
      await page.waitForFunction((one) => one?.hasAttribute('data-loaded'), one);
    }
    await settled(page);
    const overlaps = await page
      .locator('main :is(button, select, textarea, input:not([type="radio"]), .segments label)')
      .evaluateAll((all) => {
        const shown = all.filter((one) => one.checkVisibility());
        const boxes = shown.map((one) => one.getBoundingClientRect());
        // Neighbours of one group share a border of one pixel.
        const over = (a: DOMRect, b: DOMRect) =>
          Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
        return boxes.flatMap((a, i) =>
          boxes
            .slice(i + 1)
            .flatMap((b, j) =>
              over(a, b)
                ? [
                    `${shown[i].outerHTML.slice(0, 90)} | ${shown[i + 1 + j].outerHTML.slice(0, 90)}`,
                  ]
                : [],
            ),
        );
      });
    expect(overlaps).toEqual([]);
    await close();
  });

  it('follows the theme switch and remembers it', async () => {
    const { page, close } = await driver.open('', { colorScheme: 'light' });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.locator('#theme').click();
    await page.locator('#theme').click();
    expect(await page.locator('#theme').getAttribute('aria-label')).toBe('Theme: dark');
    await expect.poll(background).not.toBe(light);
    await page.reload();
    await page.waitForSelector('html[data-ready="true"]');
    expect(await background()).not.toBe(light);
    await close();
  });

  it.each([
    ['WebAssembly', () => Reflect.deleteProperty(globalThis, 'WebAssembly')],
    ['WebAssembly SIMD', () => Reflect.set(WebAssembly, 'validate', () => false)],
  ] as [string, () => void][])('still reads without %s, and names it', async (feature, remove) => {
    const { page, close } = await driver.open('', {}, remove);
    await page.waitForSelector('#notice:not([hidden])');
    expect(await page.locator('#notice').textContent()).toContain(`lacks ${feature},`);
    expect(await page.locator('#order-title').isVisible()).toBe(true);
    expect(await page.locator('#atlas .aside').isVisible()).toBe(true);
    await close();
  });

  it.each([1440, 360])('does not jump while it fills, at %d pixels', async (width) => {
    const { page, close } = await driver.open('', { viewport: { width, height: 800 } });
    await settled(page);
    const [shift, pushed] = await page.evaluate(
      () =>
        new Promise<[number, number]>((done) => {
          let sum = 0;
          let start = Number.POSITIVE_INFINITY;
          new PerformanceObserver((list) => {
            for (const { startTime, value } of list.getEntries() as (PerformanceEntry & {
              value: number;
            })[])
              if (startTime < start) sum += value;
              else done([sum, value]);
          }).observe({ type: 'layout-shift', buffered: true });
          // Entries come in order: with this one, all before it have come.
          requestAnimationFrame(() => {
            start = performance.now();
            document.body.style.paddingTop = '300px';
          });
        }),
    );
    expect(pushed).toBeGreaterThan(0.02);
    expect(shift).toBeLessThanOrEqual(0.02);
    await close();
  });

  it('loads at most eight files, 200 KB of them after compression', async () => {
    const { page, requests, close } = await driver.open();
    expect(requests.length).toBeLessThanOrEqual(8);
    let compressed = 0;
    for (const address of requests)
      compressed += brotliCompressSync(await (await page.request.get(address)).body()).length;
    expect(compressed).toBeLessThan(200_000);
    await close();
  });
});

describe('colours', () => {
  const css = readFileSync(new URL('../../web/styles/tokens.css', import.meta.url), 'utf8');
  const rgb = (hex: string): number[] =>
    [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  const tokens = new Map(
    [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
      ([, name, light, dark]) => [
        name as string,
        [rgb(light as string), rgb(dark as string)] as const,
      ],
    ),
  );
  const pairs = [
    ...['ink', 'soft', 'accent', 'alarm'].flatMap((text) =>
      ['paper', 'raised', 'sunken', 'wash'].map((surface) => [text, surface, 4.5] as const),
    ),
    ['on-accent', 'accent', 4.5] as const,
    ...['paper', 'raised', 'sunken'].map((surface) => ['edge', surface, 3] as const),
  ];
  it.each(pairs)('%s on %s has contrast %d', (text, surface, least) => {
    for (const scheme of [0, 1] as const)
      expect(
        contrast(tokens.get(text)?.[scheme] ?? [], tokens.get(surface)?.[scheme] ?? []),
      ).toBeGreaterThanOrEqual(least);
  });

  it.each([false, true])('tables run evenly from end to end, dark: %s', (dark) => {
    const lightness = (word: number): number => {
      const linear = [word & 255, (word >> 8) & 255, (word >> 16) & 255].map(
        (channel) => (channel / 255) ** 2.2,
      ) as [number, number, number];
      return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const order = dark ? 1 : -1;
    const steps = [...sequential(dark)].map(lightness);
    for (let i = 4; i < 256; i += 4)
      expect(order * ((steps[i] as number) - (steps[i - 4] as number))).toBeGreaterThan(0);
    const both = [...diverging(dark)].map(lightness);
    for (let i = 132; i < 252; i += 4)
      expect(order * ((both[i + 4] as number) - (both[i] as number))).toBeGreaterThan(0);
    for (let i = 124; i > 4; i -= 4)
      expect(order * ((both[i - 4] as number) - (both[i] as number))).toBeGreaterThan(0);
  });
});
