// SPDX-License-Identifier: Apache-2.0
/**
 * A configuration object, read with care: own properties only, each at most once, so that a getter
 * cannot answer twice in different ways and a prototype cannot contribute. Nothing is copied or
 * walked that is not asked for: depth, cycles and size of the rest do not matter.
 */

import { PosencError, quote, text } from '../errors.js';
import { isArray, isView, typedArrayLength, typedArrayName } from '../intrinsics.js';
import { configFault } from './faults.js';
import type { Ledger } from './ledger.js';

/** Longer lists than any model has, short enough to read at once. */
const longestList = 65536;
/** Dictionaries have a dozen keys; the whole metadata of a GGUF file is asked for with its own limit. */
const mostKeys = 256;

export interface Rules {
  min?: number;
  max?: number;
  /** `min` itself is not allowed. */
  above?: boolean;
  integer?: boolean;
}

export class Section {
  readonly #seen = new Map<string, unknown>();

  constructor(
    private readonly object: object,
    private readonly place: string,
    private readonly ledger: Ledger,
    /** What the keys are called in the file, where that is not what they are called here. */
    private readonly original?: ReadonlyMap<string, string>,
  ) {}

  get path(): string {
    return this.original?.get(this.place) ?? this.place;
  }

  pathOf(key: string): string {
    const place = this.#placeOf(key);
    return this.original?.get(place) ?? place;
  }

  #placeOf(key: string): string {
    return this.place === '' ? key : `${this.place}.${key}`;
  }

  /** The value of an own property; null counts as absent, as it does for every reader of these files. */
  get(key: string): unknown {
    if (this.#seen.has(key)) return this.#seen.get(key);
    let value: unknown;
    try {
      value = Object.hasOwn(this.object, key) ? Reflect.get(this.object, key) : undefined;
    } catch {
      throw this.unreadable(key);
    }
    const known = value === null ? undefined : value;
    this.#seen.set(key, known);
    return known;
  }

  /** Whether the key is there, be it with null. */
  names(key: string): boolean {
    try {
      return Object.hasOwn(this.object, key);
    } catch {
      throw this.unreadable(key);
    }
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  keys(most = mostKeys): string[] {
    let keys: string[];
    try {
      keys = Object.keys(this.object);
    } catch {
      throw this.unreadable('');
    }
    if (keys.length > most)
      throw this.fault('TOO_COMPLEX', '', `an object of at most ${most} keys`, keys.length);
    return keys;
  }

  number(key: string, rules: Rules = {}): number | undefined {
    const value = this.get(key);
    return value === undefined ? undefined : this.#checked(this.pathOf(key), value, rules);
  }

  boolean(key: string): boolean | undefined {
    const value = this.get(key);
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.fault('WRONG_TYPE', key, 'true or false', value);
  }

  string(key: string): string | undefined {
    const value = this.get(key);
    if (value === undefined || typeof value === 'string') return value;
    throw this.fault('WRONG_TYPE', key, 'a string', value);
  }

  child(key: string): Section | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (!isPlain(value)) throw this.fault('WRONG_TYPE', key, 'an object', value);
    return new Section(value, this.#placeOf(key), this.ledger, this.original);
  }

  numbers(key: string, rules: Rules = {}): readonly number[] | undefined {
    return this.#list(key, 'numbers', (value, path) => this.#checked(path, value, rules));
  }

  strings(key: string): readonly string[] | undefined {
    return this.#list(key, 'strings', (value, path) => {
      if (typeof value === 'string') return value;
      throw configFault('WRONG_TYPE', {
        where: this.ledger.where,
        path,
        expected: 'a string',
        received: value,
      });
    });
  }

  isList(key: string): boolean {
    return isArray(this.get(key)) || isNumberView(this.get(key));
  }

  fault(
    code: Parameters<typeof configFault>[0],
    key: string,
    expected: string,
    received: unknown,
    more?: Record<string, unknown>,
  ) {
    const path = key === '' ? this.path || 'config' : this.pathOf(key);
    return configFault(code, {
      where: this.ledger.where,
      path,
      expected,
      received,
      ...(more === undefined ? {} : { more }),
    });
  }

  private unreadable(key: string) {
    return this.fault('TOO_COMPLEX', key, 'readable', text('an error from a getter or a proxy'));
  }

  #list<T>(key: string, what: string, read: (value: unknown, path: string) => T): T[] | undefined {
    const list = this.get(key);
    if (list === undefined) return undefined;
    const view = isNumberView(list);
    if (!view && !isArray(list)) throw this.fault('WRONG_TYPE', key, `a list of ${what}`, list);
    const values: T[] = [];
    try {
      const length = view ? typedArrayLength(list) : (list as unknown[]).length;
      if (!(length <= longestList))
        throw this.fault('TOO_COMPLEX', key, `at most ${longestList} ${what}`, length);
      for (let i = 0; i < length; ++i)
        values.push(read((list as unknown[])[i], `${this.pathOf(key)}[${i}]`));
    } catch (error) {
      if (PosencError.is(error)) throw error;
      throw this.unreadable(key);
    }
    return values;
  }

  #checked(path: string, value: unknown, { min, max, above, integer }: Rules): number {
    const about = { where: this.ledger.where, path, expected: expectation(), received: value };
    const number = this.#asNumber(path, value);
    if (number === undefined) throw configFault('WRONG_TYPE', about);
    if (!Number.isFinite(number)) throw configFault('OUT_OF_RANGE', about);
    if (integer === true && !Number.isInteger(number)) throw configFault('NOT_INTEGER', about);
    const low = min !== undefined && (above === true ? number <= min : number < min);
    if (low || (max !== undefined && number > max)) throw configFault('OUT_OF_RANGE', about);
    return number + 0;

    function expectation() {
      const noun = integer === true ? 'an integer' : 'a number';
      const from = min === undefined ? '' : ` ${above === true ? 'above' : 'from'} ${min}`;
      return `${noun}${from}${max === undefined ? '' : ` to ${max}`}`;
    }
  }

  #asNumber(path: string, value: unknown): number | undefined {
    if (typeof value === 'number') return value;
    if (typeof value === 'bigint' && this.ledger.bigints)
      return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
        ? Number(value)
        : Number.POSITIVE_INFINITY;
    if (typeof value !== 'string' || !this.ledger.lenient || value.trim() === '') return undefined;
    const number = Number(value);
    if (Number.isNaN(number)) return undefined;
    this.ledger.warn('W16', path, `${quote(value)} is a string; read as a number`, value, number);
    return number;
  }
}

export function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isArray(value) && !isView(value);
}

function isNumberView(value: unknown): boolean {
  return isView(value) && /^(Float|Int|Uint)/.test(typedArrayName(value) ?? '');
}
