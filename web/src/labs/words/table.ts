// SPDX-License-Identifier: Apache-2.0
// A visitor's embedding table, in the place of hashed vectors: which one, and the rows of it that were needed so far.
import { fitsLayer, vectorsOf } from '../../compute/given.ts';
import type { Question, Vectors } from '../../compute/words.ts';
import { tableCode } from './table-code.ts';
import { type Entry, likeliest, rowsIn, tablesOf } from './table-file.ts';
import type { Cut } from './text.ts';

interface InUse {
  readonly file: File;
  readonly tables: readonly Entry[];
  readonly entry: Entry;
  /** Rows read so far, or why they cannot be. */
  readonly rows: Map<number, Float32Array | Error>;
}
/** Numbers kept of one table: 16 MB. */
const mostKept = 2 ** 22;

async function read({ file, entry, rows }: InUse, ids: readonly number[]): Promise<void> {
  const missing = [...new Set(ids)].filter((id) => !rows.has(id) && id < entry.rows);
  if (missing.length === 0) return;
  if ((rows.size + missing.length) * entry.width > mostKept) rows.clear();
  const found = await rowsIn(file, entry, missing).catch((error: unknown) => {
    const reason = error instanceof Error ? error : new Error(String(error));
    return new Map(missing.map((id) => [id, reason]));
  });
  for (const [id, row] of found) rows.set(id, row);
}

const rowOf = ({ rows }: InUse, id: number): Float32Array => {
  const row = rows.get(id);
  if (row instanceof Float32Array) return row;
  throw row ?? new RangeError(`row ${id} has not been read`);
};

/** Why a token has no row. */
function faultOf({ entry, rows }: InUse, { words, ids = [] }: Cut): string | undefined {
  const { name } = entry;
  for (const [place, id] of ids.entries()) {
    const token = `token “${words[place]?.slice(0, 24)}”`;
    if (id >= entry.rows)
      return `${name} has ${entry.rows} rows, and ${token} is number ${id}, counted from 0`;
    const row = rows.get(id);
    if (row instanceof Error) return `${row.message} (${token})`;
  }
  return undefined;
}

export class OwnTable {
  #used: InUse | undefined;
  #problem: string | undefined;
  #last: { used: InUse; width: number; seed: number; vectors: Vectors } | undefined;
  #serial = 0;
  #reading = false;

  constructor(private readonly changed: () => void) {}

  get used(): Pick<InUse, 'file' | 'tables' | 'entry'> | undefined {
    return this.#used;
  }
  /** What is wrong with the file or tensor given last, which is not used. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The question about rows of the table; undefined while they are read. Throws where a token has none. */
  asked(question: Question, cut: Cut): Question | undefined {
    const used = this.#used;
    if (!used || !cut.ids) return question;
    const fault = faultOf(used, cut);
    if (fault) throw new RangeError(`${fault}; the maps are those of before`);
    if (cut.ids.every((id) => used.rows.has(id))) {
      const { width } = used.entry;
      const layer = fitsLayer(width) ? { ...question.layer, width } : question.layer;
      return { ...question, layer, vectors: this.#vectors(used, layer) };
    }
    // One reading at a time; the newest tokens are looked at when it is done.
    if (!this.#reading) {
      this.#reading = true;
      void read(used, cut.ids).then(() => {
        this.#reading = false;
        this.changed();
      });
    }
    return undefined;
  }

  /** The same object for the same vectors, by which the layer knows that it has them already. */
  #vectors(used: InUse, layer: Question['layer']): Vectors {
    const { file, entry } = used;
    const { width, seed } = layer;
    const last = this.#last;
    if (last?.used === used && last.width === width && last.seed === seed) return last.vectors;
    const vectors = {
      name: `${entry.name} of ${file.name}`,
      row: vectorsOf(entry.width, (id) => rowOf(used, id), layer),
      program: tableCode(file.name, entry, layer),
    };
    this.#last = { used, width, seed, vectors };
    return vectors;
  }

  /** Another file, if it has a table with a row for every token of now. */
  async take(file: File, now: Cut): Promise<void> {
    await this.#attempt(
      `${file.name} is not used: `,
      async () => {
        const tables = await tablesOf(file);
        return { file, tables, entry: likeliest(tables), rows: new Map() };
      },
      now,
    );
  }
  /** Another tensor of the same file. */
  async choose(name: string, now: Cut): Promise<void> {
    const used = this.#used;
    const entry = used?.tables.find((one) => one.name === name);
    if (used && entry)
      await this.#attempt('', async () => ({ ...used, entry, rows: new Map() }), now);
  }
  drop(): void {
    this.#serial += 1;
    this.#used = undefined;
    this.#last = undefined;
    this.#problem = undefined;
    this.changed();
  }

  async #attempt(prefix: string, make: () => Promise<InUse>, now: Cut): Promise<void> {
    this.#serial += 1;
    const serial = this.#serial;
    let next: InUse | undefined;
    let problem: string | undefined;
    try {
      next = await make();
      await read(next, now.ids ?? []);
      problem = faultOf(next, now);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    // A newer choice, or none, has come meanwhile.
    if (serial !== this.#serial) return;
    this.#problem = problem === undefined ? undefined : `${prefix}${problem}.`;
    if (problem === undefined) this.#used = next;
    this.changed();
  }
}
