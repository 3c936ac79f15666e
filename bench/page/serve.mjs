// SPDX-License-Identifier: Apache-2.0
// The built page behind a server that compresses as the hosts of static pages do, and the browser it is measured in.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
export { chromiumArguments as flags } from '../../tests/browser/chromium-arguments.mjs';

export async function served(folder) {
  const server = spawn(process.execPath, [`${root}tools/serve.mjs`, folder], {
    cwd: root,
    env: { ...process.env, PORT: '0', COMPRESS: 'brotli' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = await new Promise((resolve, reject) => {
    let said = '';
    server.stdout.on('data', (chunk) => {
      said += chunk;
      const found = /http:\/\/\S+/.exec(said);
      if (found) resolve(found[0]);
    });
    server.once('exit', (code) => reject(new Error(`the server stopped with ${code}: ${said}`)));
  });
  return { address, stop: () => server.kill() };
}

export const sorted = (values) => [...values].sort((a, b) => a - b);
export const median = (values) => sorted(values)[Math.floor((values.length - 1) / 2)];
export const percentile = (values, share) =>
  sorted(values)[Math.min(values.length - 1, Math.ceil(share * values.length) - 1)];
