// SPDX-License-Identifier: Apache-2.0
// What depends on the engine, asked of a browser other than Chromium: same policy, same numbers, same bits. What every control
// does is tested in Chromium.
import type { ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { encodings, load } from '../../dist/index.node.js';
import { layer, runLayer } from '../../web/src/compute/layer.ts';
import { pictureOf } from '../../web/src/compute/picture.ts';
import type { Engine } from '../../web/src/engine.ts';
import { labs } from '../../web/src/model/labs.ts';
import type { EncodingInfo } from '../../web/src/model/manifest.ts';
import { untouched } from '../../web/src/model/settings.ts';
import { committed } from '../support/same-bits.mjs';
import { root, serve } from './page-server.ts';

/** A page in the browser, by what the suite needs of it. */
export interface Tab {
  goto(address: string): Promise<void>;
  /** Runs a function that refers to nothing outside it. */
  read<T>(of: (argument: string) => T, argument?: string): Promise<Awaited<T>>;
  /** A key by its name in the DOM, at the element that has the focus. */
  press(key: string): Promise<void>;
  /** What went wrong since the page was opened. */
  complaints(): Promise<readonly string[]>;
}
export interface OtherEngine {
  readonly name: string;
  start(): Promise<void>;
  open(): Promise<Tab>;
  stop(): Promise<void>;
  /** Tests of its own, after the others. */
  more?(): void;
}

/** Milliseconds; a test of two such waits still ends by itself. */
const patience = 50_000;

/**
 * What `of` gives in the page as soon as that is neither false nor empty. Asked from outside: what drivers wait with inside is made
 * by Function(), which the policy forbids and Firefox 140, Debian 12's, does not exempt.
 */
async function until<T>(
  tab: Tab,
  of: (argument: string) => T,
  argument = '',
): Promise<Exclude<Awaited<T>, false | '' | undefined | null>> {
  const end = performance.now() + patience;
  for (;;) {
    const got = await tab.read(of, argument);
    if (got) return got as Exclude<Awaited<T>, false | '' | undefined | null>;
    if (performance.now() > end)
      throw new Error(
        `not within ${patience / 1000} s: ${argument || of}; ${(await tab.complaints()).join('; ') || 'no complaints'}`,
      );
    await new Promise((done) => setTimeout(done, 50));
  }
}
const present = (selector: string) => document.querySelector(selector) !== null;

export function testEngine({ name, start, open, stop, more }: OtherEngine): void {
  const servers: ChildProcess[] = [];
  let engine: Engine;
  let tab: Tab;
  beforeAll(async () => {
    engine = (await load()) as unknown as Engine;
    await start();
    tab = await open();
    await tab.goto(`${inject('page').address}#v1&lab=atlas&order=4.1.2.3.0&mask=causal`);
    await until(tab, present, 'html[data-ready="true"]');
  });
  afterAll(async () => {
    await stop();
    for (const server of servers) server.kill();
  });

  describe(name, () => {
    it('shows the number of the first lab that Node computes', async () => {
      const words = 'the dog bit the man'.split(' ');
      const order = [4, 1, 2, 3, 0];
      const before = runLayer(engine, words, undefined, true).output;
      const after = runLayer(
        engine,
        order.map((word) => words[word] as string),
        undefined,
        true,
      ).output;
      let most = 0;
      order.forEach((word, place) => {
        for (let i = 0; i < layer.width; i += 1)
          most = Math.max(
            most,
            Math.abs(
              (after[place * layer.width + i] as number) -
                (before[word * layer.width + i] as number),
            ),
          );
      });
      const shown = () => document.querySelector<HTMLElement>('.big-number')?.dataset.value;
      expect(Number(await tab.read(shown))).toBe(most);
    });

    it('reads the same value under the cursor of the atlas', async () => {
      const manifest = encodings as unknown as readonly EncodingInfo[];
      const info = manifest.find(({ id }) => id === 'rope') as EncodingInfo;
      const { cells, columns } = pictureOf(engine, info, untouched, 128);
      await until(tab, present, '#atlas-map');
      await tab.read(() => document.querySelector<HTMLElement>('#atlas-map')?.focus());
      for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight']) await tab.press(key);
      const shown = await until(tab, () => {
        const place = document.querySelector('.readout span')?.textContent;
        return place?.startsWith('position 2, pair 1')
          ? document.querySelector('.readout [data-role="cell"]')?.textContent
          : undefined;
      });
      expect(Number(shown.replace('−', '-'))).toBeCloseTo(cells[columns + 2] as number, 7);
    });

    it('opens every lab under the policy, without a complaint', async () => {
      for (const lab of labs) {
        await tab.read(
          (id) => document.querySelector<HTMLElement>(`.bar-nav a[href="#${id}"]`)?.click(),
          lab,
        );
        await until(tab, present, `#${lab}:not(.lazy:not([data-loaded]))`);
        const children = (id: string) =>
          document.querySelector(`#${id} .lab-body`)?.childElementCount ?? 0;
        expect(await tab.read(children, lab), lab).toBeGreaterThan(0);
      }
      expect(await tab.complaints()).toEqual([]);
    });

    it('gives the verdict of the config doctor', async () => {
      await tab.read(() => {
        location.hash = '#v1&lab=config&cfg=llama-2-7b';
      });
      const verdict = await until(tab, () => {
        const text = document.querySelector('.doctor-verdict')?.textContent ?? '';
        return text.includes('4,096') && text;
      });
      expect(verdict).toMatch(/128/);
      expect(await tab.complaints()).toEqual([]);
    });

    it('computes every encoding to the same bits as Node', async () => {
      const folder = `${root}build/${name.toLowerCase()}-package`;
      mkdirSync(folder, { recursive: true });
      cpSync(`${root}dist`, folder, { recursive: true });
      for (const file of ['same-bits.mjs', 'examples.mjs'])
        cpSync(`${root}tests/support/${file}`, `${folder}/${file}`);
      writeFileSync(
        `${folder}/main.mjs`,
        `import { load } from './index.js';
import { digest } from './same-bits.mjs';
load().then(digest).then(
  (result) => { document.title = JSON.stringify(result); },
  (error) => { document.title = String(error); });
`,
      );
      writeFileSync(
        `${folder}/index.html`,
        '<!doctype html><title></title><script type="module" src="./main.mjs"></script>',
      );
      const { server, address } = await serve(folder);
      servers.push(server);
      const other = await open();
      await other.goto(address);
      const title = await until(other, () => document.title);
      expect(JSON.parse(title)).toMatchObject({ hash: committed });
      expect(await other.complaints()).toEqual([]);
    });
    more?.();
  });
}
