// SPDX-License-Identifier: Apache-2.0
// Embeddings of a visitor's own in Lab 3: which bytes of the file are read, what is made of them, and what is refused by name.
import { mkdirSync, writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fitsLayer, normed, vectorsOf } from '../../web/src/compute/given.ts';
import { type Question, type Vectors, weightsOf } from '../../web/src/compute/words.ts';
import { likeliest, rowsIn, tablesOf } from '../../web/src/labs/words/table-file.ts';
import { normal } from '../../web/src/model/random.ts';
import { engine, infoOf } from './computed.ts';
import {
  copied,
  type Opened,
  PageDriver,
  patience,
  saved,
  savedWeights,
  settled,
  suitsEverybody,
  wordsTile,
} from './page-driver.ts';
import { root } from './page-server.ts';
import { run } from './programs.ts';

type Given = readonly [dtype: string, shape: readonly number[], data: Uint8Array];
const f32 = (shape: readonly number[], values: Float32Array): Given => [
  'F32',
  shape,
  new Uint8Array(values.buffer),
];
/** A file of these tensors, one after the other; `bend` may spoil its header. */
function fileOf(
  tensors: Readonly<Record<string, Given>>,
  bend: (header: Record<string, { data_offsets: number[] }>) => unknown = () => undefined,
): Uint8Array<ArrayBuffer> {
  let end = 0;
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, [dtype, shape, data]]) => {
      const begin = end;
      end += data.length;
      return [name, { dtype, shape, data_offsets: [begin, end] }];
    }),
  );
  const changed = bend(header);
  const text = new TextEncoder().encode(
    typeof changed === 'string' ? changed : JSON.stringify(header),
  );
  const bytes = new Uint8Array(8 + text.length + end);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 8);
  let at = 8 + text.length;
  for (const [, , data] of Object.values(tensors)) {
    bytes.set(data, at);
    at += data.length;
  }
  return bytes;
}
const table = (rows: number, width: number, seed = 1) =>
  f32([rows, width], normal(seed, rows * width, 0.1));
const blob = (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes]);

