// SPDX-License-Identifier: Apache-2.0
/** The book of one reading: every number with its origin, and what there is to warn about. */

import { describe } from '../errors.js';
import type { ConfigWarning, Parameter, Provenance, Severity } from './types.js';

export interface Reading {
  /** The public call, for messages. */
  where: string;
  lenient: boolean;
  /** GGUF counts come as BigInt from some readers. */
  bigints: boolean;
}

export class Ledger {
  readonly where: string;
  readonly lenient: boolean;
  readonly bigints: boolean;
  readonly warnings: ConfigWarning[] = [];
  readonly #warned = new Set<string>();
  /** What holds for all layers. */
  readonly shared: Parameter[] = [];
  /** Where entries go now: shared, or those of one kind of layer. */
  #open = this.shared;

  constructor({ where, lenient, bigints }: Reading) {
    this.where = where;
    this.lenient = lenient;
    this.bigints = bigints;
  }

  /** Runs `read` with entries going to a list of their own. */
  apart<T>(read: () => T): [T, Parameter[]] {
    const before = this.#open;
    const entries: Parameter[] = [];
    this.#open = entries;
    try {
      return [read(), entries];
    } finally {
      this.#open = before;
    }
  }

  note<T>(name: string, value: T, provenance: Provenance, path?: string): T {
    const entry = {
      name,
      value: portable(value),
      provenance,
      ...(path === undefined ? {} : { path }),
    };
    const at = this.#open.findIndex((one) => one.name === name);
    if (at < 0) this.#open.push(entry);
    else this.#open[at] = entry;
    return value;
  }

  warn(
    code: string,
    path: string,
    message: string,
    seen: unknown,
    used: unknown,
    severity: Severity = 'warning',
  ): void {
    // Layers of different kinds are read from the same keys; once is enough.
    const key = `${code} ${path}`;
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    this.warnings.push({
      code,
      path,
      message,
      seen: portable(seen),
      used: portable(used),
      severity,
    });
  }
}

/** What a user's value is in a report: numbers and short texts as they are, the rest described. */
function portable(value: unknown): unknown {
  if (Array.isArray(value) && value.length <= 4096 && value.every((x) => typeof x === 'number'))
    return Object.freeze([...value]);
  switch (typeof value) {
    case 'number':
    case 'boolean':
    case 'undefined':
      return value;
    case 'string':
      return value.slice(0, 200);
    case 'bigint':
      return String(value).slice(0, 40);
    default:
      return value === null ? null : describe(value);
  }
}
