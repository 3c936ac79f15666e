// SPDX-License-Identifier: Apache-2.0
// Lab 2: the numbers of every way of stretching a rotation, and the figures made of them.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodings, load } from '../../dist/index.node.js';
import { beyond, methodsOf } from '../../web/src/compute/beyond.ts';
import type { Engine } from '../../web/src/engine.ts';
import { beyondNotice } from '../../web/src/labs/beyond/figures.ts';
import { wordCount } from '../../web/src/labs/notices.ts';
import type { EncodingInfo } from '../../web/src/model/manifest.ts';
import { golden } from '../js/golden/cases.ts';
import {
  columnsOf,
  copied,
  goTo,
  type Opened,
  PageDriver,
  saved,
  settled,
  suitsEverybody,
} from './page-driver.ts';
import { run } from './programs.ts';

const manifest = encodings as unknown as readonly EncodingInfo[];
const setup = { headDim: 128, base: 10000, trained: 4096, target: 32768, lists: {} };
const methods = methodsOf(manifest);
const found = beyond((await load()) as unknown as Engine, manifest, methods, setup);
const of = (id: string) =>
  found.methods.find(({ info }) => info.id === id) as (typeof found.methods)[0];

describe('the numbers beyond the trained length', () => {
  it('exist for every method of the manifest that turns by a base', () => {
    expect(methods.length).toBeGreaterThan(14);
    expect(found.failures).toEqual([]);
  });

  it('are what the methods are known for', () => {
    for (const r of of('rope').ratios) expect(r).toBe(1);
    for (const r of of('rope-linear').ratios) expect(r).toBeCloseTo(1 / 8, 12);
    const ntk = of('rope-ntk').ratios;
    // The base grows by s^(d/(d-2)): the fastest pair stays, the slowest is slowed in full, evenly between.
    ntk.forEach((r, i) => {
      expect(r).toBeCloseTo(8 ** (-i / 63), 10);
    });
    expect(of('rope-yarn').ratios[0]).toBe(1);
    expect(of('rope-yarn').ratios[63]).toBeCloseTo(1 / 8, 12);
    expect(of('rope-yarn').logits).toBeCloseTo((0.1 * Math.log(8) + 1) ** 2, 12);
    // 64 pairs, of which those beyond λ = 4096 never turned round: θ^(2i/d) > 4096/2π.
    const never = Array.from({ length: 64 }, (_, i) => 2 * Math.PI * 10000 ** (i / 64)).filter(
      (l) => l > 4096,
    ).length;
    expect(of('rope').unseenAtTarget).toBeCloseTo(never / 64, 12);
    for (const id of ['rope-linear', 'rope-yarn', 'rope-llama3'])
      expect(of(id).unseenAtTarget, id).toBe(0);
    expect(of('rope-linear').resolution).toBeCloseTo(1 / 8, 12);
    expect(of('rope-llama3').resolution).toBe(1);
  });

  it('tell where attention puts distances, through attention itself', () => {
    const at = (id: string, distance: number): number =>
      of(id).distances?.[found.steps.findIndex((step) => step >= distance)] as number;
    const step = (distance: number): number => found.steps.find((one) => one >= distance) as number;
    const window = Number(of('rerope').settings.fields.window);
    expect(at('rerope', 500)).toBeCloseTo(step(500), 0);
    expect(at('rerope', 20000)).toBeCloseTo(window, 0);
    // Beyond the window the distance grows sixteen times slower.
    expect(at('leaky-rerope', 20000)).toBeCloseTo(window + (step(20000) - window) / 16, 0);
    for (const id of ['rope', 'rope-linear', 'xpos']) expect(of(id).distances, id).toBeUndefined();
    const chunked = of('dual-chunk').distances as Float64Array;
    expect(Math.max(...chunked)).toBeLessThan(setup.trained);
  });

  it('are noticed in at most forty words', () => {
    for (const target of [2048, 4096, 32768])
      expect(wordCount(beyondNotice(found, { ...setup, target }))).toBeLessThanOrEqual(40);
  });
});

