// SPDX-License-Identifier: Apache-2.0
// The page and the package in Firefox, through WebDriver BiDi.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type KeyInput, launch } from 'puppeteer-core';
import { testEngine } from '../browser/engine-suite.ts';

let browser: Browser | undefined;
/** Firefox as root refuses a home that is not root's own. */
const home = mkdtempSync(join(tmpdir(), 'posenc-firefox-'));

testEngine({
  name: 'Firefox',
  async start() {
    browser = await launch({
      browser: 'firefox',
      executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
      headless: true,
      // Setting a viewport takes a command that only Firefox 144 and later know; Debian 12 may have an older one.
      defaultViewport: null,
      args: ['--width=1440', '--height=900'],
      env: { ...process.env, HOME: home },
      extraPrefsFirefox: {
        'app.update.enabled': false,
        'datareporting.policy.dataSubmissionEnabled': false,
      },
    });
  },
  async open() {
    if (!browser) throw new Error('Firefox has not started');
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warn') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(`uncaught: ${String(error)}`));
    page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
    return {
      goto: async (address) => void (await page.goto(address)),
      read: (of, argument = '') => page.evaluate(of, argument),
      press: (key) => page.keyboard.press(key as KeyInput),
      complaints: async () => complaints,
    };
  },
  async stop() {
    await browser?.close();
    rmSync(home, { recursive: true, force: true });
  },
});
