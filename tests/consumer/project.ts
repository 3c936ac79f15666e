// SPDX-License-Identifier: Apache-2.0
/** The package as a stranger gets it: packed once, installed into empty folders. */

import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const here = join(root, 'tests/consumer');

export const run = (folder: string, command: string, args: string[], env: object = {}): string =>
  execFileSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

export function pack(): string {
  const folder = join(root, 'build/package');
  mkdirSync(folder, { recursive: true });
  const [{ filename }] = JSON.parse(
    run(root, 'npm', ['pack', '--json', '--pack-destination', folder]),
  );
  return join(folder, filename);
}

/** An empty project with the package in it, and the files of `template` if one is named. */
export function project(tarball: string, template?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'posenc-consumer-'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  run(folder, 'npm', ['install', '--no-audit', '--no-fund', '--offline', tarball]);
  if (template !== undefined) cpSync(join(here, template), folder, { recursive: true });
  cpSync(join(here, 'show-output.js'), join(folder, 'show-output.js'));
  writeFileSync(join(folder, 'example.js'), example().code);
  return folder;
}

/** The example of the README and what it says it prints. */
export function example(): { code: string; output: string } {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const code = /<!-- example: node -->\s*```js\n([\s\S]*?)```/.exec(readme)?.[1];
  const output = /<!-- output -->\s*```\w*\n([\s\S]*?)```/.exec(readme)?.[1];
  if (code === undefined || output === undefined) throw new Error('README.md has no example');
  return { code, output };
}

export function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** What a page of a folder shows when a strict host serves it, and what the browser had to say. */
export async function show(
  folder: string,
  policy?: string,
): Promise<{ text: string; complaints: string[]; requests: string[] }> {
  const server = spawn(process.execPath, [join(root, 'tools/serve.mjs'), folder], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = await new Promise<string>((resolve, reject) => {
    server.stdout.on('data', (chunk: Buffer) => {
      const found = /http:\/\/\S+/.exec(String(chunk));
      if (found) resolve(found[0]);
    });
    server.once('exit', (code) => reject(new Error(`the server stopped with ${code}`)));
  });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
  });
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
    if (policy !== undefined)
      await page.route('**/*', async (route) => {
        const response = await route.fetch();
        const headers = { ...response.headers(), 'content-security-policy': policy };
        await route.fulfill({ response, headers });
      });
    await page.goto(address);
    const lines = example().output.trim().split('\n').length;
    const done = (n: number) =>
      (document.querySelector('pre')?.textContent ?? '').split('\n').length > n;
    await page.waitForFunction(done, lines, { timeout: 60_000 }).catch(() => undefined);
    return { text: (await page.textContent('pre')) ?? '', complaints, requests };
  } finally {
    await browser.close();
    server.kill();
  }
}