describe('a table in a file', () => {
  it('is found by its name, else by its size', async () => {
    const found = async (...names: string[]) => {
      const sizes = names.map((name, i) => [name, table(4 + i, 8)] as const);
      return likeliest(await tablesOf(blob(fileOf(Object.fromEntries(sizes))))).name;
    };
    expect(await found('wte.weight', 'wpe.weight', 'h.0.attn')).toBe('wte.weight');
    expect(await found('model.embed_tokens.weight', 'lm_head.weight')).toBe(
      'model.embed_tokens.weight',
    );
    expect(await found('bert.embeddings.word_embeddings.weight', 'x.embeddings.position')).toBe(
      'bert.embeddings.word_embeddings.weight',
    );
    expect(await found('a', 'b', 'c')).toBe('c');
    const mixed = fileOf({
      bias: f32([8], new Float32Array(8)),
      ids: ['I64', [1, 2], new Uint8Array(16)],
      odd: ['F8_E4M3', [2, 2], new Uint8Array(4)],
      deep: f32([2, 2, 2], new Float32Array(8)),
      only: table(3, 2),
    });
    expect((await tablesOf(blob(mixed))).map(({ name }) => name)).toEqual(['only']);
  });

  it('is read in F32, F16 and BF16, its header and the rows asked for alone', async () => {
    const values = Float32Array.of(1, -2, 0.5, 3, 0.25, -0.125, 65504, 0);
    const halves = Uint16Array.of(0x3c00, 0xc000, 0x3800, 0x4200, 0x3400, 0xb000, 0x7bff, 0);
    const brief = new Uint16Array(8).map((_, i) => new Uint32Array(values.buffer)[i] >>> 16);
    for (const [dtype, data] of [
      ['F32', values],
      ['F16', halves],
      ['BF16', brief],
    ] as const) {
      const bytes = fileOf({
        before: f32([1000], new Float32Array(1000)),
        t: [dtype, [4, 2], new Uint8Array(data.buffer)],
      });
      const file = blob(bytes);
      let read = 0;
      const slice = file.slice.bind(file);
      file.slice = (from = 0, to = 0, type) => {
        read += to - from;
        return slice(from, to, type);
      };
      const [entry] = await tablesOf(file);
      expect(entry).toMatchObject({ name: 't', dtype, rows: 4, width: 2 });
      const rows = await rowsIn(file, entry as NonNullable<typeof entry>, [3, 0]);
      const exact = dtype === 'BF16' ? Float32Array.of(65280, 0) : Float32Array.of(65504, 0);
      expect(rows.get(3)).toEqual(exact);
      expect(rows.get(0)).toEqual(Float32Array.of(1, -2));
      expect(read).toBe(
        8 + new DataView(bytes.buffer).getUint32(0, true) + 2 * 2 * (dtype === 'F32' ? 4 : 2),
      );
    }
  });

  it('is refused by name for what is wrong with it', async () => {
    const tensors = { 'wte.weight': table(4, 8), other: table(2, 8) };
    const bent = (bend: Parameters<typeof fileOf>[1]) => fileOf(tensors, bend);
    const good = fileOf(tensors);
    const offsets =
      (from: number, to: number) => (header: Record<string, { data_offsets: number[] }>) => {
        (header['wte.weight'] as { data_offsets: number[] }).data_offsets = [from, to];
      };
    for (const [bytes, why] of [
      [new Uint8Array(0), 'it has 0 bytes, and 8 come before a header'],
      [
        new TextEncoder().encode('\x89PNG\r\n\x1a\nxxxxxxxx'),
        /^it is no .safetensors file: its header would be \d+ bytes long, and 2 to 1048576 are read$/,
      ],
      [good.slice(0, 60), 'its header is cut off: 52 of '],
      [good.slice(0, -1), /^other lies at bytes 128 to 192, and there are 191 bytes of data$/],
      [bent(() => 'hello there'), 'its header is no JSON'],
      [bent(() => '[1, 2, 3]'), 'its header is no object'],
      [bent(() => '{"wte.weight": 3}'), 'wte.weight is no object'],
      [
        bent(() => '{"wte.weight": {"shape": [1, 1], "data_offsets": [0, 4]}}'),
        'wte.weight has no dtype',
      ],
      [
        bent(() => '{"wte.weight": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}'),
        'wte.weight has no shape of whole numbers',
      ],
      [
        bent(() => '{"wte.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}'),
        'wte.weight has no two data_offsets',
      ],
      [bent(offsets(0, 1e9)), 'wte.weight lies at bytes 0 to 1000000000'],
      [bent(offsets(128, 0)), 'wte.weight lies at bytes 128 to 0'],
      [bent(offsets(0, 124)), 'wte.weight is [4, 8] of F32, 128 bytes, and has 124'],
      [bent(offsets(32, 160)), 'wte.weight begins at byte 32 of the data'],
      [
        fileOf({ wide: f32([1, 16385], new Float32Array(16385)) }),
        'it has no table: no tensor [tokens, width]',
      ],
      [fileOf({}), 'it has no table'],
    ] as const)
      await expect(tablesOf(blob(bytes)), String(why)).rejects.toThrow(why);
  });

  it('tells which number of a row is not finite', async () => {
    const values = normal(2, 12);
    values[7] = Number.NaN;
    values[8] = Number.POSITIVE_INFINITY;
    const file = blob(fileOf({ t: f32([3, 4], values) }));
    const [entry] = await tablesOf(file);
    const rows = await rowsIn(file, entry as NonNullable<typeof entry>, [0, 1, 2]);
    expect(rows.get(0)).toEqual(values.slice(0, 4));
    expect(String(rows.get(1))).toContain('t[1, 3] must be finite, got NaN');
    expect(String(rows.get(2))).toContain('t[2, 0] must be finite, got Infinity');
  });
});

describe('rows of a table', () => {
  it('are brought to one size, and to the width of the layer', () => {
    const square = (row: Float32Array) => row.reduce((sum, x) => sum + x * x, 0) / row.length;
    expect(square(normed(normal(3, 50, 0.02)))).toBeCloseTo(1, 5);
    expect(normed(new Float32Array(3))).toEqual(new Float32Array(3));
    expect([16, 64, 512].map(fitsLayer)).toEqual([true, true, true]);
    expect([8, 50, 768, 4096].map(fitsLayer)).toEqual([false, false, false, false]);
    const rows = Array.from({ length: 200 }, (_, i) => normal(i, 300, 0.02));
    const row = vectorsOf(300, (id) => rows[id] as Float32Array, { width: 32, seed: 1 });
    const all = rows.map((_, id) => row(id));
    expect(all[0]).toHaveLength(32);
    expect(all.reduce((sum, one) => sum + square(one), 0) / 200).toBeCloseTo(1, 1);
    expect(row(3)).toBe(all[3]);
  });

  it('are what a layer reads in the place of hashed ones', () => {
    const layer = { heads: 2, width: 16, seed: 3, sharpness: 2 };
    const rows = [1, 2, 1].map((seed) => normal(seed, 16));
    const vectors: Vectors = { name: 't', row: (id) => rows[id] as Float32Array, program: '' };
    const question: Question = {
      words: ['a', 'b', 'c'],
      ids: [0, 1, 2],
      vectors,
      layer,
      mask: 'open',
      span: 4,
      part: 'both',
      softcap: 0,
    };
    for (const id of ['none', 'learned']) {
      const weights = weightsOf(engine, question, infoOf(id));
      const { vectors: _, ...hashed } = question;
      expect(weights).not.toEqual(weightsOf(engine, hashed, infoOf(id)));
      // Equal rows are equal vectors, whatever the token.
      if (id === 'none') expect(weights.slice(0, 3)).toEqual(weights.slice(6, 9));
      const blind = { ...question, part: 'position' } as const;
      expect(weightsOf(engine, blind, infoOf(id))).toEqual(
        weightsOf(engine, { ...hashed, part: 'position' }, infoOf(id)),
      );
    }
  });
});

