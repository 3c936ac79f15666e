// SPDX-License-Identifier: Apache-2.0
// The page and the package in WebKit, the engine of every browser on an iPhone, as WebKitGTK.
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { type Tab, testEngine } from '../browser/engine-suite.ts';
import { root, serve } from '../browser/page-server.ts';
import { heard, listening } from './listening.ts';
import { missing, WebKit } from './webdriver.ts';

if (missing)
  describe(`WebKit, skipped: not here: ${missing}`, () => {
    it.skip('shows the page', () => {});
  });
else {
  const webkit = new WebKit();
  let first = true;
  const ends: (() => void)[] = [];
  const open = async (): Promise<Tab> => {
    if (!first) await webkit.window();
    first = false;
    return {
      async goto(address) {
        const host = await listening(address);
        ends.push(host.end);
        await webkit.goto(host.address);
      },
      read: (of, argument = '') => webkit.read(of, argument),
      press: (key) => webkit.press(key),
      complaints: () => webkit.read(heard, ''),
    };
  };
  afterAll(() => {
    for (const end of ends) end();
  });
  testEngine({
    name: 'WebKit',
    start: () => webkit.start(),
    stop: () => webkit.stop(),
    open,
    more: () =>
      it('is heard from its first script on', async () => {
        const folder = `${root}build/webkit-faulty`;
        mkdirSync(folder, { recursive: true });
        writeFileSync(`${folder}/faulty.js`, "throw new Error('while loading')");
        writeFileSync(
          `${folder}/index.html`,
          '<!doctype html><title></title><script src="faulty.js"></script><script src="absent.js"></script>',
        );
        const { server, address } = await serve(folder);
        const tab = await open();
        await tab.goto(address);
        server.kill();
        expect(await tab.complaints()).toEqual([
          expect.stringContaining('while loading'),
          expect.stringContaining('absent.js'),
        ]);
      }),
  });
}
