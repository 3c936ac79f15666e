// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodings } from '../../dist/index.node.js';
import {
  columnsOf,
  goTo,
  numberAt,
  type Opened,
  PageDriver,
  saved,
  settled,
} from './page-driver.ts';

let driver: PageDriver;
beforeAll(async () => {
  driver = await PageDriver.start();
});
afterAll(() => driver?.stop());

interface Golden {
  expected: Record<string, { shape: number[]; data: number[] }>;
  tolerance: { f32: { rtol: number; atol: number } };
}
const golden = (name: string): Golden =>
  JSON.parse(readFileSync(new URL(`../golden/${name}.json`, import.meta.url), 'utf8')) as Golden;

/** Every number of the table on screen, by its two headings. */
async function table(page: Page): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const toggle = page.locator('#atlas .button-row button[aria-controls="atlas-numbers"]');
  await toggle.click();
  const { head, rows } = await page.locator('#atlas-numbers table').evaluate((element) => ({
    head: [...element.querySelectorAll('thead th')].map((cell) => cell.textContent ?? ''),
    rows: [...element.querySelectorAll('tbody tr')].map((row) =>
      [...row.children].map((cell) => cell.textContent ?? ''),
    ),
  }));
  await toggle.click();
  for (const row of rows)
    for (let i = 1; i < row.length; i += 1) found.set(`${row[0]}|${head[i]}`, Number(row[i]));
  return found;
}
const close = (got: number, want: number, { f32 }: Golden['tolerance']): boolean =>
  Math.abs(got - want) <= f32.atol + f32.rtol * Math.abs(want);

// One page for all of them, as a visitor has it: what one encoding leaves behind the next would show, and loading the page anew
// for each took three quarters of the time.
describe('Lab 1, from encoding to encoding', () => {
  let opened: Opened;
  beforeAll(async () => {
    // Alone: to lay out the rest of the page takes a third of each drawing.
    opened = await driver.open('?embed=atlas#v1&lab=atlas');
  });
  afterAll(() => opened?.close());
  const visit = async (id: string, more = ''): Promise<Page> => {
    opened.complaints.length = 0;
    await goTo(opened.page, `#v1&lab=atlas&enc=${id}${more}`);
    return opened.page;
  };

  it.each(encodings.map((info) => info.id))('draws %s with finite numbers', async (id) => {
    const page = await visit(id);
    expect(await page.locator('#atlas .figure-error').isHidden()).toBe(true);
    const painted = await page.locator('#atlas-map canvas').evaluate((canvas) => {
      const { width, height } = canvas as HTMLCanvasElement;
      // A copy, since Chromium warns of a canvas that is drawn for display and read over and over.
      const copy = new OffscreenCanvas(width, height).getContext('2d', {
        willReadFrequently: true,
      });
      copy?.drawImage(canvas as HTMLCanvasElement, 0, 0);
      const data = copy?.getImageData(0, 0, width, height).data;
      return {
        cells: width * height,
        colours: new Set(new Uint32Array(data?.buffer ?? new ArrayBuffer(0))).size,
      };
    });
    expect(painted.cells).toBeGreaterThan(100);
    if (id !== 'none') expect(painted.colours).toBeGreaterThan(4);
    const paths = await page
      .locator('#atlas-curve path.line')
      .evaluateAll((all) => all.map((path) => path.getAttribute('d') ?? ''));
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.join()).not.toMatch(/NaN|Infinity|undefined/);
    const numbers = [...(await table(page)).values()];
    expect(numbers.length).toBeGreaterThan(10);
    expect(numbers.every(Number.isFinite)).toBe(true);
    expect(await page.locator('#atlas .measured').textContent()).toMatch(
      /changed: largest change of a weight/,
    );
    expect((await page.locator('#atlas-curve').getAttribute('aria-label'))?.length).toBeGreaterThan(
      30,
    );
    expect(await page.locator(`#gallery-${id}`).isChecked()).toBe(true);
    expect(opened.complaints).toEqual([]);
  });

  it('draws a control for every option of every encoding', async () => {
    // By the control itself, as visitors do; elsewhere here by the address. It is in the bar, which a lab alone does without.
    const page = await visit('none');
    await page.locator('.bar').evaluate((bar: HTMLElement) => {
      bar.hidden = false;
    });
    for (const info of encodings) {
      await page.selectOption('#encoding', info.id);
      await settled(page);
      const shown = await page
        .locator('#atlas .controls [data-field]')
        .evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.field));
      for (const field of info.fields)
        expect(shown, `${info.id}.${field.name}`).toContain(field.name);
    }
  });

  it.each(encodings.map((info) => info.id))(
    'takes any number in any field of %s without breaking',
    async (id) => {
      // Short, since each number is a drawing.
      const page = await visit(id, '&len=24');
      const tried = await page.locator('#atlas .controls input.exact').evaluateAll(
        async (fields, texts) => {
          for (const field of fields as HTMLInputElement[])
            for (const text of texts) {
              field.value = text;
              field.dispatchEvent(new Event('input', { bubbles: true }));
              field.dispatchEvent(new Event('change', { bubbles: true }));
              await new Promise(requestAnimationFrame);
            }
          return fields.length;
        },
        ['-1', '0.5', '1e9', ''],
      );
      await settled(page);
      expect(tried).toBeGreaterThan(0);
      expect(opened.complaints).toEqual([]);
      const shown = await page.locator('#atlas .figure-error').isHidden();
      expect(shown, `${id} after an empty field, which means the default`).toBe(true);
    },
  );
});

