// SPDX-License-Identifier: Apache-2.0
/** No input is known to make the module trap, so this instance does it on demand. */

import { load } from 'posenc';

export async function loadTrappable(wasm: BufferSource) {
  let armed = false;
  const wrapped = (call: unknown) =>
    typeof call !== 'function'
      ? call
      : (...args: unknown[]) => {
          if (armed) throw new WebAssembly.RuntimeError('unreachable');
          return call(...args);
        };
  // The module's functions are reached through its table, not by name.
  const trappable = (value: unknown) =>
    value instanceof WebAssembly.Table
      ? { get: (index: number) => wrapped(value.get(index)), length: value.length }
      : wrapped(value);
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (async (module: WebAssembly.Module, imports: WebAssembly.Imports) => {
    const { exports } = await instantiate(module, imports);
    const entries = Object.entries(exports).map(([name, value]) => [name, trappable(value)]);
    return { exports: Object.fromEntries(entries) };
  }) as never;
  try {
    const pe = await load({ bytes: wasm, fresh: true });
    return {
      pe,
      arm() {
        armed = true;
      },
    };
  } finally {
    WebAssembly.instantiate = instantiate;
  }
}
