// SPDX-License-Identifier: Apache-2.0
// Builds the page and serves folders under its policy, for whatever browser comes.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** `name` keeps the builds of suites apart. */
export function buildPage(name: string): string {
  const folder = `${root}build/page/${name}`;
  execFileSync(
    process.execPath,
    [
      `${root}node_modules/vite/bin/vite.js`,
      'build',
      'web',
      '--outDir',
      folder,
      '--emptyOutDir',
      '--logLevel',
      'error',
    ],
    // Under Vitest it is 'test', and the page would be built as for developing.
    { cwd: root, stdio: 'inherit', env: { ...process.env, NODE_ENV: 'production' } },
  );
  return folder;
}

export async function serve(
  folder: string,
  port = '0',
): Promise<{ server: ChildProcess; address: string }> {
  const server = spawn(process.execPath, [`${root}tools/serve.mjs`, folder], {
    cwd: root,
    env: { ...process.env, PORT: port },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = await new Promise<string>((resolve, reject) => {
    let said = '';
    server.stdout?.on('data', (chunk: Buffer) => {
      said += chunk;
      const found = /http:\/\/\S+/.exec(said);
      if (found) resolve(found[0]);
    });
    server.once('exit', (code) => reject(new Error(`the server stopped with ${code}: ${said}`)));
  });
  return { server, address };
}
