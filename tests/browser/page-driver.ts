// SPDX-License-Identifier: Apache-2.0
// Builds the page, serves it under its policy, and opens it in Chromium; whatever goes wrong on the way is collected.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { labs } from '../../web/src/model/labs.ts';
import { chromiumArguments } from './chromium-arguments.ts';
import { buildPage, root, serve } from './page-server.ts';

export const screenshots = `${root}build/screenshots`;

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
    private readonly server: ChildProcess,
    readonly address: string,
  ) {}

  /** `name` keeps the builds of test files that run side by side apart. */
  static async start(name: string): Promise<PageDriver> {
    const folder = buildPage(name);
    mkdirSync(screenshots, { recursive: true });
    const { server, address } = await serve(folder);
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: chromiumArguments,
    });
    return new PageDriver(browser, server, address);
  }

  /** The text of an element of a page in a folder of its own, once there is some. */
  async run(folder: string, selector: string): Promise<string> {
    const { server, address } = await serve(folder);
    // Its script stands in the page, as in the pages of people who try something out.
    const context = await this.browser.newContext({ bypassCSP: true });
    try {
      const page = await context.newPage();
      await page.goto(address);
      await page.waitForFunction((where) => document.querySelector(where)?.textContent, selector);
      return (await page.locator(selector).textContent()) ?? '';
    } finally {
      await context.close();
      server.kill();
    }
  }

  async stop(): Promise<void> {
    await this.browser.close();
    this.server.kill();
  }

  /** `before` runs in the page ahead of its own scripts. */
  async open(hash = '', options: BrowserContextOptions = {}, before?: () => void): Promise<Opened> {
    const context = await this.browser.newContext({
      viewport: { width: 1440, height: 900 },
      // Each context would fetch all that the page keeps; page-offline.test.ts looks at that.
      serviceWorkers: 'block',
      ...options,
    });
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

/** Waits until the page has drawn what it was last asked for. */
export const settled = (page: Page): Promise<void> =>
  page.evaluate(
    () =>
      new Promise<void>((done) =>
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))),
      ),
  );

/** Opens every lab by its link, those that come late included. */
export async function openEveryLab(page: Page): Promise<void> {
  for (const lab of labs) {
    await page.evaluate(
      (id) => document.querySelector<HTMLElement>(`.bar-nav a[href="#${id}"]`)?.click(),
      lab,
    );
    await page.waitForSelector(`#${lab}:not(.lazy:not([data-loaded]))`);
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

/** Follows a link within the page, and waits until the page has. */
export async function visit(page: Page, hash: string): Promise<void> {
  await page.evaluate(
    (where) =>
      new Promise<void>((done) => {
        addEventListener('hashchange', () => done(), { once: true });
        location.hash = where;
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
  await page.evaluate(axe);
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
      const path = `${screenshots}/lab-${lab}-${colorScheme}-${width}.png`;
      const shoot = () => page.locator(`#${lab}`).screenshot({ path, timeout: 25_000 });
      // Chromium once gave no frame for 30 s; nothing that is tested here depends on the first try.
      await shoot().catch(shoot);
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
