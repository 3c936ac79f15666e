// SPDX-License-Identifier: Apache-2.0
// The atlas, side by side: encodings of every kind on one axis, and how relative each is.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ladder, ladderOf } from '../../web/src/compute/ladder.ts';
import {
  type Preference,
  preferenceInParts,
  toeplitzScore,
} from '../../web/src/compute/preference.ts';
import { wavesOf } from '../../web/src/compute/waves.ts';
import type { Engine } from '../../web/src/engine.ts';
import { ladderNotice, wavelessNotices } from '../../web/src/labs/ladder-notice.ts';
import { wordCount } from '../../web/src/labs/notices.ts';
import type { EncodingInfo } from '../../web/src/model/manifest.ts';
import { normal } from '../../web/src/model/random.ts';
import { untouched } from '../../web/src/model/settings.ts';
import { toneOf } from '../../web/src/parts/sound.ts';
import { engine, infoOf, manifest } from './computed.ts';
import { columnsOf, PageDriver, saved, settled, suitsEverybody } from './page-driver.ts';

/** All parts at once. */
function preferenceOf(info: EncodingInfo): Preference {
  const parts = preferenceInParts(engine, info, untouched, 64, 16);
  for (let part = parts.next(); ; part = parts.next()) if (part.done) return part.value;
}
const of = (id: string) => preferenceOf(infoOf(id));

describe('the preference for a place', () => {
  it('is finite for every encoding, and nothing at the token itself', () => {
    for (const info of manifest) {
      const { byDistance, toeplitz } = preferenceOf(info);
      expect(byDistance.every(Number.isFinite), info.id).toBe(true);
      expect(byDistance[0], info.id).toBeCloseTo(0, 6);
      expect(toeplitz, info.id).toBeLessThanOrEqual(1);
    }
  });

  it('is the mean slope of the heads where a bias falls evenly', () => {
    // Eight heads: slopes 1/2 to 1/256.
    const mean = Array.from({ length: 8 }, (_, i) => 2 ** -(i + 1)).reduce((a, b) => a + b) / 8;
    of('alibi').byDistance.forEach((logits, distance) => {
      expect(logits).toBeCloseTo(-mean * distance, 4);
    });
  });

  it('depends on the distance alone just where it should', () => {
    for (const id of ['rope', 'alibi', 't5', 'none'])
      expect(of(id).toeplitz, id).toBeGreaterThan(0.9995);
    expect(of('sinusoidal').toeplitz).toBeLessThan(0.99);
    expect(of('learned').toeplitz).toBeLessThan(0.6);
    const [ramp, noise] = [
      (i: number) => (i % 8) - Math.floor(i / 8),
      (i: number) => Math.sin(i * i),
    ];
    expect(
      toeplitzScore(
        Float32Array.from({ length: 64 }, (_, i) => ramp(i)),
        8,
      ),
    ).toBeCloseTo(1, 12);
    expect(
      toeplitzScore(
        Float32Array.from({ length: 64 }, (_, i) => noise(i)),
        8,
      ),
    ).toBeLessThan(0.7);
  });

  it('counts the pairs that turn round', () => {
    const want = Array.from({ length: 32 }, (_, i) => 2 * Math.PI * 10000 ** (i / 32)).filter(
      (l) => l > 64,
    ).length;
    expect(of('rope').pairs).toEqual({ all: 32, never: want });
    expect(of('alibi').pairs).toBeUndefined();
  });
});

