// SPDX-License-Identifier: Apache-2.0
/** Tensors in the memory of the module, and the other things that must be given back. */

import type { Engine } from './engine.js';
import { fault, PosencError, shapeText, text } from './errors.js';
import { isArray, isView, typedArraySet } from './intrinsics.js';
import { copyNumbers } from './number-lists.js';
import type { OwnedTensor } from './types.js';
import { shape as checkShape, sizeOf, wrongType } from './validate.js';

export interface Holding {
  readonly engine: Engine;
  readonly shape: readonly number[];
  readonly address: number;
  readonly bytes: number;
}

const holdings = new WeakMap<object, Holding | 'disposed'>();

/** A safety net for what nobody disposed; when it acts is up to the engine, so never rely on it. */
const forgotten =
  typeof FinalizationRegistry === 'function'
    ? new FinalizationRegistry<() => void>((free) => free())
    : undefined; // some hosts let no one see when garbage is collected

/** Calls `free` once: on dispose, or some time after `owner` is forgotten. */
export function giveBack(owner: object, free: () => void): () => void {
  // What is registered must not refer to the owner, or it would never be forgotten.
  const token = {};
  let freed = false;
  const once = () => {
    if (freed) return;
    freed = true;
    forgotten?.unregister(token);
    free();
  };
  forgotten?.register(owner, once, token);
  return once;
}

export function disposed(where: string, kind: string): PosencError {
  return new PosencError({
    code: 'DISPOSED',
    field: kind,
    message: `${where}: the ${kind} was disposed and can no longer be used.`,
    details: { parameter: kind },
  });
}

/** Lets `using` work where the host knows `Symbol.dispose`; elsewhere nothing is polyfilled. */
export function makeDisposable(prototype: { dispose(): void }): void {
  const symbol: symbol | undefined = Symbol.dispose;
  if (symbol !== undefined)
    Object.defineProperty(prototype, symbol, {
      configurable: true,
      value(this: { dispose(): void }) {
        this.dispose();
      },
    });
}

/** Made apart from the owner: a function made in its constructor would keep it alive. */
const releaser =
  ({ engine, address, bytes }: Holding) =>
  () => {
    engine.tensors.delete(address);
    engine.release(address, bytes);
  };

class Owned {
  readonly shape: readonly number[];
  /** Frees the memory; a second call does nothing. */
  readonly dispose: () => void;

  constructor(holding: Holding) {
    this.shape = holding.shape;
    holdings.set(this, holding);
    const free = giveBack(this, releaser(holding));
    this.dispose = () => {
      holdings.set(this, 'disposed');
      free();
    };
  }

  get data(): Float32Array {
    const { engine, address, shape } = holdingOf(
      undefined,
      'tensor.data',
      'tensor',
      this,
    ) as Holding;
    engine.requireUsable();
    return new Float32Array(engine.f32.buffer, address, sizeOf(shape));
  }

  toJSON(): object {
    return { shape: this.shape };
  }
}
makeDisposable(Owned.prototype as unknown as OwnedTensor);

/** Zeros, or `data`. */
export function createOwned(engine: Engine, shapeGiven: unknown, data: unknown): OwnedTensor {
  const where = 'pe.tensor';
  const shape = Object.freeze(checkShape(where, 'shape', shapeGiven));
  const size = sizeOf(shape);
  const values = data === undefined ? undefined : numbers(where, data);
  if (values !== undefined && values.length !== size)
    throw fault('SHAPE_MISMATCH', {
      where,
      field: 'data',
      expected: `${size} numbers long for the shape ${shapeText(shape)}`,
      received: text(`${values.length} numbers`),
    });
  const bytes = Math.max(size * 4, 4);
  const address = engine.allocate(where, bytes);
  if (values === undefined) engine.f32.fill(0, address / 4, address / 4 + size);
  else typedArraySet(engine.f32, values, address / 4);
  engine.tensors.set(address, bytes);
  return new Owned({ engine, shape, address, bytes }) as unknown as OwnedTensor;
}

function numbers(where: string, data: unknown): ArrayLike<number> {
  if (!isView(data) && !isArray(data)) throw wrongType(where, 'data', 'an array of numbers', data);
  return copyNumbers(where, 'data', data, 'an array of numbers');
}

/** What `tensor` holds if it is an owned one; throws if it is another instance's or disposed. */
export function holdingOf(
  engine: Engine | undefined,
  where: string,
  field: string,
  tensor: object,
): Holding | undefined {
  const holding = holdings.get(tensor);
  if (holding === 'disposed') throw disposed(where, field);
  if (holding !== undefined && engine !== undefined && holding.engine !== engine)
    throw foreign(where, field, 'tensor');
  return holding;
}

export function foreign(where: string, field: string, kind: string): PosencError {
  return fault('FOREIGN_HANDLE', {
    where,
    field,
    expected: `a${kind === 'encoding' ? 'n' : ''} ${kind} of this instance`,
    received: text('one of another instance'),
    advice: 'Create it with the instance that uses it.',
  });
}
