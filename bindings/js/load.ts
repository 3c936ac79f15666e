// SPDX-License-Identifier: Apache-2.0
/** `load`: one shared instance for a page, separate ones on request. */

import { bytesOf } from './bytes.js';
import { version } from './encodings.gen.js';
import { Engine } from './engine.js';
import { fault, text } from './errors.js';
import { type Info, instance, type Posenc } from './posenc.js';
import factory from './posenc.mjs';
import { abiVersion, type RawModule } from './raw.js';
import { boolean, choice, or, options as readOptions, wrongType } from './validate.js';
import {
  compile,
  givenBytes,
  hasRelaxed,
  initError,
  requireModule,
  requireWebAssembly,
} from './wasm-source.js';

export interface LoadOptions {
  /**
   * 'auto' is 'simd', the deterministic one: the same bits on every machine. 'relaxed' fuses multiply and
   * add where the processor does; it is faster, and its last digits are those of the processor.
   * @default 'auto'; what `url`, `bytes` or `module` bring may be either
   */
  build?: 'auto' | 'simd' | 'relaxed';
  /** Where posenc.wasm is, or posenc-relaxed.wasm. @default beside the module */
  url?: string | URL;
  /** The content of posenc.wasm. */
  bytes?: BufferSource;
  /** posenc.wasm compiled. */
  module?: WebAssembly.Module;
  /** A separate instance with its own memory. @default false */
  fresh?: boolean;
}

export type Load = (options?: LoadOptions) => Promise<Posenc>;

type Standard = { bytes: BufferSource; from: string } | { module: WebAssembly.Module };

export interface Got {
  bytes: BufferSource;
  loading: 'file' | 'fetch';
}

/** What an entry of the package knows of its surroundings. */
export interface Host {
  /** The module when no option names one. */
  standard(): Promise<Standard>;
  /** The one with relaxed instructions, where the entry has it. */
  relaxed?(): Promise<Standard>;
  loading: Info['loading'];
  /** The content of a URL and how it came, where there is a way to get it. */
  read?(url: string | URL): Promise<Got>;
}

const names = ['build', 'url', 'bytes', 'module', 'fresh'] as const;
export type Chosen = Pick<LoadOptions, 'build' | 'url' | 'bytes' | 'module'>;

export function createLoad(host: Host): Load {
  return sharing(
    (options) => readLoadOptions(host, options),
    (chosen) => start(host, chosen),
  );
}

export interface Started<One> {
  pe: One;
  /** What it turned out to be, which options may ask for. */
  is: object;
  /** Whether it is still of use to anyone: it may have trapped, or been disposed of. */
  usable(): boolean;
}

/** A `load` that gives the same instance to all who ask for none of their own. */
export function sharing<C extends Chosen, Options, One>(
  read: (options: Options | undefined) => { fresh: boolean; chosen: C },
  start: (chosen: C) => Promise<Started<One>>,
): (options?: Options) => Promise<One> {
  let shared: { chosen: C; started: Promise<Started<One>>; usable?: () => boolean } | undefined;
  return async (options) => {
    const { fresh, chosen } = read(options);
    if (fresh) return (await start(chosen)).pe;
    for (;;) {
      if (shared?.usable?.() === false) shared = undefined;
      const mine = shared ?? { chosen, started: start(chosen) };
      shared = mine;
      try {
        mine.usable = (await mine.started).usable;
      } catch (cause) {
        // A failure is forgotten, so that trying again can succeed, at once for those who asked otherwise.
        if (shared === mine) shared = undefined;
        if (mine.chosen === chosen || !differ(mine.chosen, chosen)) throw cause;
        continue;
      }
      const { pe, is } = await mine.started;
      refuseOther({ ...mine.chosen, ...is }, chosen);
      return pe;
    }
  };
}

export function readLoadOptions(
  host: Host,
  options: unknown,
  more: readonly string[] = [],
): { fresh: boolean; chosen: Chosen; given: ReadonlyMap<string, unknown> } {
  const where = 'load';
  const given = readOptions<string>(where, options, [...names, ...more]);
  const chosen: Chosen = {};
  const [url, bytes, module] = ['url', 'bytes', 'module'].map((name) => given.get(name as 'url'));
  if (url !== undefined) chosen.url = checkUrl(host, url);
  if (bytes !== undefined) chosen.bytes = checkBytes(bytes);
  if (module !== undefined) chosen.module = requireModule(where, module);
  if (Object.keys(chosen).length > 1)
    throw fault('OPTION_NOT_APPLICABLE', {
      where,
      field: Object.keys(chosen)[1],
      expected: 'left out: give one of url, bytes and module',
      received: text(Object.keys(chosen).join(' and ')),
    });
  const build = choice(where, 'build', or(given.get('build'), 'auto'), ['auto', 'simd', 'relaxed']);
  if (build === 'relaxed') requireRelaxed(host, chosen);
  if (build !== 'auto') chosen.build = build;
  return { chosen, given, fresh: boolean(where, 'fresh', or(given.get('fresh'), false)) };
}

