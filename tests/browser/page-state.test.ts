// SPDX-License-Identifier: Apache-2.0
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decimated } from '../../web/src/draw/curve.ts';
import { scientific, ticks } from '../../web/src/draw/scale.ts';
import { atlasNotice, orderNotice, wordCount } from '../../web/src/labs/notices.ts';
import { readAddress, writeAddress } from '../../web/src/model/address.ts';
import { deflated, inflated } from '../../web/src/model/deflated.ts';
import {
  fallbacks,
  type KeyName,
  keyNames,
  readKey,
  type Values,
} from '../../web/src/model/keys.ts';
import { labs } from '../../web/src/model/labs.ts';
import { linkOf, opened } from '../../web/src/model/link.ts';
import { uniform } from '../../web/src/model/random.ts';
import { standing } from '../../web/src/model/settings.ts';
import { initialState, type State } from '../../web/src/model/state.ts';
import { jsonOf } from '../../web/src/parts/number-table.ts';
import { manifest } from './computed.ts';
import { change, copied, goTo, PageDriver, settled } from './page-driver.ts';

/** Whatever a key takes, and its default for what it does not. */
const anyOf = (name: KeyName): fc.Arbitrary<Values[KeyName]> =>
  fc
    .oneof(fc.string(), fc.nat(5e5).map(String), fc.double({ noNaN: true }).map(String))
    .map((text) => readKey(name, text) ?? fallbacks[name]);

const states: fc.Arbitrary<State> = fc.constantFrom(...manifest).chain((info) => {
  const fields = fc.record(
    Object.fromEntries(
      info.fields
        .filter((field) => field.type === 'number' || field.type === 'choice')
        .map((field) => [
          field.name,
          field.type === 'choice'
            ? fc
                .constantFrom(...(field.choices ?? []))
                .filter((choice) => choice !== standing(field))
            : fc
                .double({ min: 0.5, max: 99, noNaN: true })
                .filter((value) => value !== standing(field)),
        ]),
    ),
    { requiredKeys: [] },
  );
  const words = fc.array(
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((word) => !/\s/u.test(word)),
    { minLength: 1, maxLength: 64 },
  );
  return fc
    .record({
      fields,
      words,
      seed: fc.integer(),
      lab: fc.constantFrom(...labs),
      values: fc.record(
        Object.fromEntries(keyNames.map((name) => [name, anyOf(name)])),
      ) as fc.Arbitrary<unknown> as fc.Arbitrary<Values>,
      flags: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      length: fc.integer({ min: 2, max: 8192 }),
      head: fc.integer({ min: -1, max: 3 }),
    })
    .map(({ fields, words, seed, lab, values, flags, length, head }) => {
      const next = uniform(seed);
      const order = words
        .map((_, i) => [next(), i] as const)
        .sort((a, b) => a[0] - b[0])
        .map(([, i]) => i);
      const moved = order.some((word, place) => word !== place);
      return {
        ...initialState(manifest),
        lab,
        values,
        encoding: info.id,
        placed: flags[0] === true,
        causal: flags[1] === true,
        canonical: flags[2] === true,
        logarithmic: flags[3] === true,
        text: words.join(' '),
        order: moved ? order : [],
        token: Math.abs(seed) % words.length,
        head,
        length,
        settings: { fields: fields as State['settings']['fields'], sizes: {}, included: [] },
        unknown: [['later', 'a=b&c']],
      };
    });
});

describe('the address', () => {
  it('brings back any state exactly', () => {
    fc.assert(
      fc.property(states, (state) => {
        const { state: back, problems } = readAddress(writeAddress(state, manifest), manifest);
        expect(problems).toEqual([]);
        expect(back).toEqual(state);
      }),
      { numRuns: 200 },
    );
  });

  it('never fails on garbage, and says what it could not use', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { state } = readAddress(`#v1&${text}`, manifest);
        expect(manifest.some((info) => info.id === state.encoding)).toBe(true);
      }),
      { numRuns: 500 },
    );
    const { state, problems } = readAddress(
      '#v1&enc=nonsense&len=1&order=0.0&mask=maybe&p.base=abc',
      manifest,
    );
    expect(problems).toHaveLength(4);
    expect(state).toEqual({ ...initialState(manifest), unknown: [['p.base', 'abc']] });
  });

  it('stays short and readable', () => {
    expect(writeAddress(initialState(manifest), manifest)).toBe('#v1');
    expect(
      writeAddress(
        { ...initialState(manifest), text: 'a cat sat', order: [2, 1, 0], causal: true },
        manifest,
      ),
    ).toBe('#v1&mask=causal&text=a+cat+sat&order=2.1.0');
  });
});

