// SPDX-License-Identifier: Apache-2.0
// The figures of the later labs in their default state, drawn while the page is built with the labs' own code, each in a file of
// its own: whoever has no scripts, or no WebAssembly, gets them as images, and nobody else asks for them.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { type Drawn, inBothThemes, inDocument, type Loose, withPage } from './ahead.ts';
import { fingerprint, type Places } from './first-view.ts';

/** Of figures and of the square ones among them. */
const wide = { width: 640, height: 380 };
const square = { width: 400, height: 432 };
/** More columns in a map than the default state of any lab has. */
const mostColumns = 256;

interface File {
  readonly lab: string;
  readonly name: string;
  readonly text: string;
  readonly label: string;
  readonly width: number;
  readonly height: number;
}

/** Rules of the page that an image of its figures needs; what is about other things does no harm in it. */
const styleOf = (page: string): string =>
  ['tokens', 'figures', 'plot']
    .map((name) => readFileSync(join(page, `styles/${name}.css`), 'utf8'))
    .join('')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ');

async function draw(places: Places): Promise<File[]> {
  const style = styleOf(places.page);
  const posenc = join(places.packageFolder, 'index.node.js');
  return withPage(places.page, posenc, ['ahead/figures', 'engine'], async (modules, darken) => {
    const [{ figures }, { start }] = modules;
    const engine = await start();
    let labs: { lab: string; label: string; isSquare: boolean }[] = [];
    // One after another, since they share what stands for the window; square ones are drawn in a document of their own measure.
    const drawn = async (size: typeof wide, dark: boolean, which: number): Promise<Drawn> => {
      darken(dark);
      let found: Loose[] = [];
      return inDocument(
        '<!doctype html><html><body></body></html>',
        size,
        async () => {
          found = await figures(engine, size.width, dark);
          labs = found.map(({ lab, stage }) => ({
            lab,
            label: stage.getAttribute('aria-label'),
            isSquare: stage.classList.contains('square'),
          }));
        },
        (document) => {
          const place = document.createElement('div');
          if (found[which]) place.append(found[which].stage);
          return place;
        },
      );
    };
    await drawn(wide, false, 0);
    const files: File[] = [];
    for (const [i, { lab, label, isSquare }] of labs.entries()) {
      const size = isSquare ? square : wide;
      const html = inBothThemes(
        await drawn(size, false, i),
        await drawn(size, true, i),
        mostColumns,
      );
      const inner = /<svg[^>]*class="overlay"[^>]*>([\s\S]*)<\/svg>/.exec(html)?.[1];
      if (!inner) throw new Error(`a figure of ${lab} was not drawn ahead`);
      const { width, height } = size;
      const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><style>${style}</style><g class="overlay">${inner}</g></svg>`;
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
      files.push({ lab, label, text, width, height, name: `ahead/${lab}-${i}-${hash}.svg` });
    }
    return files;
  });
}

/** As the first lab: drawn again only where something it is made of has changed. */
async function kept(places: Places): Promise<File[]> {
  const single = ['ahead.ts', 'ahead-figures.ts', '../package-lock.json'];
  const styles = ['tokens', 'figures', 'plot'].map((name) => `styles/${name}.css`);
  const from = fingerprint(
    [join(places.page, 'src'), places.packageFolder],
    [...single, ...styles].map((name) => join(places.page, name)),
  );
  const file = join(places.cache, `${from}-figures.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as File[];
  const files = await draw(places);
  mkdirSync(places.cache, { recursive: true });
  const own = `${file}.${process.pid}`;
  writeFileSync(own, JSON.stringify(files));
  renameSync(own, file);
  return files;
}

const quoted = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
/** The sentence is for everybody: without the lab around it, nothing else says what the letters are. */
const figureOf = ({ name, label, width, height }: File): string =>
  `<figure><img loading="lazy" src="./${name}" width="${width}" height="${height}" alt=""><figcaption>${quoted(label)}</figcaption></figure>`;

export function aheadFigures(places: Places): Plugin {
  let files: Promise<File[]> | undefined;
  const all = (): Promise<File[]> => {
    files ??= kept(places);
    return files;
  };
  return {
    name: 'ahead-figures',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      async handler(html) {
        let page = html;
        for (const lab of new Set((await all()).map((one) => one.lab))) {
          const place = `<div class="lab-body" id="${lab}-body"></div>`;
          if (!page.includes(place)) throw new Error(`the page has no body of ${lab}`);
          const images = (await all()).filter((one) => one.lab === lab).map(figureOf);
          page = page.replace(place, () => `${place}<div class="ahead">${images.join('')}</div>`);
        }
        return page;
      },
    },
    async writeBundle({ dir }) {
      if (!dir) return;
      mkdirSync(join(dir, 'ahead'), { recursive: true });
      for (const { name, text } of await all()) writeFileSync(join(dir, name), text);
    },
  };
}