describe('the wavelength ladder', () => {
  it('is that of the paper, counted against the length', () => {
    const { wavelengths, turns, never, aliased } = ladderOf(
      engine,
      infoOf('rope'),
      untouched,
      4096,
    ) as Ladder;
    wavelengths.forEach((wavelength, i) => {
      expect(wavelength).toBeCloseTo(2 * Math.PI * 10000 ** (i / 32), 6);
      expect(turns[i]).toBeCloseTo(4096 / wavelength, 9);
    });
    expect(never).toBe([...wavelengths].filter((wavelength) => wavelength > 4096).length);
    expect(aliased).toBe(0);
  });

  it('counts what neighbours cannot follow, and what stands still', () => {
    const inverseFrequencies = Float64Array.of(4, -2, 0.01, 0);
    const made = { encoding: () => ({ plan: () => ({ inverseFrequencies }) }) };
    const found = ladderOf(made as unknown as Engine, infoOf('rope'), untouched, 64) as Ladder;
    expect(found).toMatchObject({ never: 2, aliased: 1, length: 64 });
    expect(found.wavelengths[1]).toBeCloseTo(Math.PI, 12);
    expect(found.wavelengths[3]).toBe(Number.POSITIVE_INFINITY);
    expect(ladderOf(engine, infoOf('alibi'), untouched, 64)).toBeUndefined();
  });

  it('finds the waves of a table from its rows, along either axis of a grid, and none in free numbers', () => {
    for (const base of [10000, 100, 1e7]) {
      const settings = { ...untouched, fields: { base } };
      const found = ladderOf(engine, infoOf('sinusoidal'), settings, 4096) as Ladder;
      expect(found).toMatchObject({ of: 'channel', length: 4096, aliased: 0 });
      expect(found.wavelengths).toHaveLength(64);
      found.wavelengths.forEach((wavelength, channel) => {
        const paper = 2 * Math.PI * base ** (Math.floor(channel / 2) / 32);
        expect(wavelength / paper, `channel ${channel}`).toBeCloseTo(1, 5);
      });
    }
    const plane = ladderOf(engine, infoOf('sinusoidal-2d'), untouched, 64) as Ladder;
    expect(plane.of).toBe('channel');
    expect(plane.wavelengths.every((wavelength) => wavelength > 0)).toBe(true);
    expect(ladderOf(engine, infoOf('learned'), untouched, 64)).toBe('free');
    const [fast, slow] = [3, 1e-5];
    const waves = wavesOf(
      (positions) => ({
        shape: [16, 3],
        data: Float32Array.from({ length: 48 }, (_, i) => {
          const p = (positions as Float64Array)[Math.floor(i / 3)] as number;
          return [Math.cos(fast * p), Math.sin(slow * p), 0.25][i % 3] as number;
        }),
      }),
      1,
      true,
    ) as Float64Array;
    expect(waves[0]).toBeCloseTo(fast, 5);
    expect((waves[1] ?? 0) / slow).toBeCloseTo(1, 5);
    expect(waves[2]).toBe(0);
  });

  it.each(['error', 'clamp'])(
    'takes a learned table for what its rows are, up to the last: past it %s',
    (pastEnd) => {
      const wavesFor = (rows: number, x: (row: number, channel: number) => number) => {
        const data = Float32Array.from({ length: rows * 4 }, (_, i) => x(Math.floor(i / 4), i % 4));
        const made = engine.encoding('learned', { pastEnd, table: { shape: [rows, 4], data } });
        return wavesOf((positions) => made.table(positions), 1, true);
      };
      const omega = [1, 0.1, 0.01, 1e-7];
      const wave = (row: number, channel: number) => Math.sin((omega[channel] ?? 0) * row + 0.5);
      // 115 rows end between the two last that are looked at.
      for (const rows of [512, 115]) {
        const found = wavesFor(rows, wave) as Float64Array;
        for (const channel of [0, 1, 2])
          expect((found[channel] ?? 0) / (omega[channel] ?? 0), `${rows}`).toBeCloseTo(1, 2);
        expect(found[3]).toBe(0);
      }
      expect(wavesFor(512, () => 0)).toEqual(new Float64Array(4));
      const free = normal(1, 2048);
      expect(wavesFor(512, (row, channel) => free[4 * row + channel] ?? 0)).toBe('free');
    },
  );

  it('says of a short table that it cannot tell, and hides no other fault', () => {
    const settings = { ...untouched, sizes: { rows: 12 } };
    expect(ladderOf(engine, infoOf('learned'), settings, 8)).toBe('unknown');
    const broken = () => {
      throw new TypeError('broken');
    };
    expect(() => wavesOf(broken, 1, true)).toThrow('broken');
  });

  it('is there for all that turns or is a wave, and is noticed in at most forty words', () => {
    for (const info of manifest) {
      const ladder = ladderOf(engine, info, untouched, 128);
      expect(ladder !== undefined, info.id).toBe(
        info.sites.includes('rotate') || info.sites.includes('embed'),
      );
    }
    for (const notice of Object.values(wavelessNotices))
      expect(wordCount(notice)).toBeLessThanOrEqual(40);
    for (const of of ['pair', 'channel'] as const)
      for (const never of [0, 12])
        for (const aliased of [0, 3])
          expect(
            wordCount(
              ladderNotice({ of, count: 32, never, aliased, length: 4096, fastest: 651.9 }),
            ),
          ).toBeLessThanOrEqual(40);
  });
});

