// SPDX-License-Identifier: Apache-2.0
// Builds the page, serves it under its policy, and opens it in Chromium; whatever goes wrong on the way is collected.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const root = fileURLToPath(new URL('../..', import.meta.url));
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
    const folder = `${root}build/page/${name}`;
    execFileSync(
      process.execPath,
      [
        `${root}node_modules/vite/bin/vite.js`,
        'build',
        'web',
        '--outDir',
        folder,
        '--emptyOutDir',
        '--logLevel',
        'error',
      ],
      { cwd: root, stdio: 'inherit' },
    );
    mkdirSync(screenshots, { recursive: true });
    const server = spawn(process.execPath, [`${root}tools/serve.mjs`, folder], {
      cwd: root,
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const address = await new Promise<string>((resolve, reject) => {
      let said = '';
      server.stdout?.on('data', (chunk: Buffer) => {
        said += chunk;
        const found = /http:\/\/\S+/.exec(said);
        if (found) resolve(found[0]);
      });
      server.once('exit', (code) => reject(new Error(`the server stopped with ${code}: ${said}`)));
    });
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    return new PageDriver(browser, server, address);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    this.server.kill();
  }

  /** `before` runs in the page ahead of its own scripts. */
  async open(hash = '', options: BrowserContextOptions = {}, before?: () => void): Promise<Opened> {
    const context = await this.browser.newContext({
      viewport: { width: 1440, height: 900 },
      ...options,
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
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
