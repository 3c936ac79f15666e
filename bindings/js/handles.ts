// SPDX-License-Identifier: Apache-2.0
/** Encodings as the core holds them: made from checked options, found again behind a user's object. */

import { Arena, type Slot } from './arena.js';
import type { Engine } from './engine.js';
import { fault, text } from './errors.js';
import type { EncodingInfo } from './manifest.js';
import { type CheckedOptions, checkOptions, findEncoding, type Value } from './options.js';
import { disposed, foreign } from './owned.js';
import type { RawModule } from './raw.js';
import { wrongType } from './validate.js';

export interface Held {
  readonly engine: Engine;
  /** The core's name for it. */
  readonly handle: number;
  readonly info: EncodingInfo;
  readonly options: CheckedOptions;
  /** Whether the user's object was disposed of, for those who hold this and not the object. */
  readonly state: { disposed: boolean };
}

export function requireLive(where: string, { state }: Held): void {
  if (state.disposed) throw disposed(where, 'encoding');
}

export const held = new WeakMap<object, Held | 'disposed'>();

/** What stands behind an encoding given by the user. */
export function encodingOf(engine: Engine, where: string, field: string, given: unknown): Held {
  const found = typeof given === 'object' && given !== null ? held.get(given) : undefined;
  if (found === undefined)
    throw wrongType(where, field, 'an encoding made by pe.encoding(id, options)', given);
  if (found === 'disposed') throw disposed(where, field);
  if (found.engine !== engine) throw foreign(where, field, 'encoding');
  return found;
}

type Crossing = (raw: RawModule) => boolean;

export function hold(engine: Engine, id: unknown, given: unknown): Held {
  engine.requireUsable();
  const info = findEncoding(id);
  const where = `pe.encoding('${info.id}')`;
  const options = checkOptions(engine, info, given);
  const arena = new Arena(engine);
  const crossings: Crossing[] = [];
  for (const [name, value] of options.values)
    crossings.push(option(arena, arena.ascii(name), name.length, value));
  for (const [name, source] of options.tables) {
    const [at, data] = [arena.ascii(name), arena.input(source)];
    const { shape } = source;
    const [d0, d1 = 1, d2 = 1] = shape;
    crossings.push((raw) =>
      raw.optionsTable(at.address, name.length, data.address, shape.length, d0, d1, d2),
    );
  }
  const letters = arena.ascii(info.id);
  const handle = arena.run(where, () => {
    engine.call((raw) => raw.optionsClear());
    for (const crossing of crossings)
      if (!engine.call(crossing))
        throw fault('TOO_LARGE', {
          where,
          field: 'options',
          expected: 'as many as an encoding can have',
          received: text(`${crossings.length} options`),
        });
    const made = engine.call((raw) => raw.createEncoding(letters.address, info.id.length));
    if (made === 0) throw engine.failure(where);
    return made;
  });
  return { engine, handle, info, options, state: { disposed: false } };
}

function option(arena: Arena, name: Slot, length: number, value: Value): Crossing {
  switch (typeof value) {
    case 'number':
      return (raw) => raw.optionsNumber(name.address, length, value);
    case 'boolean':
      return (raw) => raw.optionsFlag(name.address, length, value);
    case 'string': {
      const letters = arena.ascii(value);
      return (raw) => raw.optionsText(name.address, length, letters.address, value.length);
    }
    default: {
      const numbers = arena.doubles(value);
      return (raw) => raw.optionsList(name.address, length, numbers.address, value.length);
    }
  }
}