describe('a packed link', () => {
  const long = `#v1&say=${Array.from({ length: 400 }, (_, i) => `w${(i * i) % 997}`).join('+')}`;
  const damaged = { hash: '#v1', problems: [expect.stringContaining('This link is damaged')] };

  it('opens as what it was or not at all, whatever letter of it was changed, left out or put in', async () => {
    const address = `${long}&len=4096${'&later=kept'.repeat(40)}`;
    const link = await linkOf(address);
    expect(link).toMatch(/^#v1&z=[\w-]+\.[0-9a-z]{7}$/);
    expect(await opened(link)).toEqual({ hash: address, problems: [] });
    let refused = 0;
    for (let at = '#v1&z='.length; at < link.length; at += 1)
      for (const put of ['', 'A', 'b', '9', '_', '.', '%', `${link[at]}${link[at]}`]) {
        const { hash, problems } = await opened(link.slice(0, at) + put + link.slice(at + 1));
        if (problems.length) refused += 1;
        else expect(hash, `${put} at ${at}`).toBe(address);
      }
    expect(refused).toBeGreaterThan(6 * (link.length - 20));
    for (const cut of [1, 7, 9, 100]) expect(await opened(link.slice(0, -cut))).toEqual(damaged);
  });

  it('of before there was a checksum opens as it did', async () => {
    const old = deflateRawSync('mask=causal&text=one+two').toString('base64url');
    expect(await opened(`#v1&z=${old}`)).toEqual({
      hash: '#v1&mask=causal&text=one+two',
      problems: [],
    });
  });

  it('within another is no state, and none that the page would unpack the next time', async () => {
    const inner = await deflated('mask=causal');
    for (const text of [`z=${inner}`, `enc=alibi&z=${inner}`])
      expect(await opened(`#v1&z=${await deflated(text)}`)).toEqual(damaged);
    // Words that look like one are words.
    const words = `text=${encodeURIComponent('a&z=b')}`;
    expect(await opened(`#v1&z=${await deflated(words)}`)).toEqual({
      hash: `#v1&${words}`,
      problems: [],
    });
    const { state, problems } = readAddress(`#v1&mask=causal&z=${inner}`, manifest);
    expect(state).toEqual({ ...initialState(manifest), causal: true });
    expect(problems).toHaveLength(1);
  });
});

describe('saved JSON', () => {
  const rowsOf = (texts: readonly string[]): unknown => {
    const table = {
      caption: '',
      lines: texts.length,
      lineName: 'line',
      lineText: (line: number) => texts[line] as string,
      columns: ['value'],
      cell: (line: number) => line / 2,
    };
    return (jsonOf(table, '', []) as { rows: { line: unknown }[] }).rows.map(({ line }) => line);
  };
  it('has distances as numbers, and words as words', () => {
    expect(rowsOf(['−2', '0', '0.5', '1024'])).toEqual([-2, 0, 0.5, 1024]);
    expect(rowsOf(['7', 'lives'])).toEqual(['7', 'lives']);
    expect(rowsOf(['007'])).toEqual(['007']);
    expect(rowsOf([''])).toEqual(['']);
  });
});

describe('what to notice', () => {
  it('never takes more than forty words', () => {
    const flag = [true, false];
    for (const moved of flag)
      for (const causal of flag)
        for (const canonical of flag)
          for (const changed of flag)
            for (const twins of flag)
              for (const placed of [undefined, ...manifest.map((info) => info.title)])
                expect(
                  wordCount(
                    orderNotice({ words: 5, moved, placed, causal, canonical, changed, twins }),
                  ),
                ).toBeLessThanOrEqual(40);
    for (const info of manifest)
      for (const [rowName, perRow] of [
        ['pair', false],
        ['dimension', false],
        ['head', true],
        ['probe', false],
      ] as const) {
        const picture = {
          columns: 9,
          rows: 1,
          first: -4,
          cells: new Float32Array(9),
          range: { low: 0, high: 0 },
          columnName: 'distance',
          rowName,
          cellName: '',
          curves: [{ name: '', values: new Float64Array(9) }],
          perRow,
          curveName: '',
          baseline: 0,
          definitions: [],
        } as const;
        const text = atlasNotice(info, picture);
        expect(wordCount(text), text).toBeLessThanOrEqual(40);
      }
  });
});

describe('drawing', () => {
  it('keeps the peaks of a long curve', () => {
    const values = Float64Array.from({ length: 8192 }, (_, i) =>
      i === 5000 ? 9 : i === 5001 ? -9 : 0,
    );
    const kept = decimated(values, 0, values.length);
    expect(kept.length).toBeLessThanOrEqual(2000);
    expect(kept).toContain(5000);
    expect(kept).toContain(5001);
  });
  it('writes numbers as people do', () => {
    expect(scientific(0)).toBe('0');
    expect(scientific(5.96e-8)).toBe('5.96\u00a0×\u00a010⁻⁸');
    expect(scientific(0.416)).toBe('0.416');
    expect(ticks(0, 127, 5)).toEqual([0, 50, 100]);
    expect(ticks(3, 3, 5)).toEqual([3]);
  });
});

describe('the state in the browser', () => {
  let driver: PageDriver;
  beforeAll(async () => {
    driver = await PageDriver.start();
  });
  afterAll(() => driver?.stop());

  it('opens a link as it was shared', async () => {
    const first = await driver.open(
      '#v1&text=one+two+three&order=2.0.1&mask=causal&enc=alibi&pos=1&later=kept',
    );
    const here = await change(first.page);
    expect(here).toBeGreaterThan(0);
    const address = new URL(first.page.url()).hash;
    const second = await driver.open(address);
    expect(await change(second.page)).toBe(here);
    await second.page.getByRole('button', { name: 'Swap two' }).click();
    await settled(second.page);
    expect(second.page.url()).toContain('later=kept');
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    await first.close();
    await second.close();
  });

  it('names a value it cannot use and goes on with the default', async () => {
    const { page, complaints, close } = await driver.open(
      '#v1&len=99999&enc=sinusoidal&p.dim=oops',
    );
    const toasts = await page.locator('.toast').allInnerTexts();
    expect(toasts.join()).toMatch(/99999.*len/);
    expect(toasts.join()).toMatch(/oops.*dim/);
    expect(complaints).toEqual([]);
    await close();
  });

  it('steps back through committed changes', async () => {
    const { page, close } = await driver.open();
    await page.getByText('Causal', { exact: true }).click();
    await page.selectOption('#encoding', 'alibi');
    await settled(page);
    expect(page.url()).toContain('enc=alibi');
    await page.goBack();
    await settled(page);
    expect(page.url()).not.toContain('enc=alibi');
    expect(await page.locator('#encoding').inputValue()).not.toBe('alibi');
    expect(await page.locator('#order input[value="causal"]').isChecked()).toBe(true);
    await page.goBack();
    await settled(page);
    expect(await page.locator('#order input[value="causal"]').isChecked()).toBe(false);
    await page.goForward();
    await settled(page);
    expect(await page.locator('#order input[value="causal"]').isChecked()).toBe(true);
    await close();
  });

  it('makes one step of a drag, not one of every pixel', async () => {
    const { page, close } = await driver.open('#v1&lab=atlas');
    const slider = page.locator('[data-field="base"] input[type="range"]');
    // A link holds its place while labs load, until somebody scrolls.
    await page.mouse.wheel(0, 1);
    await slider.scrollIntoViewIfNeeded();
    await settled(page);
    const before = await page.evaluate(() => history.length);
    const box = (await slider.boundingBox()) as {
      x: number;
      y: number;
      width: number;
      height: number;
    };
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    for (let i = 1; i <= 20; i += 1)
      await page.mouse.move(box.x + box.width / 2 + i * 2, box.y + box.height / 2);
    await page.mouse.up();
    await settled(page);
    expect(await page.evaluate(() => history.length)).toBe(before + 1);
    expect(page.url()).toContain('p.base=');
    await close();
  });

  it('shows one lab alone for a lecture', async () => {
    const { page, complaints, close } = await driver.open('?embed=config#v1&cfg=llama-2-7b');
    await page.waitForSelector('#config[data-loaded]');
    expect(await page.locator('.doctor-verdict').isVisible()).toBe(true);
    for (const part of ['.bar', '.hero', '#order', '#atlas', '.foot'])
      expect(await page.locator(part).isVisible(), part).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  it('packs a link that would be long, opens it as what it was, and says where one is damaged', async () => {
    // No two alike, so that there is something to pack and it stays long enough.
    const words = Array.from({ length: 400 }, (_, i) => `ключ${i}`).join(' ');
    const { page, complaints, close } = await driver.open(
      `#v1&lab=words&say=${encodeURIComponent(words)}`,
      { permissions: ['clipboard-read', 'clipboard-write'] },
    );
    const plain = new URL(page.url()).hash;
    const link = await copied(page, () => page.locator('#share').click());
    const { hash } = new URL(link);
    expect(hash).toMatch(/^#v1&z=[\w-]+\.[0-9a-z]{7}$/);
    expect(hash.length).toBeLessThan(plain.length / 5);
    expect(await inflated(hash.slice('#v1&z='.length))).toBe(plain.slice('#v1&'.length));
    await goTo(page, '#v1&mask=causal');
    await page.evaluate((hash) => {
      location.hash = hash;
    }, hash);
    await expect.poll(() => new URL(page.url()).hash).toBe(plain);
    await expect.poll(() => page.locator('#words-text').inputValue()).toBe(words);
    await page.evaluate(() => {
      location.hash = '#v1&z=AAAA';
    });
    await page.locator('.toast', { hasText: 'This link is damaged' }).waitFor();
    // 3 KB that would be 3 MB: a link of 400 KB could fill the memory.
    const bomb = deflateRawSync(`say=${'a'.repeat(3e6)}`).toString('base64url');
    await page.evaluate((packed) => {
      location.hash = `#v1&z=${packed}`;
    }, bomb);
    await expect.poll(() => page.locator('.toast', { hasText: 'damaged' }).count()).toBe(2);
    expect(new URL(page.url()).hash).toBe('#v1');
    expect(complaints).toEqual([]);
    await close();
    const again = await driver.open(hash, {}, () => undefined);
    await again.page.waitForSelector('html[data-ready="true"]');
    expect(new URL(again.page.url()).hash).toBe(plain);
    await again.close();
  });

  /** Presses Share; whether writing began while the press was handled: later, Safari refuses. */
  const press = (page: Page): Promise<boolean> =>
    page.evaluate(() => {
      let began = false;
      const real = navigator.clipboard.write.bind(navigator.clipboard);
      navigator.clipboard.write = (items) => {
        began = true;
        return real(items);
      };
      document.querySelector<HTMLElement>('#share')?.click();
      return began;
    });
  const permissions = ['clipboard-read', 'clipboard-write'];
  const long = `#v1&lab=words&say=${Array.from({ length: 700 }, (_, i) => `w${i}`).join('+')}`;
  const toasted = async (page: Page, text: string) =>
    (await page.locator('.toast', { hasText: text }).textContent()) ?? '';

  it('copies a link that is still being packed within the press', async () => {
    const { page, complaints, close } = await driver.open(long, { permissions });
    let began = false;
    const link = await copied(page, async () => {
      began = await press(page);
    });
    expect(began).toBe(true);
    expect(link).toContain('#v1&z=');
    expect(complaints).toEqual([]);
    await close();
  });

  it('copies the long address where the browser cannot pack, and says so', async () => {
    const { page, complaints, close } = await driver.open(long, { permissions });
    await page.evaluate(() => {
      const Real = CompressionStream;
      globalThis.CompressionStream = class extends Real {
        constructor(format: CompressionFormat) {
          if (format === 'deflate-raw') throw new TypeError('no such format');
          super(format);
        }
      };
    });
    const link = await copied(page, () => page.locator('#share').click());
    expect(link).toBe(page.url());
    expect(await toasted(page, 'cannot shorten')).toContain(`${new URL(link).hash.length}`);
    expect(complaints).toEqual([]);
    await close();
  });

  it('shows the link where copying is refused', async () => {
    const { page, complaints, close } = await driver.open('#v1&mask=causal');
    await page.evaluate(() => {
      const refuse = () => Promise.reject(new DOMException('refused', 'NotAllowedError'));
      navigator.clipboard.write = refuse;
      navigator.clipboard.writeText = refuse;
    });
    await page.locator('#share').click();
    expect(await toasted(page, 'not allowed')).toContain(page.url());
    expect(complaints).toEqual([]);
    await close();
  });

  it('resets everything and copies a link', async () => {
    const { page, close } = await driver.open('#v1&mask=causal&len=500', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const link = await copied(page, () => page.locator('#share').click());
    expect(link).toBe(page.url());
    await page.locator('#reset').click();
    await settled(page);
    expect(new URL(page.url()).hash).toBe('#v1');
    await close();
  });
});