function requireRelaxed(host: Host, chosen: Chosen): void {
  const refuse = (expected: string, advice: string) =>
    fault('UNSUPPORTED', { where: 'load', field: 'build', expected, received: 'relaxed', advice });
  if (!hasRelaxed())
    throw refuse(
      "'simd' on a host without relaxed SIMD",
      'Node 20 needs --experimental-wasm-relaxed-simd.',
    );
  if (host.relaxed === undefined && Object.keys(chosen).length === 0)
    throw refuse(
      "'simd' here: this entry does not carry the other module",
      'Give it by url, bytes or module.',
    );
}

function checkUrl(host: Host, url: unknown): string | URL {
  if (host.read === undefined)
    throw fault('OPTION_NOT_APPLICABLE', {
      where: 'load',
      field: 'url',
      expected: 'left out: this entry reads no files, give it a module',
      received: text('a URL'),
    });
  if (typeof url === 'string') return url;
  try {
    // A copy, made by URL's own code: it fails for anything else, and what is checked is what is used.
    const href = Object.getOwnPropertyDescriptor(URL.prototype, 'href')?.get;
    return new URL(href?.call(url) as string);
  } catch {
    throw wrongType('load', 'url', 'a string or URL', url);
  }
}

function checkBytes(bytes: unknown): BufferSource {
  bytesOf('load', 'bytes', bytes, 'an ArrayBuffer or a view of one', () => true);
  return bytes as BufferSource;
}

const isText = (name: string) => name !== 'bytes' && name !== 'module';

/** The first option of `asked` that is not as in `chosen`. */
function difference(chosen: Chosen, asked: Chosen): keyof Chosen | undefined {
  return (Object.keys(asked) as (keyof Chosen)[]).find((name) => {
    const [a, b] = [chosen[name], asked[name]];
    return b !== undefined && (isText(name) ? String(a) !== String(b) : a !== b);
  });
}

/** Whether one names something that the other does not: what failed for one may work for the other. */
const differ = (a: Chosen, b: Chosen) =>
  difference(a, b) !== undefined || difference(b, a) !== undefined;

function refuseOther(chosen: Chosen, asked: Chosen): void {
  const name = difference(chosen, asked);
  if (name === undefined) return;
  const given = (value: unknown) =>
    isText(name) || value === undefined ? String(value ?? 'the default') : 'another';
  throw initError(
    'ALREADY_LOADED',
    name,
    `posenc is loaded already with other options: ${name} was ${given(chosen[name])} and is now ${given(asked[name])}. Use { fresh: true } for a second instance.`,
    { option: name },
  );
}

async function start(host: Host, chosen: Chosen): Promise<Started<Posenc>> {
  const [module, loading] = await moduleOf(host, chosen);
  const raw = await instantiate(module);
  let abi: number;
  try {
    abi = raw.abiVersion();
  } catch (cause) {
    throw otherVersion('none', cause);
  }
  if (abi !== abiVersion) throw otherVersion(String(abi));
  const build = raw.fuses() ? 'relaxed' : 'simd';
  if (build !== (chosen.build ?? build))
    throw fault('OPTION_NOT_APPLICABLE', {
      where: 'load',
      field: 'build',
      expected: `'${build}', which the given module is, or left out`,
      received: chosen.build,
    });
  const engine = new Engine(raw);
  return { pe: instance(engine, loading, build), is: { build }, usable: () => engine.usable };
}

export async function moduleOf(
  host: Host,
  { build, url, bytes, module }: Chosen,
): Promise<[WebAssembly.Module, Info['loading']]> {
  requireWebAssembly();
  if (module !== undefined) return [module, 'module'];
  if (bytes !== undefined) return [await compile(bytes, givenBytes), 'bytes'];
  if (url !== undefined && host.read !== undefined) {
    const got = await host.read(url);
    return [await compile(got.bytes, String(url)), got.loading];
  }
  const wanted = build === 'relaxed' ? host.relaxed : host.standard;
  const source = await (wanted ?? host.standard)();
  if ('module' in source) return [source.module, 'module'];
  return [await compile(source.bytes, source.from), host.loading];
}

async function instantiate(module: WebAssembly.Module): Promise<RawModule> {
  let fail: (reason: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const made = factory({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(module, imports)
        .then((one) => done(one, module))
        .catch(fail);
      return {};
    },
  });
  try {
    // The glue waits for ever when instantiation fails, so its promise alone cannot be trusted.
    return await Promise.race([made, failed]);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw initError(
        'OUT_OF_MEMORY',
        'memory',
        'the host has no memory for an instance of posenc.',
        {},
        cause,
      );
    throw otherVersion('unknown', cause);
  }
}

function otherVersion(found: string, cause?: unknown) {
  return initError(
    'VERSION_MISMATCH',
    'posenc.wasm',
    `this posenc.wasm does not belong to posenc ${version}: it has interface ${found}, needed is ${abiVersion}. Serve the file of the same release.`,
    { expected: abiVersion, received: found, version },
    cause,
  );
}
