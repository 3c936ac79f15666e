// SPDX-License-Identifier: Apache-2.0
// Where the package is made to run. Ids come from the manifest at run time, so the page uses the methods of every
// site through one plain interface instead of the per-encoding types.
import { encodings, load, PosencError } from 'posenc';
import type { EncodingInfo } from './model/manifest.ts';
import type { Positions } from './model/places.ts';
import type { Options, Table } from './model/settings.ts';

export interface Plan {
  /** Radians per position, one for each rotated pair. */
  readonly inverseFrequencies: Float64Array;
  readonly attentionFactor: number;
  readonly logitScale: number;
  readonly rotaryDim: number;
  readonly layout: string;
  /** How many channels wider rows become. */
  readonly growth: number;
  readonly lengthPolicy: string;
}
export interface Encoding {
  table(positions: Positions): Table;
  embed(x: Table, positions?: Positions): Table;
  rotate(x: Table, positions?: Positions, options?: { role?: 'query' | 'key'; out?: Table }): Table;
  plan(length?: number): Plan;
  bias(queryPositions: Positions, keyPositions: Positions): Table;
  distances(queryPositions: Positions, keyPositions: Positions): { readonly data: Float64Array };
  dispose?(): void;
}
export interface AttentionOptions {
  encoding?: Encoding;
  causal?: boolean;
  window?: { readonly left?: number; readonly first?: number };
  prefix?: number;
  softcap?: number;
  sinks?: readonly number[];
  weights?: boolean;
  scale?: number;
  queryPositions?: Positions;
  keyPositions?: Positions;
}
export interface Engine {
  readonly info: { readonly version: string; readonly build: string };
  encoding(id: string, options: Options): Encoding;
  /** In the module's memory, where calls read and write it in place. `data` is to be asked for anew after each call. */
  tensor(shape: readonly number[]): Table & { dispose(): void };
  attention(
    q: Table,
    k: Table,
    v: Table,
    options?: AttentionOptions,
  ): { output: Table; weights?: Table };
}

export const manifest = encodings as unknown as readonly EncodingInfo[];

export const start = async (): Promise<Engine> => (await load()) as unknown as Engine;

export interface Problem {
  readonly message: string;
  readonly field?: string;
}
export function problemOf(error: unknown): Problem {
  if (error instanceof PosencError)
    return { message: error.message, ...(error.field === undefined ? {} : { field: error.field }) };
  return { message: error instanceof Error ? error.message : String(error) };
}
/** Whether it says that a learned table has no row for a position. */
export const isPastTable = (error: unknown): boolean =>
  error instanceof PosencError && error.code === 'POSITION_OUT_OF_TABLE';

/** Makes an encoding, hands it to `use` and frees it, whatever happens. */
export function withEncoding<T>(
  engine: Engine,
  id: string,
  options: Options,
  use: (encoding: Encoding) => T,
): T {
  const encoding = engine.encoding(id, options);
  try {
    return use(encoding);
  } finally {
    encoding.dispose?.();
  }
}
