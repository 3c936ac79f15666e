// SPDX-License-Identifier: Apache-2.0
/** Calls on their way to the workers: which one gets them, and what comes back. */

import { fault, type PosencError, text } from '../errors.js';
import type { LoadOptions } from '../load.js';
import type { EncodingInfo } from '../manifest.js';
import { disposed, foreign } from '../owned.js';
import { wrongType } from '../validate.js';
import { type Call, callOptions } from './call-options.js';
import { cutOptions, type Heads, isFixed } from './cut.js';
import { type Hello, Lane, type Remote, type Spawn } from './lane.js';
import { Loan } from './loan.js';
import { finish } from './results.js';
import { type Split, splitAttention, splitRows } from './split.js';
import type { Used } from './split-options.js';
import { detach, marker, partsOf, type Snapshot, snapshot } from './wire.js';

/** What stands behind an object that the user was given. */
export interface Known {
  pool: Pool;
  remote: Remote;
}
export const known = new WeakMap<object, Known>();

let lastHandle = 0;
const nothing: ReadonlySet<object> = new Set();

export class Pool {
  readonly lanes: readonly Lane[];
  readonly #remotes = new Map<number, Remote>();
  #infos: readonly EncodingInfo[] = [];
  /** Where the last object was put. */
  #last = -1;
  #ended: PosencError | undefined;

  constructor(spawn: Spawn, options: LoadOptions, count: number) {
    const lane = () => new Lane(spawn, options, this.#remotes);
    this.lanes = Array.from({ length: count }, lane);
  }

  async start(): Promise<Hello> {
    try {
      const [hello] = await Promise.all(this.lanes.map((lane) => lane.start()));
      this.#infos = hello.encodings;
      return hello;
    } catch (cause) {
      this.end();
      throw cause;
    }
  }

  get usable(): boolean {
    return this.#ended === undefined;
  }
  end(): void {
    this.#ended ??= disposed('posenc/worker', 'instance');
    for (const lane of this.lanes) lane.end();
  }

  /** A call whose result is sent back. */
  async call(method: string, given: readonly unknown[], on?: Remote): Promise<unknown> {
    const prepared = this.#prepare(method, given, on);
    const free = prepared.lane === undefined && this.lanes.length > 1;
    const split = free ? this.#split(method, prepared.read, on) : undefined;
    return split === undefined
      ? this.#whole(method, detachWhole(prepared), prepared, on)
      : this.#inParts(method, prepared, on, split);
  }

  async #whole(method: string, message: Message, { read, call, lane }: Prepared, on?: Remote) {
    const { needs, outs, objects } = read;
    const { signal } = call;
    const job = { method, on: on?.handle ?? 0, as: 0, ...message, needs, signal };
    const chosen = lane ?? this.#idlest();
    try {
      return finish(method, await chosen.run(job), outs, objects);
    } finally {
      // Disposed of in the meantime, and perhaps made in this worker after that.
      for (const { disposed, recipe, handle } of needs)
        if (disposed && recipe !== undefined) chosen.release(handle);
    }
  }

  async #inParts(method: string, prepared: Prepared, on: Remote | undefined, split: Split) {
    const { read, call } = prepared;
    const { signal } = call;
    const loan = new Loan(split, call.transfer);
    const sent = split.parts.map((part, i) => {
      // Nothing of the user's goes with a part: others need what they share.
      const message = detach(part, false, read.outs, split.own);
      const needs = [...(on === undefined ? [] : [on]), ...this.#encodingsIn(part)];
      const job = { method, on: on?.handle ?? 0, as: 0, ...message, needs, signal, ...loan.of(i) };
      return this.lanes[i].run(job);
    });
    // As the arguments are now, in case that a part is refused; with `transfer` this copies nothing.
    const message = detach(loan.rest(read.args), call.transfer, read.outs, nothing);
    const settled = await Promise.allSettled(sent);
    const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    if (failures.length === 0)
      return split.join(
        method,
        settled.map((one) => (one as PromiseFulfilledResult<unknown>).value),
      );
    signal?.throwIfAborted();
    // What is wrong with a part is told of the whole, as it would be without workers.
    const whole = failures.some((one) => (one as PosencError | null)?.kind === 'argument')
      ? loan.together(message)
      : undefined;
    if (whole !== undefined) return this.#whole(method, whole, prepared, on);
    throw failures[0];
  }

