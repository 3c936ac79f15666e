// SPDX-License-Identifier: Apache-2.0
// What a visitor sees first needs one file: style, the first lab drawn ahead, and two lines of script go into the page itself, and
// its policy names them by their hashes. The script that makes it live, and the module, are asked for once all this is painted.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { IndexHtmlTransformContext, Plugin } from 'vite';
import { drawnAhead } from './ahead.ts';

/** Before anything is drawn: the theme that was chosen, and whether the visitor's own state will replace the default one. */
const early = `{const kept=(key)=>{try{return localStorage.getItem(key)}catch{}},{dataset}=document.documentElement,theme=kept('posenc-theme');if(theme==='light'||theme==='dark')dataset.theme=theme;if(kept('posenc-questions')==='off')dataset.quiet='';if(/^#v1&/.test(location.hash)||/[?&]embed=/.test(location.search))dataset.own=''}`;

/** Controls of what is drawn ahead that would react by themselves, and be thrown away with what was chosen. */
const idle = '.button-row,.switches,.guess,.figure-head .control';
const lost =
  'The scripts of this page did not load, so its controls do nothing and figures show their default state. Loading the page again may help.';

/**
 * After the first frame, or where none is drawn, as in a tab behind others, after a while. Until the live lab is there, what is
 * drawn takes no input but the sentence, which is handed over; should no script come, it shows as what it is, and the page says so.
 */
const late = (script: string, modules: readonly string[], fetched: readonly string[]): string =>
  `{let begun=false;const body=document.getElementById('order-body');body.ariaBusy='true';for(const one of body.querySelectorAll('${idle}'))one.inert=true;const ask=(files,rel)=>{for(const href of files){const link=document.createElement('link');link.rel=rel;link.href=href;link.crossOrigin='';if(rel==='preload')link.as='fetch';document.head.append(link)}},begin=()=>{if(begun)return;begun=true;ask(${JSON.stringify(modules)},'modulepreload');ask(${JSON.stringify(fetched)},'preload');import("${script}").catch((error)=>{const{dataset}=document.documentElement,notice=document.getElementById('notice');delete dataset.own;dataset.ready='false';body.ariaBusy=null;notice.textContent='${lost}';notice.hidden=false;throw error})};requestAnimationFrame(()=>setTimeout(begin));setTimeout(begin,400)}`;

const hashed = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Of every file that what is drawn depends on: all of some folders, and single ones. */
export function fingerprint(folders: readonly string[], files: readonly string[]): string {
  const sum = createHash('sha256');
  for (const file of files) sum.update(file).update(readFileSync(file));
  for (const folder of folders)
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && /\.(ts|m?js|wasm|html)$/.test(one.name))
      .sort((a, b) => (join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1)))
      sum.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)));
  return sum.digest('hex').slice(0, 16);
}

/** Drawing takes a second, and the tests build the page a dozen times: what was drawn from the same files is taken again. */
async function drawn(places: Places, page: string): Promise<string> {
  // The last of them has the version of the library whose document it is drawn in.
  const single = ['ahead.ts', 'first-view.ts', '../package-lock.json'];
  const from = fingerprint(
    [join(places.page, 'src'), places.packageFolder],
    single.map((name) => join(places.page, name)),
  );
  const file = join(
    places.cache,
    `${from}${createHash('sha256').update(page).digest('hex').slice(0, 8)}.html`,
  );
  if (existsSync(file)) return readFileSync(file, 'utf8');
  const html = await drawnAhead(places.page, join(places.packageFolder, 'index.node.js'), page);
  mkdirSync(places.cache, { recursive: true });
  // Under its name only once it is whole: builds run side by side.
  const own = `${file}.${process.pid}`;
  writeFileSync(own, html);
  renameSync(own, file);
  return html;
}

export interface Places {
  /** The folder of the page. */
  readonly page: string;
  readonly packageFolder: string;
  readonly cache: string;
}

/** What a chunk imports at once, itself left out. */
function importsOf(
  bundle: NonNullable<IndexHtmlTransformContext['bundle']>,
  name: string,
): string[] {
  const found = new Set<string>();
  const follow = (one: string): void => {
    const chunk = bundle[one];
    if (chunk?.type !== 'chunk') return;
    for (const next of chunk.imports)
      if (!found.has(next)) {
        found.add(next);
        follow(next);
      }
  };
  follow(name);
  return [...found];
}

export function firstView(places: Places, policy: readonly string[]): Plugin {
  return {
    name: 'first-view',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      async handler(html, { bundle, chunk }) {
        if (!bundle || !chunk) throw new Error('the first view is made of what was built');
        let style = '';
        let page = html
          .replace(/\s*<link rel="stylesheet"[^>]*href="\.\/([^"]+)"[^>]*>/g, (_, name: string) => {
            const asset = bundle[name];
            if (asset?.type !== 'asset') throw new Error(`${name} was not built`);
            style += String(asset.source).trim();
            delete bundle[name];
            return '';
          })
          .replace(/\s*<link rel="modulepreload"[^>]*>/g, '')
          .replace(/\s*<script type="module"[^>]*><\/script>/g, '');
        const near = (name: string): string => `./${name}`;
        const last = late(
          near(chunk.fileName),
          importsOf(bundle, chunk.fileName).map(near),
          Object.keys(bundle)
            .filter((name) => /(^|\/)posenc-(?!relaxed)[^/]*\.wasm$/.test(name))
            .map(near),
        );
        const allowed: Record<string, string> = {
          'script-src': `${hashed(early)} ${hashed(last)}`,
          'style-src': hashed(style),
        };
        const content = policy
          .map((rule) => {
            const more = allowed[rule.split(' ')[0] as string];
            return more ? `${rule} ${more}` : rule;
          })
          .join('; ');
        const place = '<div class="lab-body" id="order-body">';
        if (!page.includes(place)) throw new Error('the page has no body of the first lab');
        const first = await drawn(places, html.replace(/<(link|script)[^>]*assets[^>]*>/g, ''));
        page = page
          .replace(
            '<head>',
            () => `<head>\n<meta http-equiv="Content-Security-Policy" content="${content}">`,
          )
          .replace('</head>', () => `<script>${early}</script>\n<style>${style}</style>\n</head>`)
          .replace(place, () => `${place}${first}`)
          .replace('</body>', () => `<script>${last}</script>\n</body>`);
        return page;
      },
    },
  };
}
