// SPDX-License-Identifier: Apache-2.0
// WebKitGTK's small browser by the W3C's WebDriver, whose commands are requests over HTTP: a client of our own is shorter than
// what any library would be used for here.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';

const folders = ['/usr/lib', '/usr/libexec'];
/** Debian keeps it with the engine, below the name of the architecture. */
function findBrowser(): string | undefined {
  const places = folders
    .filter(existsSync)
    .flatMap((one) => [one, ...readdirSync(one).map((name) => `${one}/${name}`)]);
  return ['webkit2gtk-4.1', 'webkitgtk-6.0', 'webkit2gtk-4.0']
    .flatMap((name) => places.map((place) => `${place}/${name}/MiniBrowser`))
    .find(existsSync);
}
const program = (name: string): string | undefined =>
  (process.env.PATH ?? '')
    .split(':')
    .map((folder) => `${folder}/${name}`)
    .find(existsSync);

const needed = {
  driver: program('WebKitWebDriver'),
  screen: program('Xvfb'),
  browser: findBrowser(),
};
/** What is not here, in words; empty where all is. */
export const missing = Object.entries(needed)
  .filter(([, path]) => path === undefined)
  .map(([name]) => ({ driver: 'WebKitWebDriver', screen: 'Xvfb', browser: 'MiniBrowser' })[name])
  .join(', ');

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

/** What keys without a character are called (WebDriver, 17.4.2). */
const keyCodes: Readonly<Record<string, string>> = {
  ArrowLeft: '\uE012',
  ArrowUp: '\uE013',
  ArrowRight: '\uE014',
  ArrowDown: '\uE015',
};

export class WebKit {
  readonly #programs: ChildProcess[] = [];
  #address = '';
  #session = '';

  async start(): Promise<void> {
    const { driver, screen, browser } = needed;
    if (!driver || !screen || !browser) throw new Error(`WebKit needs ${missing}`);
    // The screen chooses a free number and writes it to descriptor 3.
    const shown = spawn(
      screen,
      ['-displayfd', '3', '-screen', '0', '1440x900x24', '-nolisten', 'tcp'],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
    );
    this.#programs.push(shown);
    const display = await new Promise<string>((resolve, reject) => {
      shown.once('exit', (code) => reject(new Error(`Xvfb stopped with ${code}`)));
      shown.stdio[3]?.once('data', (number) => resolve(`:${String(number).trim()}`));
    });
    const port = await freePort();
    this.#programs.push(
      spawn(driver, [`--port=${port}`], {
        stdio: 'ignore',
        env: {
          ...process.env,
          DISPLAY: display,
          GDK_BACKEND: 'x11',
          // No desktop, no accessibility bus, no graphics processor, and for root no sandbox.
          NO_AT_BRIDGE: '1',
          LIBGL_ALWAYS_SOFTWARE: '1',
          WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
        },
      }),
    );
    this.#address = `http://127.0.0.1:${port}/session`;
    await this.#listening(port);
    const { sessionId } = (await this.#ask('', {
      capabilities: {
        alwaysMatch: { 'webkitgtk:browserOptions': { binary: browser, args: ['--automation'] } },
      },
    })) as { sessionId: string };
    this.#session = `/${sessionId}`;
  }
  async stop(): Promise<void> {
    if (this.#session) await this.#ask(this.#session, undefined, 'DELETE').catch(() => undefined);
    for (const program of this.#programs.reverse()) program.kill();
  }

  async #listening(port: number): Promise<void> {
    for (let attempt = 0; ; attempt += 1)
      try {
        await fetch(`http://127.0.0.1:${port}/status`);
        return;
      } catch (error) {
        if (attempt > 100) throw error;
        await new Promise((done) => setTimeout(done, 50));
      }
  }
  async #ask(path: string, body?: unknown, method = 'POST'): Promise<unknown> {
    const answer = await fetch(this.#address + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { value } = (await answer.json()) as { value: unknown };
    if (!answer.ok) throw new Error(`WebKit, ${path}: ${JSON.stringify(value)}`);
    return value;
  }
  #command(name: string, body: unknown): Promise<unknown> {
    return this.#ask(`${this.#session}/${name}`, body);
  }

  /** A window of its own, which the commands go to from then on. */
  async window(): Promise<void> {
    const { handle } = (await this.#command('window/new', { type: 'tab' })) as { handle: string };
    await this.#command('window', { handle });
  }
  async goto(url: string): Promise<void> {
    await this.#command('url', { url });
  }
  read<T>(of: (argument: string) => T, argument: string): Promise<Awaited<T>> {
    const script = `return (${of})(arguments[0])`;
    return this.#command('execute/sync', { script, args: [argument] }) as Promise<Awaited<T>>;
  }
  async press(key: string): Promise<void> {
    const value = keyCodes[key] ?? key;
    await this.#command('actions', {
      actions: [
        {
          type: 'key',
          id: 'keyboard',
          actions: [
            { type: 'keyDown', value },
            { type: 'keyUp', value },
          ],
        },
      ],
    });
  }
}
