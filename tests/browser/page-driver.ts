// SPDX-License-Identifier: Apache-2.0
// Opens the page, as it is served under its policy, in Chromium; whatever goes wrong on the way is collected.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import { expect, inject } from 'vitest';
import { labs } from '../../web/src/model/labs.ts';
import { chromiumArguments } from './chromium-arguments.mjs';
import { root, serve } from './page-server.ts';

export const screenshots = `${root}build/screenshots`;

/** What waits for a state waits so long for it, in milliseconds: the machine of a test may be busy with other things. */
export const patience = 60_000;

export interface Opened {
  readonly page: Page;
  /** Console errors and warnings, uncaught errors, policy reports, failed and foreign requests. */
  readonly complaints: string[];
  readonly requests: string[];
  close(): Promise<void>;
}

export class PageDriver {
  private constructor(
    private readonly browser: Browser,
    readonly address: string,
  ) {}

  static async start(): Promise<PageDriver> {
    mkdirSync(screenshots, { recursive: true });
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: chromiumArguments,
    });
    return new PageDriver(browser, inject('page').address);
  }

  /** The text of an element of a page in a folder of its own, once there are so many lines of it. */
  async run(folder: string, selector: string, lines = 1): Promise<string> {
    const { server, address } = await serve(folder);
    // Its script stands in the page, as in the pages of people who try something out.
    const context = await this.browser.newContext({ bypassCSP: true });
    context.setDefaultTimeout(patience);
    try {
      const page = await context.newPage();
      await page.goto(address);
      await page.waitForFunction(
        ([where, least]) => {
          const text = document.querySelector(where)?.textContent ?? '';
          return text.trim() !== '' && text.trim().split('\n').length >= least;
        },
        [selector, lines] as const,
      );
      return (await page.locator(selector).textContent()) ?? '';
    } finally {
      await context.close();
      server.kill();
    }
  }

  stop(): Promise<void> {
    return this.browser.close();
  }

  /** `before` runs in the page ahead of its own scripts. */
  async open(hash = '', options: BrowserContextOptions = {}, before?: () => void): Promise<Opened> {
    const context = await this.browser.newContext({
      viewport: { width: 1440, height: 900 },
      // Each context would fetch all that the page keeps; page-offline.test.ts looks at that.
      serviceWorkers: 'block',
      ...options,
    });
    context.setDefaultTimeout(patience);
    const page = await context.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on('console', (message) => {
      const ours = !/blocked by Playwright/.test(message.text());
      if (ours && (message.type() === 'error' || message.type() === 'warning'))
        complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
    page.on('request', (request) => {
      requests.push(request.url());
      if (!request.url().startsWith(this.address) && !/^(blob|data):/.test(request.url()))
        complaints.push(`foreign request: ${request.url()}`);
    });
    page.on('requestfailed', (request) => complaints.push(`failed request: ${request.url()}`));
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) =>
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
      );
    });
    if (before) await page.addInitScript(before);
    await page.goto(this.address + hash);
    if (!before) await page.waitForSelector('html[data-ready="true"]');
    const lab = /[&]lab=(\w+)/.exec(hash)?.[1];
    if (lab !== undefined && !before)
      await page.waitForSelector(`#${lab}:not(.lazy:not([data-loaded]))`);
    return { page, complaints, requests, close: () => context.close() };
  }
}

/** Waits until the page has drawn what it was last asked for, in view or not: what is drawn may ask for its parts in turn. */
export const settled = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    const turn = (): Promise<void> =>
      new Promise((done) =>
        // What follows another lab's control is computed in a task after the frame, and drawn in the one after that.
        requestAnimationFrame(() =>
          requestAnimationFrame(() =>
            setTimeout(() => requestAnimationFrame(() => setTimeout(done, 0)), 0),
          ),
        ),
      );
    const { dataset } = document.documentElement;
    do await turn();
    while (dataset.drawing !== undefined);
  });

/** Opens every lab by its link, those that come late included. */
export async function openEveryLab(page: Page): Promise<void> {
  for (const lab of labs) {
    await page.evaluate(
      (id) => document.querySelector<HTMLElement>(`.bar-nav a[href="#${id}"]`)?.click(),
      lab,
    );
    await page.waitForSelector(`#${lab}:not(.lazy:not([data-loaded]))`);
    // The link ends with this; a later Tab would else go on from wherever the focus is then.
    await page.waitForFunction((id) => document.activeElement?.id === `${id}-title`, lab);
  }
  await settled(page);
}

