// SPDX-License-Identifier: Apache-2.0
/** The worker's side: an instance, what was made of it, and the calls that come in one after another. */

import { fault, shapeText, text } from '../errors.js';
import type { Load, LoadOptions } from '../load.js';
import { disposed } from '../owned.js';
import type { Posenc } from '../posenc.js';
import type { OwnedTensor } from '../types.js';
import { type Call, errorParts, marker, partsOf, type Reply, type Request } from './wire.js';

type Post = (reply: Reply, transfer: ArrayBuffer[]) => void;

/** What a name stands for: an object, or the reason why there is none. */
type Kept = { object: object } | { error: unknown };

export function serve(load: Load, post: Post): (message: unknown) => void {
  const kept = new Map<number, Kept>();

  const objectOf = (handle: number): object => {
    const found = kept.get(handle);
    if (found === undefined) throw disposed('posenc/worker', 'handle');
    if ('error' in found) throw found.error;
    return found.object;
  };

  async function begin(id: number, options: LoadOptions): Promise<void> {
    try {
      const pe = await load({ ...options, fresh: true });
      kept.set(0, { object: pe });
      const { version, build } = pe.info;
      post({ posenc: 'done', id, value: { encodings: pe.encodings, version, build } }, []);
    } catch (error) {
      post({ posenc: 'done', id, error: errorParts(error) }, []);
    }
  }

  function run({ id, on, method, args, as, lent = 0 }: Call): void {
    const touched = new Set([on, as]);
    const outs = new Map<object, number>();
    const handles = new Map<object, number>();
    const unpack = (value: unknown): unknown => {
      const parts = partsOf(value);
      if (parts !== undefined) return unmark(parts);
      if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
      if (value instanceof ArrayBuffer) return value;
      if (Array.isArray(value)) return value.map(unpack);
      const entries = Object.entries(value).map(([name, one]) => [name, unpack(one)] as const);
      return Object.fromEntries(entries);
    };
    const unmark = (parts: NonNullable<ReturnType<typeof partsOf>>): unknown => {
      switch (parts[0]) {
        case 'handle': {
          const object = objectOf(parts[1]);
          touched.add(parts[1]);
          handles.set(object, parts[1]);
          return object;
        }
        case 'out': {
          const out = { data: new Float32Array(parts[2]), shape: unpack(parts[3]) };
          outs.set(out, parts[1]);
          return out;
        }
        case 'detached':
          return detachedView(parts[1]);
        default:
          return opaque[parts[1] as keyof typeof opaque];
      }
    };
    const transfer = new Set<ArrayBuffer>();
    const back = args.slice(0, lent).map((one) => {
      const { data } = one as { data?: Float32Array };
      if (!ArrayBuffer.isView(data)) return undefined;
      transfer.add(data.buffer as ArrayBuffer);
      return data;
    });
    const lentOnly = [...transfer];
    const pack = (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null) return value;
      const handle = handles.get(value);
      if (handle !== undefined) return marker('handle', handle);
      if (ArrayBuffer.isView(value)) {
        // The whole of a buffer is the result's own; a part is a tensor in the memory of the module.
        const whole = value.byteLength === value.buffer.byteLength;
        const own = whole ? value : (value as Float32Array).slice();
        transfer.add(own.buffer as ArrayBuffer);
        return own;
      }
      if (Array.isArray(value)) return value.map(pack);
      const entries = Object.entries(value).map(([name, one]) => [name, pack(one)] as const);
      const out = outs.get(value);
      const copy = Object.fromEntries(entries);
      return out === undefined ? copy : marker('out', out, 0, copy.data);
    };
    try {
      const result = callOf(objectOf(on) as never, method)(...args.map(unpack));
      if (as !== 0) kept.set(as, { object: result as object });
      const value = as === 0 ? pack(result) : describe(result as Described);
      post({ posenc: 'done', id, value, back, lengths: lengths(touched) }, [...transfer]);
    } catch (error) {
      if (as !== 0) kept.set(as, { error });
      const parts = errorParts(error);
      post({ posenc: 'done', id, error: parts, back, lengths: lengths(touched) }, [...lentOnly]);
    }
  }

  function lengths(touched: ReadonlySet<number>): [number, number, number][] {
    return [...touched].flatMap((handle) => {
      const found = kept.get(handle);
      if (handle === 0 || found === undefined || 'error' in found) return [];
      const { length, stored } = found.object as { length?: unknown; stored?: unknown };
      if (typeof length !== 'number' || typeof stored !== 'number') return [];
      return [[handle, length, stored]];
    });
  }

  function release(handle: number): void {
    const found = kept.get(handle);
    kept.delete(handle);
    if (found !== undefined && 'object' in found) (found.object as Posenc).dispose();
  }

  return (message: unknown): void => {
    const request = message as Request | null;
    switch (request?.posenc) {
      case 'start':
        void begin(request.id, request.options);
        break;
      case 'call':
        run(request);
        break;
      case 'release':
        release(request.handle);
        break;
    }
  };
}

type Callable = (...args: unknown[]) => unknown;

/** A method, or one of the three things that are none where all is in one place. */
function callOf(target: Posenc & OwnedTensor & Record<string, Callable>, method: string): Callable {
  switch (method) {
    case 'data':
      return () => target.data;
    case 'write':
      return (data) => writeTo(target, data as Float32Array);
    case 'memory':
      return () => target.info.memory();
    default:
      return (...args) => target[method](...args);
  }
}

function writeTo(tensor: OwnedTensor, given: Float32Array): void {
  const { data } = tensor;
  if (given.length !== data.length)
    throw fault('SHAPE_MISMATCH', {
      where: 'tensor.write',
      field: 'data',
      expected: `${data.length} numbers long for the shape ${shapeText(tensor.shape)}`,
      received: text(`${given.length} numbers`),
    });
  data.set(given);
}

interface Described {
  readonly sites?: readonly string[];
  readonly shape?: readonly number[];
  toJSON(): object;
}

/** What is known of an object without asking its worker. */
const describe = (made: Described) => ({
  json: made.toJSON(),
  sites: made.sites,
  shape: made.shape,
});

const opaque = { function: () => undefined, symbol: Symbol('given'), object: {} };

/** As the user's: of the same type, its memory elsewhere. */
function detachedView(name: string): unknown {
  const Type = (globalThis as unknown as Record<string, new (n: number) => Float32Array>)[name];
  const view = new Type(1);
  structuredClone(view.buffer, { transfer: [view.buffer as ArrayBuffer] });
  return view;
}
