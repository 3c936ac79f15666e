// SPDX-License-Identifier: Apache-2.0
// What stands before the scripts have come, and what becomes of it: its policy, its input, and scripts that never come.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fingerprint } from '../../web/first-view.ts';
import { PageDriver, settled } from './page-driver.ts';

let driver: PageDriver;
beforeAll(async () => {
  driver = await PageDriver.start();
});
afterAll(() => driver?.stop());

/** A page whose scripts and module do as `what` says; nobody waits for it. */
async function opened(
  hash: string,
  what: (route: Route) => Promise<void>,
  before: () => void = () => undefined,
): Promise<{ page: Page; close(): Promise<void> }> {
  // Loaded once undisturbed, for there is no page to route before.
  const { page, close } = await driver.open('', {}, before);
  await page.route('**/assets/*', what);
  await page.goto('about:blank');
  await page.goto(driver.address + hash);
  return { page, close };
}
/** Holds every request until it is called. */
function gate(): { held: (route: Route) => Promise<void>; release: () => void } {
  let release = (): void => undefined;
  const passed = new Promise<void>((done) => {
    release = done;
  });
  return {
    held: async (route) => {
      await passed;
      await route.continue().catch(() => undefined);
    },
    release,
  };
}

describe('the policy', () => {
  it('is that of policy.txt and the hashes of what stands in the page', async () => {
    const answer = await fetch(driver.address);
    const html = await answer.text();
    const hashes = (tag: string): string[] =>
      [...html.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map(
        ([, text]) =>
          `'sha256-${createHash('sha256')
            .update(text as string)
            .digest('base64')}'`,
      );
    expect(hashes('script')).toHaveLength(2);
    expect(hashes('style')).toHaveLength(1);
    const more: Record<string, string[]> = {
      'script-src': hashes('script'),
      'style-src': hashes('style'),
    };
    const rules = readFileSync(new URL('../../web/policy.txt', import.meta.url), 'utf8');
    const want = rules
      .trim()
      .split('\n')
      .map((rule) => [rule, ...(more[rule.split(' ')[0] as string] ?? [])].join(' '));
    expect(want.join()).not.toContain('unsafe-inline');
    const [, own = ''] =
      /<meta http-equiv="Content-Security-Policy" content="([^"]+)">/.exec(html) ?? [];
    expect(own.split('; ')).toEqual(want);
    expect(answer.headers.get('content-security-policy')?.split('; ')).toEqual(want);
  });
});

describe('scripts that do not come', () => {
  it.each(['page-*.js', '*.wasm'])('are told of, without %s', async (missing) => {
    const { page, close } = await opened('#v1&mask=causal', (route) =>
      new RegExp(missing.replaceAll('.', '\\.').replace('*', '[^/]*')).test(route.request().url())
        ? route.abort()
        : route.continue(),
    );
    await page.waitForSelector('html[data-ready="false"]');
    expect(await page.locator('#notice').isVisible()).toBe(true);
    expect(await page.locator('#notice').textContent()).toMatch(
      /igures show the(ir)? default state/,
    );
    // What was drawn ahead is there, and nothing that looks as if it did something.
    expect(await page.locator('#order .words').isVisible()).toBe(true);
    expect(await page.locator('#order :is(button, select, input):visible').count()).toBe(0);
    await close();
  });

  it('leave no state on screen that was not asked for, as long as they may', async () => {
    const { held, release } = gate();
    const { page, close } = await opened('#v1&mask=causal', held);
    expect(await page.locator('#order .words').isVisible()).toBe(false);
    release();
    await page.waitForSelector('html[data-ready="true"]');
    expect(await page.locator('#order .words').isVisible()).toBe(true);
    await close();
  });
});

describe('input into what is drawn ahead', () => {
  it('is not taken where it would be lost', async () => {
    const { held, release } = gate();
    const { page, close } = await opened('', held);
    const causal = page.locator('#order input[value="causal"]');
    const { left, top } = await page.locator('#order label:has-text("Causal")').evaluate((one) => {
      one.scrollIntoView({ block: 'center' });
      const { x, y, width, height } = one.getBoundingClientRect();
      return { left: x + width / 2, top: y + height / 2 };
    });
    await page.mouse.click(left, top);
    expect(await causal.isChecked()).toBe(false);
    release();
    await page.waitForSelector('html[data-ready="true"]');
    await page.mouse.click(left, top);
    await settled(page);
    expect(await causal.isChecked()).toBe(true);
    expect(await page.locator('#order-body').getAttribute('aria-busy')).toBe(null);
    await close();
  });

  it('goes on in the live lab to the last letter, cursor included', async () => {
    // Every pause of the start types a letter, those between the last pieces of the drawing too.
    const { page, close } = await opened(
      '',
      (route) => route.continue(),
      () => {
        const typed = globalThis as unknown as { early: string };
        const type = async (): Promise<void> => {
          const field = document.querySelector<HTMLInputElement>('[aria-busy] #sentence');
          if (!field) return;
          field.value += 'x';
          field.focus();
          field.setSelectionRange(2, 4, 'backward');
          typed.early = field.value;
        };
        Object.assign(globalThis, { scheduler: { yield: type } });
      },
    );
    await page.waitForSelector('html[data-ready="true"]');
    await settled(page);
    const [early, now, cursor, words] = await page.evaluate(() => {
      const field = document.activeElement as HTMLInputElement;
      return [
        (globalThis as unknown as { early: string }).early,
        field.value,
        [field.id, field.selectionStart, field.selectionEnd, field.selectionDirection],
        [...document.querySelectorAll('#order .word-text')].map((one) => one.textContent).join(' '),
      ] as const;
    });
    expect(early).toMatch(/xxx$/);
    expect(now).toBe(early);
    expect(words).toBe(early);
    expect(cursor).toEqual(['sentence', 2, 4, 'backward']);
    await close();
  });
});

it('lets nobody be called back to a lab that came late', async () => {
  const { page, complaints, close } = await driver.open();
  const { held, release } = gate();
  await page.route('**/assets/*.js', held);
  const go = (id: string) => page.locator(`.bar-nav a[href="#${id}"]`).click();
  await go('train');
  await go('order');
  await page.waitForFunction(() => document.activeElement?.id === 'order-title');
  release();
  await page.waitForSelector('#train[data-loaded]');
  await settled(page);
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('order-title');
  expect(page.url()).not.toContain('lab=train');
  expect(complaints).toEqual([]);
  await close();
});

it('is drawn anew when anything changes that it is drawn from', () => {
  const folder = mkdtempSync(join(tmpdir(), 'first-view-'));
  const names = ['single.txt', 'a.ts', 'b.mjs', 'c.wasm'].map((name) => join(folder, name));
  for (const name of names) writeFileSync(name, '');
  const of = (): string => fingerprint([folder], [names[0] as string]);
  const seen = new Set([of(), of()]);
  expect(seen.size).toBe(1);
  for (const name of names) {
    writeFileSync(name, 'changed');
    seen.add(of());
  }
  expect(seen.size).toBe(1 + names.length);
  rmSync(folder, { recursive: true });
});