/** Goes to another state of a page that is open, as a link within it or Back would. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(
    (hash) =>
      new Promise<void>((done) => {
        if (location.hash === hash) return done();
        addEventListener('hashchange', () => done(), { once: true });
        location.hash = hash;
      }),
    hash,
  );
  await settled(page);
}

export const numberAt = async (page: Page, selector: string): Promise<number> =>
  Number((await page.locator(selector).first().textContent()) ?? Number.NaN);

/** The big number of the first lab, in full precision. */
export async function change(page: Page): Promise<number> {
  await settled(page);
  return Number(await page.locator('.big-number').getAttribute('data-value'));
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations in a part of the page, each with the elements concerned. */
export async function violations(page: Page, selector: string): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  return page.evaluate(async (where) => {
    const { violations } = await (
      globalThis as unknown as {
        axe: {
          run(where: string): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
        };
      }
    ).axe.run(where);
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
    );
  }, selector);
}

/** What an element says once `act` has changed that. */
export async function changed(where: Locator, act: () => Promise<unknown>): Promise<string> {
  const before = await where.textContent();
  await act();
  const text = () => where.textContent();
  await expect.poll(text, { timeout: patience }).not.toBe(before);
  return (await text()) ?? '';
}

/** What `press` puts on the clipboard. */
export async function copied(page: Page, press: () => Promise<unknown>): Promise<string> {
  const text = () => page.evaluate(() => navigator.clipboard.readText());
  await page.evaluate(() => navigator.clipboard.writeText('nothing yet'));
  await press();
  await expect.poll(text, { timeout: patience }).not.toBe('nothing yet');
  return text();
}

/** A picture of a part of the page. Of the whole page and cut: for one of an element alone Playwright waits for two frames in
 * which it stands still, and under load Chromium has once given none for 30 s. */
export async function shoot(page: Page, selector: string, path: string): Promise<void> {
  const clip = await page.locator(selector).evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return { x: left + scrollX, y: top + scrollY, width, height };
  });
  await page.screenshot({ path, clip, fullPage: true, animations: 'disabled' });
}

/** A lab in both themes at three widths, on the page as it is: no violation, no sideways scrolling, and pictures to look at. */
export async function suitsEverybody(page: Page, lab: string): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1440, 360, 320]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await settled(page);
      const at = `${colorScheme} at ${width}`;
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth))
        found.push(`${at}: scrolls sideways`);
      if (width === 320) continue;
      found.push(...(await violations(page, `#${lab}`)).map((one) => `${at}: ${one}`));
      // A lab out of reach is not rendered, and under load the picture is taken before it hears that the screen has grown over it.
      await page.locator(`#${lab}`).evaluate((element) => element.scrollIntoView());
      await page.waitForSelector(`#${lab}:not(.away)`);
      await settled(page);
      await shoot(page, `#${lab}`, `${screenshots}/lab-${lab}-${colorScheme}-${width}.png`);
    }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1440, height: 900 });
  return found;
}

/** What a button of a part of the page saves. */
export async function saved(page: Page, part: string, name: string): Promise<Buffer> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator(part).getByRole('button', { name, exact: true }).click(),
  ]);
  return readFileSync(await download.path());
}

/** The rows of saved CSV text by column, without the remarks. */
export function columnsOf(csv: string): Map<string, number[]> {
  const [head, ...rows] = csv
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.split(','));
  return new Map(head?.map((name, i) => [name, rows.map((row) => Number(row[i]))]));
}

/** All weights that Lab 3 saves, by column. */
export const savedWeights = async (page: Page): Promise<Map<string, number[]>> =>
  columnsOf((await saved(page, '#words-body', 'All weights as CSV')).toString());

/** The number in a tile of Lab 3, in full precision. */
export async function wordsTile(page: Page, name: string): Promise<number> {
  await settled(page);
  const value = page.locator('#words .tile', { hasText: name }).locator('[data-value]');
  return Number(await value.getAttribute('data-value'));
}