  #split(method: string, { args, outs }: Prepared['read'], on?: Remote): Split | undefined {
    const encodingAt = (mark: unknown) => {
      const remote = this.#remoteAt(mark);
      return remote && this.#used(remote);
    };
    const question = { args, outs, encodingAt };
    if (method === 'attention') return splitAttention(question, this.lanes.length);
    const used = on && this.#used(on);
    const isRows = method === 'rotate' || method === 'embed';
    return used && isRows ? splitRows(question, used, this.lanes.length) : undefined;
  }

  #remoteAt(mark: unknown): Remote | undefined {
    const parts = partsOf(mark);
    return parts?.[0] === 'handle' ? this.#remotes.get(parts[1]) : undefined;
  }

  #encodingsIn(args: readonly unknown[]): Remote[] {
    const marks = (args[3] as { encoding?: readonly unknown[] } | undefined)?.encoding ?? [];
    return marks.flatMap((mark) => this.#remoteAt(mark) ?? []);
  }

  #used(remote: Remote): Used | undefined {
    const [id, options] = remote.recipe ?? [];
    const info = this.#infos.find((one) => one.id === id);
    if (info === undefined) return undefined;
    const forHeads = (heads: Heads) => {
      const name = `${heads.from} ${heads.count} ${heads.of}`;
      remote.cuts ??= new Map();
      const known = remote.cuts.get(name);
      if (known !== undefined) return marker('handle', known.handle);
      const cut = cutOptions(info, (options ?? {}) as object as never, heads);
      if (cut === undefined) return undefined;
      const recipe = detach([id, cut], false, [], nothing).args;
      const handle = ++lastHandle;
      const made: Remote = { kind: 'encoding', handle, disposed: false, recipe };
      remote.cuts.set(name, made);
      this.#remotes.set(handle, made);
      return marker('handle', handle);
    };
    return { info, fixed: isFixed(info, (options ?? {}) as object as never), forHeads };
  }

  /** A call whose result stays in a worker. */
  async make(
    kind: Remote['kind'],
    method: string,
    given: readonly unknown[],
    on?: Remote,
  ): Promise<{ remote: Remote; made: unknown }> {
    const { read, call, lane: found } = this.#prepare(method, given, on);
    const { args, transfer } = detach(read.args, call.transfer, read.outs, nothing);
    const everywhere = kind === 'encoding';
    const remote: Remote = { kind, handle: ++lastHandle, disposed: false };
    // Its arguments are kept, for the workers that need it later.
    if (everywhere) remote.recipe = args;
    const lane = found ?? (everywhere ? this.#idlest() : this.#inTurn());
    this.#remotes.set(remote.handle, remote);
    try {
      const made = await lane.run({
        method,
        on: on?.handle ?? 0,
        as: remote.handle,
        args,
        transfer: everywhere ? [] : transfer,
        needs: read.needs,
        signal: call.signal,
        begun: (generation) => {
          if (!everywhere) remote.home = { lane, generation };
        },
      });
      return { remote, made };
    } catch (cause) {
      this.release(remote);
      throw cause;
    }
  }

  /** After the calls that were made before. */
  release(remote: Remote): void {
    remote.disposed = true;
    this.#remotes.delete(remote.handle);
    for (const cut of remote.cuts?.values() ?? []) this.release(cut);
    for (const lane of remote.home === undefined ? this.lanes : [remote.home.lane])
      lane.release(remote.handle);
  }

  #prepare(method: string, given: readonly unknown[], on: Remote | undefined): Prepared {
    if (this.#ended !== undefined) throw this.#ended;
    const where = `posenc/worker: ${method}`;
    if (on?.disposed === true) throw disposed(where, on.kind);
    const { args, beside, call } = callOptions(where, given, (value) => known.has(value));
    call.signal?.throwIfAborted();
    const needs: Remote[] = on === undefined ? [] : [on];
    const objects = new Map<number, object>();
    const use = (object: object) => {
      const remote = this.#remoteOf(where, object);
      if (remote === undefined) return undefined;
      needs.push(remote);
      objects.set(remote.handle, object);
      return remote.handle;
    };
    const read = { ...snapshot(where, args, use), needs, objects };
    const near = typeof beside === 'object' && beside !== null ? known.get(beside) : undefined;
    if (beside !== undefined && near?.remote.home === undefined)
      throw wrongType(where, 'beside', 'a cache or tensor of posenc/worker', beside);
    const homes = [...needs, ...(near === undefined ? [] : [near.remote])];
    return { read, call, lane: laneOf(where, homes) };
  }

  #remoteOf(where: string, object: object): Remote | undefined {
    const found = known.get(object);
    if (found === undefined) return undefined;
    const { pool, remote } = found;
    if (remote.disposed) throw disposed(where, remote.kind);
    if (pool !== this) throw foreign(where, remote.kind, remote.kind);
    return remote;
  }

  #idlest(): Lane {
    return this.lanes.reduce((best, lane) => (lane.load < best.load ? lane : best));
  }
  #inTurn(): Lane {
    this.#last = (this.#last + 1) % this.lanes.length;
    return this.lanes[this.#last];
  }
}

/** Where all of these live; undefined where they live nowhere in particular. */
function laneOf(where: string, needs: readonly Remote[]): Lane | undefined {
  let lane: Lane | undefined;
  for (const { kind, home } of needs) {
    if (home === undefined) continue;
    if (lane !== undefined && lane !== home.lane)
      throw fault('FOREIGN_HANDLE', {
        where,
        field: kind,
        expected: 'in the same worker as the others of the call',
        received: text('one in another worker'),
        advice: 'Make it with { beside }.',
      });
    lane = home.lane;
  }
  return lane;
}

type Message = ReturnType<typeof detach>;

const detachWhole = ({ read, call }: Prepared): Message =>
  detach(read.args, call.transfer, read.outs, nothing);

interface Prepared {
  read: Snapshot & { needs: readonly Remote[]; objects: ReadonlyMap<number, object> };
  call: Call;
  /** Where it has to run, if that is settled. */
  lane: Lane | undefined;
}
