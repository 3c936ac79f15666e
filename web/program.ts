// SPDX-License-Identifier: Apache-2.0
// A module of the page as the text of one program: import('./module.ts?program').
// So what people take along is what the page itself runs, and the two cannot come apart.
import { build, type Plugin, type Rollup } from 'vite';

const mark = '?program';

/** What a reader has no use for: the names of files, and the list of what is exported. */
const plain = (code: string): string =>
  `${code
    .replace(/^\/\/#(region|endregion).*\n/gm, '')
    .replace(/^\/\/ \S+\.ts\n/gm, '')
    .replace(/\nexport \{[^}]*\};?\s*$/, '')
    .replaceAll('\t', '  ')
    .trim()}\n`;

export const asProgram: Plugin = {
  name: 'as-program',
  async load(id) {
    if (!id.endsWith(mark)) return undefined;
    const built = (await build({
      configFile: false,
      logLevel: 'error',
      build: {
        write: false,
        minify: false,
        target: 'es2022',
        lib: { entry: id.slice(0, -mark.length), formats: ['es'] },
        rollupOptions: { external: ['posenc'] },
      },
    })) as Rollup.RollupOutput[];
    return `export default ${JSON.stringify(plain(built[0]?.output[0].code ?? ''))}`;
  },
};