describe('a curve as a tone', () => {
  const heard = (values: number[], logarithmic = false) =>
    toneOf({ name: 'curve', values, places: values.map((_, i) => i), logarithmic });
  it('is the higher the higher the value, two octaves in all, and silent where there is none', () => {
    const rising = heard([-1, 0, 3]);
    expect([rising.low, rising.high]).toEqual([-1, 3]);
    const { frequencies, gains } = rising;
    expect(frequencies[0]).toBeCloseTo(220, 3);
    expect(frequencies.at(-1)).toBeCloseTo(880, 3);
    for (let i = 1; i < frequencies.length; i += 1)
      expect(frequencies[i]).toBeGreaterThan(frequencies[i - 1] as number);
    expect([gains[0], gains.at(-1)]).toEqual([0, 0]);
    expect(gains[128]).toBeGreaterThan(0.1);
    const broken = heard([0, 1, Number.NaN, Number.NaN, 0, 1]);
    expect(broken.gains[128]).toBe(0);
    expect(broken.frequencies.every(Number.isFinite)).toBe(true);
    expect(heard([5, 5]).frequencies[9]).toBeCloseTo(440, 3);
    // A decade is a decade wherever it lies.
    expect(heard([1, 10, 100], true).frequencies[128]).toBeCloseTo(440, -1);
    expect(rising.columns[255]).toBe(2);
  });
});

