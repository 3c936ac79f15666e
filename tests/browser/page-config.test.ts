// SPDX-License-Identifier: Apache-2.0
// Lab 4: pasted, dropped, chosen and shared configurations, and the numbers that come of them.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { load } from '../../dist/index.node.js';
import type { Engine } from '../../web/src/engine.ts';
import { torchCode } from '../../web/src/labs/doctor/code.ts';
import { pack } from '../../web/src/labs/doctor/packed.ts';
import { isReading, read } from '../../web/src/labs/doctor/read.ts';
import { rules } from '../../web/src/labs/doctor/rules.ts';
import { golden } from '../js/golden/cases.ts';
import { ggufBytes, llamaEntries } from '../js/support/gguf.ts';
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

const folder = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const shipped = readdirSync(folder('tests/fixtures/configs')).length;

const engine = (await load()) as unknown as Engine;
const llama = { model_type: 'llama', hidden_size: 4096, num_attention_heads: 32 };

let driver: PageDriver;
let opened: Opened;
let page: Page;
beforeAll(async () => {
  driver = await PageDriver.start();
  opened = await driver.open('#v1&lab=config', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  page = opened.page;
});
afterAll(() => driver?.stop());

describe('the PyTorch text', () => {
  // No PyTorch here to run it with, so only its grammar is checked.
  it('is Python, for every configuration of the page and for quotes in one', () => {
    const texts = readdirSync(folder('tests/fixtures/configs')).map((name) =>
      readFileSync(`${folder('tests/fixtures/configs')}/${name}`, 'utf8'),
    );
    const name = "it's '''quoted''' with a \\";
    texts.push(JSON.stringify({ ...llama, _name_or_path: name }));
    const programs = texts.flatMap((text) => {
      const found = read(engine, text, 0, false);
      return isReading(found) ? found.kinds.map((one) => torchCode(text, one)) : [];
    });
    expect(programs.length).toBeGreaterThan(shipped);
    const check = 'import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)';
    execFileSync('python3', ['-c', check], { input: JSON.stringify(programs) });
    const literal = /json\.loads\((r'''.*''')\)/.exec(programs.at(-1) ?? '')?.[1] ?? '';
    const print = 'import json, sys\nprint(json.loads(eval(sys.stdin.read()))["_name_or_path"])';
    expect(execFileSync('python3', ['-c', print], { input: literal, encoding: 'utf8' })).toBe(
      `${name}\n`,
    );
  });
});

const verdict = async (): Promise<string> => {
  await settled(page);
  return (await page.locator('.doctor-verdict').textContent()) ?? '';
};
const choose = async (id: string): Promise<string> => {
  await page.selectOption('#config-choice', id);
  await page.waitForFunction(
    (wanted) =>
      (document.querySelector('#config-choice') as HTMLSelectElement).value === wanted &&
      location.hash.includes(wanted),
    id,
  );
  return verdict();
};
const paste = async (config: unknown): Promise<string> => {
  await page.fill(
    '#config-text',
    typeof config === 'string' ? config : JSON.stringify(config, null, 2),
  );
  return verdict();
};
const frequencies = async (): Promise<Map<string, number[]>> =>
  columnsOf((await saved(page, '#frequencies', 'CSV')).toString());

interface Plan {
  readonly inv_freq_f64: { readonly data: number[] };
  readonly attention_factor: number;
}
const planOf = (name: string): Plan | undefined =>
  (golden(name)?.expected as { by_seq_len: Plan[] } | undefined)?.by_seq_len.at(-1);

describe('Lab 4', () => {
  it('opens with a public model whose file holds a key that nobody reads', async () => {
    expect(await verdict()).toMatch(
      /×4 over 32,768 → 131,072; logits ×1\.30; 128-wide heads; 1 warning\.$/,
    );
    expect(await page.locator('[data-rule="W01"]').textContent()).toContain(rules.W01?.fix);
    expect(await page.locator('[data-rule="W01"] a').getAttribute('href')).toContain('issues/684');
    const ignored = page.locator('[data-parameter="rope_scaling.attn_factor"]');
    expect(await ignored.textContent()).toMatch(/0\.8782488562869419ignored/);
    await ignored.getByRole('button', { name: 'Go to W01' }).click();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('finding-W01');
  });

  it.each([
    ['gpt-oss-20b', 'rope_freqs_yarn_gpt_oss_20b'],
    ['llama-3.1-8b', 'rope_freqs_llama3_llama31_8b'],
    ['phi-3.5-mini', 'rope_freqs_longrope_phi35_mini_long'],
  ])('gives the frequencies of %s as the reference has them', async (id, name) => {
    const want = planOf(name);
    if (!want) return console.log(`skipped: ${name} is not here`);
    await choose(id);
    const got = (await frequencies()).get('frequency (rad/token)') ?? [];
    expect(got).toHaveLength(want.inv_freq_f64.data.length);
    for (const [i, f] of want.inv_freq_f64.data.entries())
      expect(Math.abs((got[i] as number) / f - 1), `pair ${i}`).toBeLessThan(1e-12);
    const logits = Number(
      await page
        .locator('.tile', { hasText: 'Logits times' })
        .locator('[data-value]')
        .getAttribute('data-value'),
    );
    expect(logits).toBeCloseTo(want.attention_factor ** 2, 12);
  });

  it('reads every configuration that comes with it', async () => {
    const ids = await page
      .locator('#config-choice option')
      .evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
    expect(ids.length).toBe(shipped + 2);
    for (const id of ids.slice(1, -1)) {
      expect(await choose(id), id).not.toContain('cannot be read');
      expect(await page.locator('#config-body').textContent(), id).not.toMatch(
        /NaN|undefined|\[object/,
      );
    }
    expect(await choose('gemma-3-4b')).toContain(' and ');
    await page.locator('.doctor-kinds').getByText('full attention').click();
    await settled(page);
    expect(await page.locator('[data-parameter="factor"]').textContent()).toContain('8');
  });

  it('explains what is wrong, and says in red what cannot be read at all', async () => {
    expect(await paste({ ...llama, max_position_embeddings: 4096, rope_theta: '10000' })).toContain(
      'cannot be read',
    );
    expect(await page.locator('.finding.error').textContent()).toContain('rope_theta');
    await page.getByRole('checkbox', { name: 'Read leniently' }).check();
    expect(await verdict()).toContain('1 warning');
    await page.getByRole('checkbox', { name: 'Read leniently' }).uncheck();
    await paste({ ...llama, rope_scaling: 2 });
    expect(await page.locator('.finding.error').textContent()).toContain(rules.W04?.fix);
    await paste({ ...llama, rope_tetha: 5e5, max_position_embeddings: 4096 });
    expect(await page.locator('[data-rule="W12"]').textContent()).toMatch(/is it rope_theta\?/);
    for (const text of [
      '',
      '{',
      '[1]',
      'null',
      '{"a": 1}',
      '<img src=x onerror=alert(1)>',
      '7'.repeat(3e6),
    ]) {
      expect(await paste(text)).toContain('cannot be read');
      expect(await page.locator('.finding.error').isVisible()).toBe(true);
      expect(await page.locator('#frequencies').isVisible()).toBe(false);
    }
    expect(await page.locator('#config-body img').count()).toBe(0);
  });

  // In milliseconds: ./run bench --page.
  it('answers texts that come one after the other, each by its own numbers', async () => {
    await paste(llama);
    const verdicts = await page.evaluate(async () => {
      const text = document.querySelector('#config-text') as HTMLTextAreaElement;
      const said: (string | null | undefined)[] = [];
      for (const width of [128, 64, 128]) {
        text.value = `{"model_type":"llama","head_dim":${width},"max_position_embeddings":4096}`;
        text.dispatchEvent(new Event('input'));
        // In the next frame, or after it on a slow machine.
        while (document.documentElement.dataset.drawing !== undefined)
          await new Promise(requestAnimationFrame);
        said.push(document.querySelector('.doctor-verdict')?.textContent);
      }
      return said;
    });
    expect(verdicts).toEqual(
      [128, 64, 128].map((width) => expect.stringContaining(`${width}-wide`)),
    );
  });

  it('shares a text of one’s own in its link, and steps back', async () => {
    await choose('llama-2-7b');
    const said = await paste({ ...llama, rope_theta: 123456, max_position_embeddings: 4096 });
    await page.locator('#config-text').blur();
    await page.waitForFunction(() => location.hash.includes('cfg=~'));
    const again = await driver.open(new URL(page.url()).hash);
    await settled(again.page);
    expect(await again.page.locator('.doctor-verdict').textContent()).toBe(said);
    expect(await again.page.locator('[data-parameter="base"]').textContent()).toContain('123456');
    expect(again.complaints).toEqual([]);
    await again.close();
    await page.goBack();
    await page.waitForFunction(() =>
      (document.querySelector('#config-text') as HTMLTextAreaElement).value.includes('Llama-2-7b'),
    );
  });

  it('offers a file where a text is too long for a link', async () => {
    const { page, complaints, close } = await driver.open('#v1&lab=config');
    const factors = Array.from({ length: 4000 }, (_, i) => Math.sin(i + 1));
    const text = JSON.stringify({ ...llama, note: factors });
    const field = page.locator('#config-text');
    await field.fill(text);
    await field.blur();
    const notice = page.locator('.toast', { hasText: 'too long to travel in a link' });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      notice.getByRole('button', { name: 'Save as .json' }).click(),
    ]);
    expect(readFileSync(await file.path(), 'utf8')).toBe(text);
    expect(await notice.count()).toBe(0);
    // Nor does the offer outlive its text, however another one comes.
    for (const [i, next] of [
      () => page.selectOption('#config-choice', 'llama-2-7b'),
      () => field.fill('{"model_type":"llama"}'),
      () => page.locator('#reset').click(),
    ].entries()) {
      // Another text each time, or the field has not changed.
      await field.fill(text + ' '.repeat(i + 1));
      await field.blur();
      await notice.waitFor();
      await next();
      await expect.poll(() => notice.count()).toBe(0);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it('says which text of a link is damaged, and goes on with the usual one', async () => {
    const packed = await pack(JSON.stringify({ ...llama, rope_theta: 54321 }), 4096);
    const broken = packed.replace(/.{4}(?=.{20}$)/, (four) => (four === 'AAAA' ? 'BBBB' : 'AAAA'));
    const { page, complaints, close } = await driver.open(
      `#v1&lab=config&cfg=${broken}&base=${broken}`,
    );
    const toasts = page.locator('.toast', { hasText: 'is damaged' });
    await expect.poll(() => toasts.allInnerTexts()).toHaveLength(2);
    expect(await page.locator('#config-choice').inputValue()).not.toBe('own');
    expect(complaints).toEqual([]);
    await close();
  });

  it('lets no text that took long to unpack take the place of a newer one', async () => {
    const long = await pack(JSON.stringify({ ...llama, rope_theta: 54321 }), 4096);
    await choose('llama-2-7b');
    // Streams end when the test says so.
    await page.evaluate(() => {
      const Real = DecompressionStream;
      const told = new Promise((resolve) => addEventListener('unpack', resolve, { once: true }));
      globalThis.DecompressionStream = class {
        readonly readable: ReadableStream;
        readonly writable: WritableStream;
        constructor(format: CompressionFormat) {
          const real = new Real(format);
          this.writable = real.writable;
          this.readable = real.readable.pipeThrough(
            new TransformStream({ flush: async () => void (await told) }),
          );
        }
      };
    });
    await goTo(page, `#v1&lab=config&cfg=${long}&base=${long}`);
    await goTo(page, '#v1&lab=config&cfg=gpt-oss-20b&base=qwen2.5-7b');
    const shown = () =>
      page.evaluate(() =>
        ['text', 'choice', 'against'].map(
          (name) => (document.querySelector(`#config-${name}`) as HTMLInputElement).value,
        ),
      );
    const before = await shown();
    expect(before.slice(1)).toEqual(['gpt-oss-20b', 'qwen2.5-7b']);
    const difference = await page.locator('.doctor-difference').textContent();
    await page.evaluate(() => dispatchEvent(new Event('unpack')));
    await settled(page);
    await settled(page);
    expect(await shown()).toEqual(before);
    expect(await page.locator('.doctor-difference').textContent()).toBe(difference);
    await goTo(page, '#v1&lab=config');
  });

  it('reads the head of a model file and a dropped configuration', async () => {
    const head = ggufBytes(llamaEntries);
    await page.setInputFiles('#config-file', {
      name: 'm.gguf',
      mimeType: '',
      buffer: Buffer.from(head),
    });
    await page.waitForFunction(() =>
      (document.querySelector('#config-text') as HTMLTextAreaElement).value.includes(
        'general.architecture',
      ),
    );
    expect(await verdict()).not.toContain('cannot be read');
    await page.locator('.doctor-input').evaluate((target) => {
      const files = new DataTransfer();
      files.items.add(
        new File(['{"model_type":"llama","head_dim":64,"rope_theta":777777}'], 'config.json'),
      );
      target.dispatchEvent(
        new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }),
      );
    });
    await page.waitForFunction(() =>
      document.querySelector('[data-parameter="base"]')?.textContent?.includes('777777'),
    );
  });

  it('compares two configurations by what differs in a number', async () => {
    await choose('qwen2.5-7b-yarn');
    await page.selectOption('#config-against', 'qwen2.5-7b');
    await page.waitForFunction(() => location.hash.includes('base=qwen2.5-7b'));
    await settled(page);
    const names = await page
      .locator('.doctor-difference [data-parameter]')
      .evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.parameter));
    expect(names).toEqual(
      expect.arrayContaining(['method', 'factor', 'originalLength', 'attention factor']),
    );
    expect(names).not.toContain('headDim');
    await choose('qwen2.5-7b');
    expect(await page.locator('.doctor-difference').textContent()).toContain('Not one number');
  });

  it('gives code that prints the numbers of the page', async () => {
    await choose('gpt-oss-20b');
    const program = await copied(page, () =>
      page.locator('#config').getByRole('button', { name: 'Copy as code' }).click(),
    );
    const printed = run('config', program).join('\n');
    const shown = (await frequencies()).get('frequency (rad/token)') ?? [];
    expect(printed).toContain(String(planOf('rope_freqs_yarn_gpt_oss_20b')?.attention_factor));
    expect(printed).toContain(String(Number(shown[5]?.toPrecision(15))).slice(0, 12));
  });

  it('saves its figure, opens in the atlas, and suits everybody', async () => {
    expect((await saved(page, '#frequencies', 'SVG')).toString()).toMatch(
      /^<svg.*stroke="rgb.*<\/svg>$/s,
    );
    expect((await saved(page, '#frequencies', 'PNG')).subarray(1, 4).toString()).toBe('PNG');
    const { rows } = JSON.parse((await saved(page, '#frequencies', 'JSON')).toString());
    expect(rows.map(({ pair }: { pair: unknown }) => pair)).toEqual([...Array(32).keys()]);
    await page.locator('#frequencies-plot').focus();
    for (const key of ['ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    await settled(page);
    expect(await page.locator('#frequencies .key-place').textContent()).toBe('pair 2');
    await page.keyboard.press('Escape');
    expect(await suitsEverybody(page, 'config')).toEqual([]);
    await page.getByRole('button', { name: 'Open in the atlas' }).click();
    await settled(page);
    expect(await page.locator('#atlas [data-field="factor"] input.exact').inputValue()).toBe('32');
    expect(opened.complaints).toEqual([]);
  });
});
