// SPDX-License-Identifier: Apache-2.0
// Lighthouse, so many times over, in its own settings for a phone on slow 4G; medians of what the page has budgets for.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, flags, median, root } from './serve.mjs';

/** Installed by tools/bench-page.sh on demand: with what it needs it has 185 MB, more than everything else together. */
const folder = process.env.LIGHTHOUSE_ROOT ?? join(root, '.toolchain/lighthouse');
const found = createRequire(join(folder, 'package.json'));
const bring = (name) => import(pathToFileURL(found.resolve(name)));

const times = [
  'first-contentful-paint',
  'largest-contentful-paint',
  'total-blocking-time',
  'cumulative-layout-shift',
  'speed-index',
];

export async function lighthouse(address, runs) {
  const { default: measure } = await bring('lighthouse');
  const { launch } = await bring('chrome-launcher');
  const results = [];
  for (let run = 0; run < runs; run += 1) {
    // A browser of its own for each, so that nothing is kept from the one before.
    const chrome = await launch({
      chromePath: chromium,
      chromeFlags: ['--headless=new', ...flags],
    });
    try {
      const { lhr } = await measure(address, {
        port: chrome.port,
        output: 'json',
        logLevel: 'error',
        // The rest of a page's life is measured apart; onlyCategories leaves out nothing that counts here.
        onlyCategories: ['performance', 'accessibility', 'best-practices', 'seo'],
      });
      results.push(lhr);
    } finally {
      chrome.kill();
    }
  }
  const of = (read) => median(results.map(read));
  const requests = (lhr) =>
    lhr.audits['network-requests'].details.items.filter(({ url }) => url.startsWith(address));
  const last = results.at(-1);
  return {
    version: last.lighthouseVersion,
    browser: last.environment.hostUserAgent.match(/Chrome\/[\d.]+/)?.[0],
    scores: Object.fromEntries(
      Object.keys(last.categories).map((name) => [
        name,
        of((lhr) => Math.round(100 * lhr.categories[name].score)),
      ]),
    ),
    ...Object.fromEntries(times.map((name) => [name, of((lhr) => lhr.audits[name].numericValue)])),
    spread: Object.fromEntries(
      times.map((name) => [name, results.map((lhr) => lhr.audits[name].numericValue)]),
    ),
    requests: of((lhr) => requests(lhr).length),
    bytes: of((lhr) => requests(lhr).reduce((sum, { transferSize }) => sum + transferSize, 0)),
    listed: requests(last).map(
      ({ url, transferSize }) => `${url.slice(address.length)} ${transferSize}`,
    ),
    /** What costs points, for who wants to do something about it. */
    lost: Object.values(last.audits)
      .filter(
        ({ score, scoreDisplayMode }) =>
          score !== null && score < 0.9 && scoreDisplayMode !== 'informative',
      )
      .map(({ id, displayValue }) => `${id} ${displayValue ?? ''}`),
    tasks: (last.audits['long-tasks']?.details?.items ?? []).map(
      ({ url, startTime, duration }) =>
        `${Math.round(duration)} ms at ${Math.round(startTime)}, ${url.slice(address.length)}`,
    ),
  };
}
