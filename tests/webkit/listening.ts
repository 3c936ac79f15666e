// SPDX-License-Identifier: Apache-2.0
// A host as it is, but that its pages listen for what goes wrong before anything else of theirs runs: WebDriver has no events, and
// no way to run a script that early.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Kept in the page. */
function listen(): void {
  const heard: string[] = [];
  Object.assign(globalThis, { heard });
  // Of scripts and pictures that do not come, the event does not rise: it is caught on its way down.
  addEventListener(
    'error',
    ({ message, target }) =>
      heard.push(message ? `uncaught: ${message}` : `not loaded: ${(target as Element).outerHTML}`),
    true,
  );
  addEventListener('unhandledrejection', ({ reason }) => heard.push(`unhandled: ${reason}`));
  addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    heard.push(`policy: ${violatedDirective} ${blockedURI}`),
  );
  for (const level of ['error', 'warn'] as const) {
    const say = console[level];
    console[level] = (...values) => {
      heard.push(values.join(' '));
      say.apply(console, values);
    };
  }
}
export const heard = (): string[] => (globalThis as unknown as { heard: string[] }).heard;

const script = '/listen.js';
const passed = ['content-type', 'content-security-policy'];

/** Stands before the host of `address`; gives the address to open instead, and what ends it. */
export async function listening(address: string): Promise<{ address: string; end(): void }> {
  const { origin, pathname, hash } = new URL(address);
  const server = createServer(async (request, response) => {
    if (request.url === script)
      return response.setHeader('Content-Type', 'text/javascript').end(`(${listen})()`);
    // A connection that the host kept may be closed by it just then: asked once more, on a new one.
    const ask = () => fetch(origin + request.url);
    const answer = await ask()
      .catch(ask)
      .catch(() => undefined);
    if (!answer) return response.destroy();
    response.statusCode = answer.status;
    for (const name of passed) response.setHeader(name, answer.headers.get(name) ?? '');
    if (!answer.headers.get('content-type')?.startsWith('text/html'))
      return response.end(Buffer.from(await answer.arrayBuffer()));
    response.end(
      (await answer.text()).replace(
        /<head>|<!doctype html>(?!.*<head>)/is,
        `$&<script src="${script}"></script>`,
      ),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}${pathname}${hash}`,
    end() {
      server.close();
      server.closeAllConnections();
    },
  };
}
