// SPDX-License-Identifier: Apache-2.0
/** The one error class, its codes, and the one rule by which messages are written. */

import { errorTable } from './encodings.gen.js';
import { isArray, isRevoked, isView, typedArrayLength, typedArrayName } from './intrinsics.js';

type Row = (typeof errorTable)[number];
/** What went wrong. Codes are covered by semantic versioning, messages may improve. */
export type PosencErrorCode = Exclude<Row[0], 'OK'>;
/** Whose turn it is: the caller's (`argument`, `config`, `format`, `state`), the machine's or ours. */
export type PosencErrorKind = Exclude<Row[1], 'none'>;

const kinds: ReadonlyMap<string, PosencErrorKind> = new Map(errorTable as never);
const brand = Symbol.for('posenc.PosencError');

export interface PosencErrorParts {
  code: PosencErrorCode;
  message: string;
  field?: string;
  details?: Readonly<Record<string, unknown>>;
  cause?: unknown;
  /** Where the table's kind does not say it: a number out of range may stand in a configuration. */
  kind?: PosencErrorKind;
}

export class PosencError extends Error {
  static {
    // Minifiers rename classes, and Node prints a class's own name beside that of the error.
    Object.defineProperty(PosencError, 'name', { value: 'PosencError' });
  }
  readonly kind: PosencErrorKind;
  readonly code: PosencErrorCode;
  /** The option, tensor or argument at fault. */
  readonly field?: string;
  /** The same facts as the message, for programs: `parameter`, `expected`, `received`, … */
  readonly details: Readonly<Record<string, unknown>>;

  constructor({ code, message, field, details, cause, kind }: PosencErrorParts) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PosencError';
    this.kind = kind ?? kinds.get(code) ?? 'internal';
    this.code = code;
    if (field !== undefined) this.field = field;
    this.details = details ?? {};
  }

  /**
   * As `is`, so that `instanceof` is true of errors of `posenc/inline` too, which brings a class of its
   * own. What derives from this class is asked as any class is.
   */
  static override [Symbol.hasInstance](value: unknown): value is PosencError {
    // biome-ignore lint/complexity/noThisInStatic: a class that derives from this one inherits the method
    if (this === PosencError) return PosencError.is(value);
    // biome-ignore lint/complexity/noThisInStatic: as above
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }

  /** Recognises an error of this library from any realm and from any copy of the package. */
  static is(value: unknown): value is PosencError {
    try {
      return typeof value === 'object' && value !== null && brand in value;
    } catch {
      return false; // a proxy that refuses to answer
    }
  }
}
Object.defineProperty(PosencError.prototype, brand, { value: true });

export interface Fault {
  /** The public call, as the user wrote it: `pe.encoding(id)`, `attention`. */
  where: string;
  field: string;
  /** A noun phrase: "an integer from 1 to 64". */
  expected: string;
  /** What came; left out when there is nothing to show. */
  received?: unknown;
  index?: number;
  /** What to do about it, a sentence. */
  advice?: string;
  /** Further facts for `details`. */
  more?: Readonly<Record<string, unknown>>;
  /** As in PosencErrorParts. */
  kind?: PosencErrorKind;
}

const longestMessage = 200;

/** The error as whoever called `from` for his own work would have told it. */
export function retold(error: unknown, from: string, where: string): unknown {
  if (!PosencError.is(error) || !error.message.startsWith(`${from}:`)) return error;
  const { kind, code, field, details, cause } = error;
  const message = (where + error.message.slice(from.length)).slice(0, longestMessage);
  return new PosencError({
    kind,
    code,
    message,
    details,
    ...(field !== undefined && { field }),
    ...(cause !== undefined && { cause }),
  });
}

/** A long list of names gives way to what came and to the advice; the details keep it whole. */
const cut = (expected: string, room: number): string =>
  expected.length <= room || room < 40 ? expected : `${expected.slice(0, room - 1)}…`;

/** The error for a fault; message rule: where, what was expected, what came, what to do. */
export function fault(code: PosencErrorCode, about: Fault): PosencError {
  const { where, expected, index, advice, more } = about;
  const field = index === undefined ? about.field : `${about.field}[${index}]`;
  const came = 'received' in about ? `, got ${describe(about.received)}` : '';
  const told = advice === undefined ? '' : `. ${advice}`;
  const around = `${where}: ${field} must be ${came}${told}`.length;
  const message = `${where}: ${field} must be ${cut(expected, longestMessage - around)}${came}${told}`;
  // Where exactly is for the message; the field is the argument or option as the user knows it.
  const argument = about.field.replace(/(\.(data|shape|start)\b|\[\d).*$/, '');
  return new PosencError({
    code,
    ...(about.kind === undefined ? {} : { kind: about.kind }),
    field: argument,
    message: message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message,
    details: {
      parameter: argument,
      expected,
      ...('received' in about ? { received: portable(about.received) } : {}),
      ...(index === undefined ? {} : { index }),
      ...more,
    },
  });
}

/** Text of the user's, made safe to print: quoted, without control characters, at most 40 long. */
export function quote(text: string): string {
  const cut = text.length > 40 ? `${text.slice(0, 39)}…` : text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  return `"${cut.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '')}"`;
}

/** The value and its type. Never calls `toString`, `valueOf` or any other code of the value's. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'number':
      return `${Object.is(value, -0) ? '-0' : value} (number)`;
    case 'string':
      return `${quote(value)} (string)`;
    case 'bigint':
      return `${String(value).slice(0, 40)}n (bigint)`;
    case 'boolean':
      return `${value} (boolean)`;
    case 'object':
      return value === null ? 'null' : describeObject(value);
    case 'undefined':
      return 'undefined';
    default:
      return `a ${typeof value}`;
  }
}

function describeObject(value: object): string {
  const shown = ReadableText.of(value);
  if (shown !== undefined) return shown;
  if (isRevoked(value)) return 'a revoked proxy';
  if (!isView(value)) return isArray(value) ? 'an array' : 'an object';
  const name = typedArrayName(value);
  return name === undefined ? 'a DataView' : `${name} of length ${typedArrayLength(value)}`;
}

/** A received value that is shown as given, for instance a shape. */
class ReadableText {
  readonly #shown: string;
  constructor(shown: string) {
    this.#shown = shown;
  }
  /** Not by `instanceof`, which would ask a proxy for its prototype. */
  static of(value: object): string | undefined {
    return #shown in value ? value.#shown : undefined;
  }
}
export const text = (shown: string) => new ReadableText(shown) as unknown;
export const shapeText = (shape: readonly number[]) => `[${shape.join(', ')}]`;

function portable(value: unknown): unknown {
  const kind = typeof value;
  if (kind === 'number' || kind === 'boolean' || kind === 'bigint' || value == null) return value;
  return kind === 'string' ? (value as string).slice(0, 200) : describe(value);
}

/** Of `names`, the one most like `given`, when one is like it at all. */
export function nearest(
  given: string,
  names: readonly string[],
  most = Math.max(2, Math.floor(Math.min(given.length, 40) / 3)),
): string | undefined {
  const short = given.slice(0, 40);
  let best: string | undefined;
  let least = most + 1;
  for (const name of names) {
    // No fewer edits than the difference in length.
    if (Math.abs(name.length - short.length) >= least) continue;
    const edits = distance(short.toLowerCase(), name.toLowerCase());
    if (edits < least) [best, least] = [name, edits];
  }
  return best;
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}