describe('Lab 2', () => {
  let driver: PageDriver;
  let opened: Opened;
  let page: Page;
  beforeAll(async () => {
    driver = await PageDriver.start();
    opened = await driver.open('#v1&lab=beyond&theta=1000000&from=32768&to=131072', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    page = opened.page;
    await settled(page);
  });
  afterAll(() => driver?.stop());
  const ratios = async (): Promise<Map<string, number[]>> =>
    columnsOf((await saved(page, '#beyond-ratios', 'CSV')).toString());

  it('draws what the reference computes for a public model', async () => {
    const plan = (
      golden('rope_freqs_yarn_qwen25_7b')?.expected as
        | { by_seq_len: { inv_freq_f64: { data: number[] }; attention_factor: number }[] }
        | undefined
    )?.by_seq_len.at(-1);
    if (!plan) return console.log('skipped: rope_freqs_yarn_qwen25_7b is not here');
    const drawn = (await ratios()).get('YaRN') ?? [];
    plan.inv_freq_f64.data.forEach((f, i) => {
      const plain = 1e6 ** (-i / 64);
      expect(Math.abs(((drawn[i] as number) * plain) / f - 1), `pair ${i}`).toBeLessThan(1e-12);
    });
    const logits = page.locator('[data-method="rope-yarn"] [data-column="logits times"]');
    expect(Number(await logits.getAttribute('data-value'))).toBeCloseTo(
      plan.attention_factor ** 2,
      12,
    );
  });

  it('follows its controls, its methods and its lists, and shares them', async () => {
    const field = page.locator('#beyond [data-field="to"] input.exact');
    await field.fill('65536');
    await field.press('Tab');
    await settled(page);
    expect((await ratios()).get('linear scaling')?.[0]).toBeCloseTo(0.5, 12);
    await field.fill('7.5');
    await settled(page);
    expect(await page.locator('#beyond [data-field="to"] .control-error').textContent()).toContain(
      '7.5',
    );
    await field.fill('65536');
    await page.locator('#method-rope-linear').uncheck();
    await page.locator('#method-rope-power').check();
    await settled(page);
    const names = [...(await ratios()).keys()];
    expect(names).not.toContain('linear scaling');
    expect(names).toContain('power scaling');
    await page.getByText('Lists of divisors').click();
    const list = page.locator('[data-field="longFactor"] input');
    await list.fill('1, 2');
    await list.press('Tab');
    await settled(page);
    expect(await page.locator('.summary .failed').textContent()).toMatch(/longFactor/);
    await list.fill(Array(64).fill(3).join());
    await list.press('Tab');
    await settled(page);
    expect((await ratios()).get('LongRoPE')?.[9]).toBeCloseTo(1 / 3, 12);
    const again = await driver.open(new URL(page.url()).hash);
    await settled(again.page);
    const table = async (one: Page) => one.locator('#beyond-summary').textContent();
    expect(await table(again.page)).toBe(await table(page));
    expect(again.complaints).toEqual([]);
    await again.close();
  });

  it('slides over head widths that exist, and over no other', async () => {
    await goTo(page, '#v1&lab=beyond');
    const control = page.locator('#beyond [data-field="hd"]');
    const slid = await control.evaluate((root) => {
      const slider = root.querySelector<HTMLInputElement>('input[type="range"]');
      const complaint = root.querySelector<HTMLElement>('.control-error');
      if (!slider || !complaint) throw new Error('no slider of the head width');
      return Array.from({ length: 201 }, (_, i) => {
        slider.value = String(5 * i);
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        return complaint.textContent;
      });
    });
    expect(slid.filter((text) => text !== '')).toEqual([]);
    await settled(page);
    expect(await control.locator('input.exact').inputValue()).toBe('256');
  });

  it('draws its cursor alone where a cursor moves', async () => {
    await goTo(page, '#v1&lab=beyond');
    await page.locator('#beyond-ratios-plot').focus();
    await page.keyboard.press('ArrowRight');
    await settled(page);
    const groups = (selector: string) =>
      page
        .locator(`#beyond-ratios-plot .overlay ${selector}`)
        .evaluateAll((all) =>
          all.map((one) =>
            [...(one.parentElement?.parentElement?.children ?? [])].indexOf(
              one.parentElement as Element,
            ),
          ),
        );
    await page.evaluate(() => {
      const overlay = document.querySelector('#beyond-ratios-plot .overlay') as Element;
      const touched: number[] = [];
      new MutationObserver((records) => {
        for (const { target } of records)
          touched.push([...overlay.children].findIndex((group) => group.contains(target)));
      }).observe(overlay, { subtree: true, childList: true, attributes: true });
      Object.assign(globalThis, { touched });
    });
    const at = () => page.locator('#beyond-ratios-plot .cross').getAttribute('d');
    const before = await at();
    await page.keyboard.press('ArrowRight');
    await settled(page);
    expect(await at()).not.toBe(before);
    const touched = () => page.evaluate(() => (globalThis as { touched?: number[] }).touched ?? []);
    const moved = await touched();
    expect(moved.length).toBeGreaterThan(0);
    expect(new Set(moved)).toEqual(new Set(await groups('.cross')));
    expect(await groups('.curve-line')).not.toContain(moved[0]);
    // One that was not there is not taken away.
    await page.keyboard.press('Escape');
    await settled(page);
    const gone = (await touched()).length;
    await page.keyboard.press('Escape');
    await page.locator('#beyond-ratios-plot').blur();
    await settled(page);
    expect((await touched()).length).toBe(gone);
  });

  it('survives the ends of its ranges', async () => {
    for (const hash of [
      'hd=4&from=16&to=1048576',
      'from=1048576&to=32',
      'hd=512&theta=1.001',
      'theta=1000000000000&methods=-',
      'from=17&to=33&hd=6',
    ]) {
      await goTo(page, `#v1&lab=beyond&${hash}`);
      const paths = await page
        .locator('#beyond path')
        .evaluateAll((all) => all.map((path) => path.getAttribute('d') ?? '').join(' '));
      expect(paths, hash).not.toMatch(/NaN|Infinity|undefined/);
    }
  });

  it('gives code that prints its frequencies, saves its table, and suits everybody', async () => {
    await goTo(page, '#v1&lab=beyond');
    const program = await copied(page, () =>
      page.locator('#beyond').getByRole('button', { name: 'Copy as code' }).click(),
    );
    const printed = run('beyond', program).join('\n');
    expect(printed).toContain(`rope-yarn ${of('rope-yarn').logits}`);
    const csv = (await saved(page, '#beyond-body', 'All methods as CSV')).toString();
    expect(csv).toContain(String(of('rope-yarn').logits));
    expect(await suitsEverybody(page, 'beyond')).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });
});