describe('Lab 1', () => {
  it('agrees with the reference values of a table, in the table and under the cursor', async () => {
    const { expected, tolerance } = golden('sinusoidal_n8_d16');
    const want = expected.vaswani_interleaved as { data: number[] };
    const { page, close: end } = await driver.open('#v1&lab=atlas&enc=sinusoidal&len=8&p.dim=16');
    const map = page.locator('#atlas-map');
    await map.focus();
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowRight');
    for (let i = 0; i < 5; i += 1) await page.keyboard.press('ArrowDown');
    await settled(page);
    expect(
      close(await numberAt(page, '[data-role="cell"]'), want.data[3 * 16 + 5] as number, tolerance),
    ).toBe(true);
    const shown = await table(page);
    let compared = 0;
    for (let position = 0; position < 8; position += 1)
      for (let dimension = 0; dimension < 16; dimension += 1) {
        const got = shown.get(`${position}|dimension ${dimension}`);
        if (got === undefined) continue;
        compared += 1;
        expect(
          close(got, want.data[position * 16 + dimension] as number, tolerance),
          `${position}, ${dimension}`,
        ).toBe(true);
      }
    expect(compared).toBeGreaterThanOrEqual(40);
    await end();
  });

  it('agrees with the reference values of a bias', async () => {
    const { expected, tolerance } = golden('alibi_bias_h4_s6');
    const want = expected.full_symmetric as { data: number[] };
    const { page, close: end } = await driver.open(
      '#v1&lab=atlas&enc=alibi&len=6&p.heads=4&p.form=symmetric',
    );
    const shown = await table(page);
    for (let head = 0; head < 4; head += 1)
      for (let distance = -5; distance <= 5; distance += 1) {
        const [query, key] = distance >= 0 ? [5, 5 - distance] : [5 + distance, 5];
        const got = shown.get(`${distance}|head ${head}`) as number;
        expect(
          close(got, want.data[(head * 6 + query) * 6 + key] as number, tolerance),
          `${head}, ${distance}`,
        ).toBe(true);
      }
    await end();
  });

  it('draws what distances count as where an encoding remaps them', async () => {
    const address = '#v1&lab=atlas&enc=rerope&len=8&p.window=4';
    const { page, close: end } = await driver.open(address);
    const shown = await table(page);
    for (let distance = 0; distance < 8; distance += 1) {
      expect(shown.get(`${distance}|counts as`)).toBe(Math.min(distance, 4));
      expect(shown.get(`${distance}|distance`)).toBe(distance);
    }
    expect(await page.locator('#atlas-body .notice-text').textContent()).toContain('below 5');
    await end();
  });

  it('links map and curve by one cursor, pins it with Enter and lets go with Escape', async () => {
    const { page, close: end } = await driver.open('#v1&lab=atlas');
    await page.locator('#atlas-map').focus();
    await page.keyboard.press('Shift+ArrowRight');
    await settled(page);
    expect(await page.locator('#atlas .readout').textContent()).toContain('position 10, pair 0');
    expect(await page.locator('#atlas-map').getAttribute('role')).toBe('application');
    expect(await page.locator('#atlas-curve .dot').count()).toBe(1);
    expect(await numberAt(page, '[data-role="cell"]')).toBeCloseTo(Math.cos(10), 6);
    await page.keyboard.press('Enter');
    await settled(page);
    expect(await page.locator('#atlas .pin').textContent()).toBe('pinned');
    await page.keyboard.press('End');
    await settled(page);
    expect(await page.locator('#atlas .readout').textContent()).toContain('position 127');
    await page.keyboard.press('Escape');
    await settled(page);
    expect(await page.locator('#atlas-map').getAttribute('role')).toBe('img');
    expect(await page.locator('#atlas-curve .dot').count()).toBe(0);
    await end();
  });

  it('shows the library’s error at the field it concerns, and recovers', async () => {
    const { page, complaints, close: end } = await driver.open('#v1&lab=atlas&enc=rope');
    const field = page.locator('[data-field="rotaryDim"]');
    await field.locator('input.exact').fill('7');
    await settled(page);
    const error = field.locator('.control-error');
    expect(await error.textContent()).toMatch(/rotaryDim.*got 7/);
    expect(await field.locator('input.exact').getAttribute('aria-invalid')).toBe('true');
    expect(await field.locator('input.exact').getAttribute('aria-describedby')).toContain(
      await error.getAttribute('id'),
    );
    await field.getByRole('button', { name: /Reset/ }).click();
    await settled(page);
    expect(await error.isHidden()).toBe(true);
    expect(complaints).toEqual([]);
    await end();
  });

  it('says where a learned table ends', async () => {
    const { page, close: end } = await driver.open('#v1&lab=atlas&enc=learned&len=600');
    await settled(page);
    expect(await page.locator('#atlas .figure-error').textContent()).toMatch(/511|512/);
    await page.locator('[data-field="pastEnd"]').getByText('clamp').click();
    await settled(page);
    expect(await page.locator('#atlas .figure-error').isHidden()).toBe(true);
    await end();
  });

  it('exports the map and the curve, each as numbers and as pictures', async () => {
    const { page, complaints, close: end } = await driver.open('#v1&lab=atlas&enc=alibi&len=4');
    const [map, curve] = ['#atlas-map-figure', '#atlas-curve-figure'];
    const text = async (figure: string, name: string) =>
      (await saved(page, figure, name)).toString();
    const csv = await text(map, 'CSV');
    expect(csv.split('\n').filter((line) => !line.startsWith('#'))).toHaveLength(1 + 7 + 1);
    expect(csv).toContain('\n3,-1.5,');
    const cells = JSON.parse(await text(map, 'JSON'));
    expect([cells.first, cells.columns, cells.cells.length]).toEqual([-3, 7, cells.rows]);
    expect(cells.cells[0][6]).toBe(-1.5);
    expect((await saved(page, map, 'PNG')).subarray(1, 4).toString()).toBe('PNG');

    expect(
      columnsOf(await text(curve, 'CSV'))
        .get('head 0')
        ?.at(-1),
    ).toBe(-1.5);
    const { rows } = JSON.parse(await text(curve, 'JSON'));
    expect(rows.at(-1)).toMatchObject({ distance: 3, 'head 0': -1.5 });
    expect(await text(curve, 'SVG')).toMatch(/<svg[^>]*>.*<path/);
    expect((await saved(page, curve, 'PNG')).subarray(1, 4).toString()).toBe('PNG');
    expect(complaints).toEqual([]);
    await end();
  });

  it('draws the envelope, the band of random vectors and the length of training, and says what they are', async () => {
    const address = '#v1&lab=atlas&enc=rope-yarn&len=64&p.originalLength=32&log=1';
    const { page, complaints, close: end } = await driver.open(address);
    // What surrounds the curve comes after it.
    await settled(page);
    const marks = (what: string) => page.locator(`#atlas-curve ${what}`).count();
    expect([await marks('.envelope'), await marks('.band'), await marks('.level')]).toEqual([
      1, 1, 1,
    ]);
    expect(await page.locator('#atlas-curve .note').textContent()).toBe('trained 32');
    const said = (await page.locator('#atlas .definitions').textContent()) ?? '';
    expect(said).toMatch(/envelope.*2,000 pairs of random vectors/);
    const columns = columnsOf((await saved(page, '#atlas-curve-figure', 'CSV')).toString());
    const [curve, envelope] = [columns.get('agreement'), columns.get('envelope')];
    expect(curve).toHaveLength(64);
    expect(curve?.[0]).toBeCloseTo(envelope?.[0] as number, 6);
    expect(columns.get('deviation of random vectors')?.[9]).toBeGreaterThan(0.1);
    await goTo(page, '#v1&lab=atlas&enc=alibi&len=64');
    expect([await marks('.envelope'), await marks('.band'), await marks('.level')]).toEqual([
      0, 0, 0,
    ]);
    expect(complaints).toEqual([]);
    await end();
  });

  it('never shows a curve in the envelope of another, and has its band once the hand rests', async () => {
    const {
      page,
      complaints,
      close: end,
    } = await driver.open('?embed=atlas#v1&lab=atlas&enc=rope&len=512');
    await settled(page);
    const path = (look: string): Promise<string | null> =>
      page.locator(`#atlas-curve path.${look}`).getAttribute('d');
    const before = await path('band');
    const pairs = await page.evaluate(async () => {
      const slider = document.querySelector(
        '#atlas [data-field="base"] input[type="range"]',
      ) as HTMLInputElement;
      const d = (look: string): string =>
        document.querySelector(`#atlas-curve path.${look}`)?.getAttribute('d') ?? '';
      const seen: [string, string][] = [];
      // A busy machine shows only some of the steps.
      const enough = (): boolean => new Set(seen.map(([curve]) => curve)).size > 5;
      for (let i = 0; i < 12 || (i < 200 && !enough()); i += 1) {
        slider.stepDown(2);
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        await new Promise(requestAnimationFrame);
        await new Promise((done) => setTimeout(done, 0));
        seen.push([d('chosen'), d('envelope')]);
      }
      return seen;
    });
    const kinds = new Set(pairs.map(([curve]) => curve)).size;
    expect(kinds).toBeGreaterThan(3);
    expect(new Set(pairs.map(([, envelope]) => envelope)).size).toBe(kinds);
    expect(new Set(pairs.map(String)).size).toBe(kinds);
    await settled(page);
    expect(await path('band')).not.toBe(before);
    // As whoever comes by the link of it has it.
    await page.locator('#atlas [data-field="base"] input[type="range"]').dispatchEvent('change');
    await settled(page);
    const again = await driver.open(`?embed=atlas${new URL(page.url()).hash}`);
    await settled(again.page);
    expect(await again.page.locator('#atlas-curve path.band').getAttribute('d')).toBe(
      await path('band'),
    );
    expect([...complaints, ...again.complaints]).toEqual([]);
    await again.close();
    await end();
  });

  it('draws eight thousand positions, windowed', async () => {
    const {
      page,
      complaints,
      close: end,
    } = await driver.open('#v1&lab=atlas&enc=sinusoidal&len=8192&p.dim=128');
    await settled(page);
    expect(await page.locator('#atlas .figure-error').isHidden()).toBe(true);
    const points = await page.locator('#atlas-curve path.line').first().getAttribute('d');
    expect(points?.split('L').length).toBeLessThanOrEqual(2000);
    await page.locator('#atlas-map').focus();
    await page.keyboard.press('End');
    for (let i = 0; i < 4; i += 1) await page.keyboard.press('+');
    await settled(page);
    expect(await page.locator('#atlas-map .overview-part').count()).toBe(1);
    expect(await page.locator('#atlas .readout').textContent()).toContain('position 8191');
    expect(complaints).toEqual([]);
    await end();
  });
});
