// SPDX-License-Identifier: Apache-2.0
// The page without a network: every file from the cache first. A build lists its files here (vite.config.ts), so this script
// differs from that of any other build, which is how the browser notices a new one. It waits until the visitor asks for it.

export {};

interface Kept {
  /** Of everything that was built. */
  readonly version: string;
  /** Relative to the page; '' is the page itself. */
  readonly files: readonly string[];
  /** Not fetched before somebody needs them, and kept from then on. */
  readonly late: readonly string[];
}
interface Life extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface Fetch extends Life {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
interface Scope {
  readonly registration: {
    readonly scope: string;
    readonly installing: unknown;
    readonly waiting: unknown;
  };
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', listener: (event: Life) => void): void;
  addEventListener(type: 'fetch', listener: (event: Fetch) => void): void;
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}
const worker = globalThis as unknown as Scope;

const kept: Kept = JSON.parse('__KEPT__');
const home = worker.registration.scope;
// Other pages of this origin have caches too.
const prefix = `posenc ${home} `;
const name = prefix + kept.version;
/** In a cache that has been in use: the how manyth of this browser it is. No request has this address. */
const mark = `${home}?in-use`;
/** Below the page's own folder, a name carries a hash or a version: such a file never changes. */
const isConstant = (address: string): boolean => address.slice(home.length).includes('/');

/** Of what never changes an older build's copy will do; the others are asked for anew. */
async function obtain(address: string): Promise<Response> {
  const constant = isConstant(address);
  const old = constant ? await caches.match(address) : undefined;
  if (old) return old;
  const response = await fetch(address, constant ? {} : { cache: 'no-cache' });
  // A navigation takes no answer that was redirected, and a page of somebody's login would be kept for a file.
  if (!response.ok || response.redirected) throw new Error(`${address}: ${response.status}`);
  return response;
}

async function fill(cache: Cache): Promise<void> {
  const addressOf = (file: string): string => new URL(file, home).href;
  await Promise.all(
    kept.files.map(async (file) => cache.put(addressOf(file), await obtain(addressOf(file)))),
  );
  for (const address of kept.late.map(addressOf)) {
    const old = await caches.match(address);
    // They can be had again; a full disk is no reason to go without the rest.
    if (old) await cache.put(address, old).catch(() => undefined);
  }
}

async function install(): Promise<void> {
  // Another worker for the same files may be using it.
  const isNew = !(await caches.has(name));
  try {
    await fill(await caches.open(name));
  } catch (error) {
    if (isNew) await caches.delete(name);
    throw error;
  }
}

/** 0 for one that was filled and never used. */
async function placeOf(cacheName: string): Promise<number> {
  const marked = await (await caches.open(cacheName)).match(mark);
  return marked ? Number(await marked.text()) : 0;
}

/** The cache in use before this one stays: another tab may still show its build, and load a part of it later. */
async function activate(): Promise<void> {
  const names = (await caches.keys()).filter((other) => other.startsWith(prefix) && other !== name);
  const older = await Promise.all(
    names.map(async (other) => ({ other, place: await placeOf(other) })),
  );
  const last = Math.max(0, ...older.map(({ place }) => place));
  await (await caches.open(name)).put(mark, new Response(String(last + 1)));
  // One that is not marked may belong to a worker on its way.
  const { installing, waiting } = worker.registration;
  const comes = Boolean(installing || waiting);
  for (const { other, place } of older)
    if (place === 0 ? !comes : place !== last) await caches.delete(other);
  await worker.clients.claim();
}

/** A port of the own machine belongs to whatever is developed on it next, so the server there, if there is one, goes first. */
const isShared = new URL(home).hostname === 'localhost';

async function answer(event: Fetch): Promise<Response> {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (isShared && request.mode === 'navigate') {
    const served = await fetch(request).catch(() => undefined);
    if (served) return served;
  }
  const asked = request.mode === 'navigate' ? home : origin + pathname;
  const cache = await caches.open(name);
  const found =
    (await cache.match(asked)) ?? (isConstant(asked) ? await caches.match(asked) : undefined);
  if (found) return found;
  const response = await fetch(request);
  // The page gets it as it comes in, and gets it also where nothing more can be kept.
  if (response.ok && !response.redirected && isConstant(asked))
    event.waitUntil(cache.put(asked, response.clone()).catch(() => undefined));
  return response;
}

worker.addEventListener('install', (event) => event.waitUntil(install()));
worker.addEventListener('activate', (event) => event.waitUntil(activate()));
worker.addEventListener('message', ({ data }) => {
  if (data === 'take over') void worker.skipWaiting();
});
worker.addEventListener('fetch', (event) => {
  const { method, url, mode, headers } = event.request;
  const { origin, pathname } = new URL(url);
  const own = (origin + pathname).startsWith(home);
  const isPage = origin + pathname === home || origin + pathname === `${home}index.html`;
  if (method !== 'GET' || !own || headers.has('range') || (mode === 'navigate' && !isPage)) return;
  event.respondWith(answer(event));
});
