// SPDX-License-Identifier: Apache-2.0
/**
 * What Embind's C++ needs of JavaScript, for what crosses here: functions of numbers, and records of
 * them. While the module starts it tells what it has, and each function becomes a method. The
 * compiler's own glue does this for any program, with ways to find and fetch files that load.ts has
 * already: 6.0 KB brotli, and it takes what a page added to `Object.prototype` for fields of records.
 */

import { link } from './link.js';
import type { RawModule } from './raw.js';

type Wired = (...args: unknown[]) => unknown;
type FromWire = (wire: number) => unknown;

interface Field {
  name: string;
  type: number;
  get: Wired;
  set: Wired;
  /** What getter and setter know it by. */
  member: number;
}

interface RecordType {
  make: () => number;
  free: (address: number) => void;
  fields: Field[];
}

const same = (wire: unknown) => wire;
const page = 65536;
const mostBytes = 2 ** 31;

export async function start(module: WebAssembly.Module): Promise<RawModule> {
  const raw = {} as { -readonly [Name in keyof RawModule]: RawModule[Name] };
  const functions: (() => void)[] = [];
  const numbers = new Map<number, FromWire>();
  const records = new Map<number, RecordType>();

  const text = (at: number) => {
    const bytes = raw.HEAPU8;
    let letters = '';
    for (let i = at; bytes[i] !== 0; ++i) letters += String.fromCharCode(bytes[i]);
    return letters;
  };
  const entry = (index: number) => table.get(index);

  const written = ({ make, fields }: RecordType, from: unknown): number => {
    const at = make();
    for (const { name, set, member } of fields) set(member, at, (from as never)[name]);
    return at;
  };
  const read = ({ free, fields }: RecordType, at: number) => {
    const copy: Record<string, unknown> = {};
    for (const { name, type, get, member } of fields)
      copy[name] = fromWire(type)(get(member, at) as number);
    free(at);
    return copy;
  };
  const fromWire = (type: number): FromWire => {
    const record = records.get(type);
    return record === undefined ? (numbers.get(type) ?? same) : (at) => read(record, at);
  };

  /** Numbers and booleans go as they are: the engine makes of them what the signature says. */
  const method = ([result, ...types]: number[], call: Wired, target: number): Wired => {
    const give = fromWire(result) as Wired;
    const taken = types.map((type) => records.get(type));
    if (taken.every((record) => record === undefined)) {
      const direct = call.bind(null, target);
      return give === same ? direct : (...args) => give(direct(...args));
    }
    return (...args) => {
      const wires = taken.map((record, i) => (record ? written(record, args[i]) : args[i]));
      const value = give(call(target, ...wires));
      for (const [i, record] of taken.entries()) record?.free(wires[i] as number);
      return value;
    };
  };

  /** Some more than is asked for, since growing costs; just that where there is no more. */
  const grow = (asked: number): boolean => {
    const bytes = asked >>> 0;
    const held = raw.HEAPU8.length;
    for (const part of [0.2, 0.1, 0.05, 0]) {
      const wanted = Math.max(bytes, Math.min(held * (1 + part), bytes + 96 * 2 ** 20));
      if (bytes > mostBytes) break;
      try {
        memory.grow(Math.ceil((Math.min(wanted, mostBytes) - held) / page));
        look();
        return true;
      } catch {} // less, then
    }
    return false;
  };

  /** By the names of Embind's own header. */
  const told: Record<string, (...about: never[]) => unknown> = {
    _embind_register_void() {},
    _embind_register_float() {},
    _embind_register_bool: (type: number) => numbers.set(type, (wire) => wire !== 0),
    _embind_register_integer(type: number, _name: number, _size: number, least: number) {
      if (least === 0) numbers.set(type, (wire) => wire >>> 0);
    },
    _embind_register_value_object: (
      type: number,
      _name: number,
      _makes: number,
      make: number,
      _frees: number,
      free: number,
    ) => records.set(type, { make: entry(make), free: entry(free), fields: [] }),
    _embind_register_value_object_field(
      record: number,
      name: number,
      type: number,
      _gets: number,
      get: number,
      member: number,
      _type: number,
      _sets: number,
      set: number,
    ) {
      const field = { name: text(name), type, get: entry(get), set: entry(set), member };
      records.get(record)?.fields.push(field);
    },
    _embind_finalize_value_object() {},
    _embind_register_function(
      name: number,
      count: number,
      types: number,
      _signature: number,
      call: number,
      target: number,
    ) {
      const signature = [...raw.HEAPU32.subarray(types / 4, types / 4 + count)];
      const called = text(name);
      // Types may be told after the functions that use them.
      functions.push(() => {
        raw[called as 'failure'] = method(signature, entry(call), target) as never;
      });
    },
    emscripten_resize_heap: grow,
  };

  const imports = Object.entries(link.imports).map(([short, name]) => [short, told[name]]);
  const { exports } = await WebAssembly.instantiate(module, {
    [link.from]: Object.fromEntries(imports),
  });
  const memory = exports[link.memory] as WebAssembly.Memory;
  const table = exports[link.table] as WebAssembly.Table;
  const look = () => {
    const { buffer } = memory;
    raw.HEAPU8 = new Uint8Array(buffer);
    raw.HEAPU32 = new Uint32Array(buffer);
    raw.HEAPF32 = new Float32Array(buffer);
    raw.HEAPF64 = new Float64Array(buffer);
  };
  look();
  (exports[link.start] as () => void)();
  for (const make of functions) make();
  return raw;
}
