// SPDX-License-Identifier: Apache-2.0
/** From bytes, a URL or a module to a compiled module; each way it can fail has an error of its own. */

import { bytesOf } from './bytes.js';
import { PosencError, type PosencErrorCode } from './errors.js';
import type { Got } from './load.js';
import { wrongType } from './validate.js';

/** `(module (func (result v128) i32.const 0 i8x16.splat i8x16.popcnt))`: needs SIMD to be valid. */
const simdProbe = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15,
  253, 98, 11,
]);

/** `(module (func (param v128) (result v128) local.get 0 local.get 0 local.get 0 f32x4.relaxed_madd))`. */
const relaxedProbe = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 123, 1, 123, 3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32,
  0, 32, 0, 253, 133, 2, 11,
]);
export function hasRelaxed(): boolean {
  requireWebAssembly();
  return WebAssembly.validate(relaxedProbe);
}

export function requireWebAssembly(): void {
  if (typeof WebAssembly !== 'object' || typeof WebAssembly.validate !== 'function')
    throw initError(
      'NO_WASM',
      'WebAssembly',
      'this host has no WebAssembly: it may be switched off, or the browser is older than Chrome 91, Firefox 89, Safari 16.4.',
    );
  if (!WebAssembly.validate(simdProbe))
    throw initError(
      'NO_SIMD',
      'WebAssembly',
      'this host has no WebAssembly SIMD: it needs Chrome 91, Firefox 89, Safari 16.4 or Node 16.4 at least.',
    );
}

export function initError(
  code: PosencErrorCode,
  /** The option at fault, given or by default; else what is missing from the host. */
  field: string,
  what: string,
  details: Record<string, unknown> = {},
  cause?: unknown,
): PosencError {
  return new PosencError({ code, field, message: `load: ${what}`, details, cause });
}

/** The bytes behind a URL. The file is small: streaming would gain nothing, and hide a wrong file. */
export async function fetchBytes(url: string | URL): Promise<ArrayBuffer> {
  const address = String(url);
  const blocked = watchPolicy(address);
  let response: Response;
  try {
    response = await fetch(url);
  } catch (cause) {
    if (await blocked())
      throw initError(
        'FETCH_BLOCKED',
        'url',
        `the page's content security policy forbids to fetch ${short(address)}: add it to connect-src, or use posenc/inline.`,
        { url: address },
        cause,
      );
    throw initError(
      'FETCH_FAILED',
      'url',
      `${short(address)} could not be fetched: is the file there, and may this page read it? posenc/inline needs no file.`,
      { url: address },
      cause,
    );
  }
  if (!response.ok)
    throw initError(
      'FETCH_FAILED',
      'url',
      `${short(address)} could not be fetched: status ${response.status}. Does the bundler copy posenc.wasm? posenc/inline needs no file.`,
      { url: address, status: response.status },
    );
  return response.arrayBuffer();
}

/** For hosts that have no other way. */
export const fetched = async (url: string | URL): Promise<Got> => ({
  bytes: await fetchBytes(url),
  loading: 'fetch',
});

const short = (address: string) => (address.length > 60 ? `${address.slice(0, 59)}…` : address);

/** Whether a policy was violated meanwhile: the rejection itself does not say. */
function watchPolicy(address: string): () => Promise<boolean> {
  if (typeof addEventListener !== 'function' || typeof removeEventListener !== 'function')
    return async () => false;
  let seen = false;
  const note = (event: Event) => {
    const { effectiveDirective, blockedURI } = event as SecurityPolicyViolationEvent;
    seen ||= effectiveDirective === 'connect-src' && address.startsWith(blockedURI ?? '');
  };
  const target: EventTarget = typeof document === 'object' ? document : globalThis;
  target.addEventListener('securitypolicyviolation', note);
  return async () => {
    await new Promise((resolve) => setTimeout(resolve, 0));
    target.removeEventListener('securitypolicyviolation', note);
    return seen;
  };
}

/** What stands for the address of bytes that came as an option. */
export const givenBytes = 'the given bytes';

export async function compile(bytes: BufferSource, from: string): Promise<WebAssembly.Module> {
  // Looked at again: it may have been transferred while the caller waited.
  const view = bytesOf('load', 'bytes', bytes, 'an ArrayBuffer or a view of one', () => true);
  if (!isWasm(view)) throw notWasm(view, from);
  try {
    return await WebAssembly.compile(view as BufferSource);
  } catch (cause) {
    throw compileError(cause, view, from);
  }
}

const isWasm = (b: Uint8Array) => b[0] === 0 && b[1] === 97 && b[2] === 115 && b[3] === 109;

function notWasm(bytes: Uint8Array, from: string, cause?: unknown, or = ''): PosencError {
  const start = String.fromCharCode(...bytes.subarray(0, 4)).replace(/[^ -~]/g, '.');
  const isPage = /^\s*<[!dhDH]/.test(start);
  const what = isPage
    ? `a web page was served instead of posenc.wasm (${short(from)}): check where the file is hosted, or use posenc/inline.`
    : `${short(from)} is not a whole posenc.wasm: ${bytes.length} bytes beginning with "${start}".${or}`;
  const field = from === givenBytes ? 'bytes' : 'url';
  return initError('NOT_WASM', field, what, { url: from, length: bytes.length, start }, cause);
}

function compileError(cause: unknown, bytes: Uint8Array, from: string): PosencError {
  const reason = String((cause as Error)?.message ?? cause);
  if (/disallowed by embedder/i.test(reason))
    return initError(
      'COMPILE_FORBIDDEN',
      'WebAssembly',
      'this host compiles no WebAssembly at run time: import the file as a module and use posenc/module.',
      {},
      cause,
    );
  if (/content security policy|unsafe-eval|\bCSP\b/i.test(reason))
    return initError(
      'CSP_BLOCKED',
      'WebAssembly',
      "the page's content security policy forbids WebAssembly: add 'wasm-unsafe-eval' to script-src.",
      {},
      cause,
    );
  return notWasm(
    bytes,
    from,
    cause,
    hasRelaxed() ? '' : ' Or it is the relaxed build, which this host has no instructions for.',
  );
}

export function requireModule(where: string, module: unknown): WebAssembly.Module {
  try {
    // Fails for anything else, which a class name could pretend to be.
    WebAssembly.Module.exports(module as WebAssembly.Module);
    return module as WebAssembly.Module;
  } catch {
    throw wrongType(where, 'module', 'a WebAssembly.Module', module);
  }
}