describe('side by side', () => {
  let driver: PageDriver;
  beforeAll(async () => {
    driver = await PageDriver.start();
  });
  afterAll(() => driver?.stop());

  it('compares with the usual two, and with another where one of them is chosen above', async () => {
    const { page, close } = await driver.open('#v1&lab=atlas&len=64');
    await page.locator('#compare').scrollIntoViewIfNeeded();
    await page.waitForSelector('#compare[data-loaded]');
    const beside = async (id: string): Promise<string[]> => {
      await page.selectOption('#encoding', id);
      await settled(page);
      return page
        .locator('#compare select')
        .evaluateAll((all) => all.map((one) => (one as HTMLSelectElement).value));
    };
    expect(await beside('rope')).toEqual(['sinusoidal', 'alibi', '']);
    expect(await beside('sinusoidal')).toEqual(['alibi', 'rope', '']);
    expect(await beside('alibi')).toEqual(['sinusoidal', 'rope', '']);
    await page.selectOption('#compare-2', 't5');
    expect(await beside('t5')).toEqual(['sinusoidal', 'rope', 't5']);
    await close();
  });

  it('puts up to four on one axis, shares them, and suits everybody', async () => {
    const { page, complaints, requests, close } = await driver.open('#v1&lab=atlas&len=64');
    await page.locator('#compare').scrollIntoViewIfNeeded();
    await page.waitForSelector('#compare[data-loaded]');
    await page.selectOption('#compare-2', 't5');
    await settled(page);
    expect(page.url()).toContain('t5');
    const drawn = columnsOf((await saved(page, '#compare-distance', 'CSV')).toString());
    expect([...drawn.keys()].slice(1)).toEqual(
      ['RoPE', 'Sinusoidal', 'ALiBi', 'T5 relative bias'].map((title) =>
        expect.stringContaining(title.slice(0, 4)),
      ),
    );
    // Engines differ in the last bit of a logarithm.
    of('rope').byDistance.forEach((logits, distance) => {
      expect(drawn.get('RoPE')?.[distance]).toBeCloseTo(logits, 12);
    });
    const again = await driver.open(new URL(page.url()).hash);
    await again.page.locator('#compare').scrollIntoViewIfNeeded();
    await again.page.waitForSelector('#compare[data-loaded]');
    await settled(again.page);
    const cards = (one: typeof page) => one.locator('.compare-cards').textContent();
    expect(await cards(again.page)).toBe(await cards(page));
    await again.close();
    for (const { id } of manifest) {
      await page.selectOption('#compare-1', id);
      await settled(page);
      expect(await page.locator('.compare-card .control-error').count(), id).toBe(0);
    }
    expect(await page.locator('#ladder-plot').isVisible()).toBe(true);
    const sound = () => requests.filter((url) => /\/sound-/.test(url)).length;
    const listen = page.locator('#ladder button[aria-describedby^="listen-"]');
    expect(sound()).toBe(0);
    await listen.press('Enter');
    await expect.poll(() => listen.textContent()).toBe('Silence');
    expect(sound()).toBe(1);
    await expect.poll(() => listen.textContent(), { timeout: 10_000 }).toBe('Listen');
    await expect.poll(() => page.locator('#live').textContent()).toMatch(/^RoPE: from 6\.283 to /);
    const atlasListen = page.locator('#atlas-body button[aria-describedby^="listen-"]');
    // Both within a task: neither has its player yet when the other is pressed.
    await page.evaluate(
      (buttons) => {
        const Real = AudioContext;
        globalThis.AudioContext = class extends Real {
          constructor() {
            super();
            document.body.dataset.players = String(Number(document.body.dataset.players ?? 0) + 1);
          }
        };
        for (const selector of buttons) document.querySelector<HTMLElement>(selector)?.click();
      },
      ['#ladder', '#atlas-body'].map((where) => `${where} button[aria-describedby^="listen-"]`),
    );
    const players = () => page.locator('body').getAttribute('data-players');
    await expect.poll(players).toBe('1');
    expect([await listen.textContent(), await atlasListen.textContent()]).toEqual([
      'Listen',
      'Silence',
    ]);
    await atlasListen.click();
    expect(await atlasListen.textContent()).toBe('Listen');
    await settled(page);
    expect(await players()).toBe('1');
    // The page scrolls under the pointer, which where it rests now may come to lie on a figure and move its cursor.
    await page.mouse.move(0, 0);
    await page.locator('#ladder-plot').focus();
    await page.keyboard.press('Home');
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowRight');
    expect(await page.locator('#atlas-body .readout').textContent()).toContain('pair 3');
    await page.locator('#atlas-map').focus();
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('#ladder .key-place').textContent()).toMatch(
      /^pair \d+: .* turns in 64/,
    );
    await page.selectOption('#encoding', 'alibi');
    await settled(page);
    expect(await page.locator('#ladder-plot').isVisible()).toBe(false);
    await page.selectOption('#encoding', 'learned');
    await settled(page);
    expect(await page.locator('#ladder-plot').isVisible()).toBe(false);
    expect(await page.locator('.ladder .notice-text').textContent()).toBe(wavelessNotices.free);
    await page.selectOption('#encoding', 'sinusoidal');
    await settled(page);
    await page.locator('#ladder-plot').focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('#ladder .key-place').textContent()).toMatch(/^channel \d+: /);
    await page.selectOption('#encoding', 'rope');
    await settled(page);
    expect(await suitsEverybody(page, 'compare')).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