describe('a table in Lab 3', () => {
  let driver: PageDriver;
  beforeAll(async () => {
    driver = await PageDriver.start();
  });
  afterAll(() => driver?.stop());
  let opened: Opened | undefined;
  afterEach(() => opened?.close());

  /** Cut into the tokens of a small tokenizer.json: a 0, b 1, Ġ 2, ab 3, Ġab 4, c 5. */
  const tokenizer = JSON.stringify({
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    decoder: { type: 'ByteLevel' },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(['a', 'b', 'Ġ', 'ab', 'Ġab', 'c'].map((token, id) => [token, id])),
      merges: ['a b', 'Ġ ab'],
    },
  });
  const panel = (page: Page) => page.locator('#words .own-file').nth(1);
  const give = async (page: Page, name: string, bytes: Uint8Array) =>
    panel(page)
      .locator('input[type="file"]')
      .setInputFiles({
        name,
        mimeType: 'application/octet-stream',
        buffer: Buffer.from(bytes),
      });
  const says = (page: Page, what: string | RegExp) =>
    expect.poll(() => panel(page).textContent(), { timeout: patience }).toMatch(what);
  const refuses = (page: Page, what: string | RegExp) =>
    expect
      .poll(() => panel(page).locator('.control-error').textContent(), { timeout: patience })
      .toMatch(what);
  const weights = async (page: Page) => {
    await settled(page);
    return (await savedWeights(page)).get('A') as number[];
  };
  async function open(say: string): Promise<Page> {
    opened = await driver.open(`#v1&lab=words&heads=2&width=16&say=${say}`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = opened;
    await page
      .locator('#words .own-file input[type="file"]')
      .first()
      .setInputFiles({
        name: 'tokenizer.json',
        mimeType: 'application/json',
        buffer: Buffer.from(tokenizer),
      });
    await expect
      .poll(() => page.locator('#words-hint').textContent(), { timeout: patience })
      .toContain('tokens of tokenizer.json');
    return page;
  }
  /** Of a program that reads the file of this name. */
  function printed(name: string, file: string, bytes: Uint8Array, program: string): number[] {
    const folder = `${root}build/page/code`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/${file}`, bytes);
    const placed = program.replace(JSON.stringify(file), JSON.stringify(`${folder}/${file}`));
    expect(placed).not.toBe(program);
    return JSON.parse(run(name, placed).join(''));
  }

  it('gives its rows to the layer, as wide as it is or projected, and the program has the same', async () => {
    const page = await open('ab+ab+c+ab');
    const hashed = await weights(page);
    for (const [width, how] of [
      [32, 'The layer is 32 wide, as the table is.'],
      [50, 'From 50 they are projected to the 16 of the layer by the seed.'],
    ] as const) {
      const file = `own-${width}.safetensors`;
      const given = normal(width, 6 * width, 0.02);
      const bytes = fileOf({
        'model.embed_tokens.weight': f32([6, width], given),
        'lm_head.weight': table(6, width, 9),
      });
      await give(page, file, bytes);
      await says(page, `Vectors are rows of model.embed_tokens.weight in ${file}, F32`);
      await says(page, how);
      const layer = { heads: 2, width: fitsLayer(width) ? width : 16, seed: 1, sharpness: 1.6 };
      const ids = [3, 4, 2, 5, 4];
      const row = (id: number) => given.subarray(id * width, (id + 1) * width);
      const asked: Question = {
        words: ids.map(String),
        ids,
        vectors: { name: '', row: vectorsOf(width, row, layer), program: '' },
        layer,
        mask: 'open',
        span: 4,
        part: 'both',
        softcap: 0,
      };
      const shown = await weights(page);
      expect(shown).toEqual([...weightsOf(engine, asked, infoOf('rope'))]);
      expect(shown).not.toEqual(hashed);
      // Identical tokens stay identical; a shuffle takes the rows along.
      await page.locator('#words').getByRole('button', { name: 'Shuffle the words' }).click();
      await settled(page);
      expect(await wordsTile(page, 'B when words move')).toBeLessThan(1e-5);
      await page.locator('#words').getByRole('button', { name: 'As typed' }).click();
      await settled(page);
      const code = await copied(page, () =>
        page.locator('#words').getByRole('button', { name: 'Copy A as code' }).click(),
      );
      expect(printed(`table-${width}`, file, bytes, code)).toEqual(shown);
    }
    await page.selectOption('#words-tensor', 'lm_head.weight');
    await says(page, 'Vectors are rows of lm_head.weight in own-50.safetensors');
    const csv = (await saved(page, '#words-body', 'All weights as CSV')).toString();
    expect(csv).toContain('vectors: lm_head.weight of own-50.safetensors');
    const remove = panel(page).getByRole('button', { name: 'Remove the table' });
    await remove.focus();
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toMatch(
      /^Use embeddings/,
    );
    await expect.poll(() => weights(page), { timeout: patience }).toEqual(hashed);
    expect(await panel(page).textContent()).toContain('Instead of hashed vectors');
    expect(opened?.complaints).toEqual([]);
  });

  it('stays as it was when a file, a tensor or a token is no good', async () => {
    const page = await open('ab+ab');
    const hashed = await weights(page);
    await give(page, 'notes.safetensors', new TextEncoder().encode('not a file of tensors at all'));
    await refuses(page, /^notes.safetensors is not used: it is no .safetensors file: its header/);
    expect(await weights(page)).toEqual(hashed);

    const values = normal(4, 6 * 16);
    values[5 * 16 + 3] = Number.NaN;
    const rows = f32([6, 16], values);
    await give(page, 'mine.safetensors', fileOf({ 'wte.weight': rows, small: table(2, 16) }));
    await says(page, 'rows of wte.weight in mine.safetensors');
    const mine = await weights(page);
    expect(mine).not.toEqual(hashed);
    await give(page, 'cut.safetensors', fileOf({ 'wte.weight': rows }).slice(0, -9));
    await refuses(
      page,
      /^cut.safetensors is not used: wte.weight lies at bytes 0 to 384, and there/,
    );
    await page.selectOption('#words-tensor', 'small');
    await refuses(page, 'small has 2 rows, and token “ab” is number 3, counted from 0.');
    expect(await page.locator('#words-tensor').inputValue()).toBe('wte.weight');
    expect(await weights(page)).toEqual(mine);

    // A text typed later may meet a bad row; the maps stay, and go on with the next text.
    await page.fill('#words-text', 'ab c');
    const problem = page.locator('#words-body > .control-error');
    await expect
      .poll(() => problem.textContent(), { timeout: patience })
      .toBe('wte.weight[5, 3] must be finite, got NaN (token “c”); the maps are those of before');
    expect(await weights(page)).toEqual(mine);
    await page.fill('#words-text', 'ab ab');
    await expect.poll(() => problem.isHidden(), { timeout: patience }).toBe(true);
    expect(await weights(page)).toEqual(mine);

    // Words have no numbers.
    await page.locator('#words').getByText('Words', { exact: true }).click();
    await says(
      page,
      'are chosen by the number of a token, and words have none: their vectors are hashed.',
    );
    await page.getByRole('button', { name: 'Cut into byte pairs' }).click();
    await says(page, 'Vectors are rows of wte.weight');
    expect(await weights(page)).toEqual(mine);
    expect(opened?.complaints).toEqual([]);
  });

  it('is taken when dropped, and suits everybody', async () => {
    const page = await open('ab+c');
    const bytes = [...fileOf({ [`${'deep.'.repeat(30)}weight`]: table(6, 24) })];
    await page.evaluate((content) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(content)], `${'long'.repeat(30)}.safetensors`));
      const where = document.querySelector('#words-text') as HTMLElement;
      for (const kind of ['dragover', 'drop'])
        where.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true }));
    }, bytes);
    await says(page, 'From 24 they are projected to the 16 of the layer');
    expect(await suitsEverybody(page, 'words')).toEqual([]);
    expect(opened?.complaints).toEqual([]);
  });
});
