// SPDX-License-Identifier: Apache-2.0
// The page and the package in WebKit, the engine of every browser on an iPhone, as WebKitGTK.
import { describe, it } from 'vitest';
import { testEngine } from '../browser/engine-suite.ts';
import { missing, WebKit } from './webdriver.ts';

/** Kept in the page: this protocol has no events. What goes wrong before is seen by what is then not there. */
function listen(): void {
  const heard: string[] = [];
  Object.assign(globalThis, { heard });
  addEventListener('error', ({ message }) => heard.push(`uncaught: ${message}`));
  addEventListener('unhandledrejection', ({ reason }) => heard.push(`unhandled: ${reason}`));
  addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    heard.push(`policy: ${violatedDirective} ${blockedURI}`),
  );
  for (const level of ['error', 'warn'] as const) {
    const say = console[level];
    console[level] = (...values) => {
      heard.push(values.join(' '));
      say.apply(console, values);
    };
  }
}
const heard = () => (globalThis as unknown as { heard: string[] }).heard;

if (missing)
  describe(`WebKit, skipped: not here: ${missing}`, () => {
    it.skip('shows the page', () => {});
  });
else {
  const webkit = new WebKit();
  let first = true;
  testEngine({
    name: 'WebKit',
    start: () => webkit.start(),
    stop: () => webkit.stop(),
    async open() {
      if (!first) await webkit.window();
      first = false;
      return {
        async goto(address) {
          await webkit.goto(address);
          await webkit.read(listen, '');
        },
        read: (of, argument = '') => webkit.read(of, argument),
        press: (key) => webkit.press(key),
        complaints: () => webkit.read(heard, ''),
      };
    },
  });
}
