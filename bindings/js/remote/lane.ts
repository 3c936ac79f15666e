// SPDX-License-Identifier: Apache-2.0
/**
 * One worker and the calls that wait for it. Calls are sent one at a time, so that one that has not
 * begun can be taken back, and outlives a worker that is lost with another call.
 */

import { PosencError } from '../errors.js';
import type { LoadOptions } from '../load.js';
import type { EncodingInfo } from '../manifest.js';
import { disposed } from '../owned.js';
import type { Info } from '../posenc.js';
import { type Call, errorFrom, type Reply, type Start } from './wire.js';

/** A worker, as the entry for its host makes it. */
export interface Port {
  post(message: unknown, transfer: ArrayBuffer[]): void;
  terminate(): void;
  /** Whether something is awaited, so that a program may not end. */
  hold(busy: boolean): void;
}
export interface Listener {
  message(data: unknown): void;
  /** The worker is gone, or never came. */
  lost(reason: string): void;
}
export type Spawn = (listener: Listener) => Port;

/** What a user's object stands for. */
export interface Remote {
  readonly kind: 'encoding' | 'cache' | 'tensor';
  readonly handle: number;
  disposed: boolean;
  /** The worker it lives in and the how-many-eth of that lane; an encoding may live in all. */
  home?: { lane: Lane; generation: number };
  /** What makes an encoding, in each worker that comes to need it. */
  recipe?: readonly unknown[];
  /** Those for some of its heads, by which. */
  cuts?: Map<string, Remote>;
  /** Kept up to date by every reply. */
  lengths?: { length: number; stored: number };
}

export interface Job {
  method: string;
  on: number;
  as: number;
  args: readonly unknown[];
  transfer: ArrayBuffer[];
  /** Objects that have to be in the worker. */
  needs: readonly Remote[];
  signal?: AbortSignal | undefined;
  /** Of so many arguments the data comes back, to be used again. */
  lent?: number;
  /** Called with it when the worker answers, be it with an error; not when it is lost, or the call aborted. */
  returned?(data: Reply['back']): void;
  /** Called when it is sent, with which worker of the lane that is. */
  begun?(generation: number): void;
}

interface Waiting extends Job {
  resolve(value: unknown): void;
  reject(reason: unknown): void;
  /** No longer listens to the signal. */
  stop(): void;
  /** The one that this prepares the worker for. */
  serves?: Waiting;
}

/** What a worker says of its instance. */
export interface Hello extends Pick<Info, 'version' | 'build'> {
  encodings: readonly EncodingInfo[];
}

export class Lane {
  readonly #spawn: Spawn;
  readonly #options: LoadOptions;
  /** Caches to keep up to date, by handle. */
  readonly #remotes: ReadonlyMap<number, Remote>;
  #port: Port | undefined;
  #ready = false;
  /** How many workers there have been. */
  generation = 0;
  readonly #queue: (Waiting | { release: number })[] = [];
  #current: Waiting | undefined;
  #id = 0;
  /** Handles that this generation has. */
  readonly #made = new Set<number>();
  #ended: PosencError | undefined;

  constructor(spawn: Spawn, options: LoadOptions, remotes: ReadonlyMap<number, Remote>) {
    this.#spawn = spawn;
    this.#options = options;
    this.#remotes = remotes;
  }

  get load(): number {
    return this.#queue.length + (this.#current === undefined ? 0 : 1);
  }

  start(): Promise<Hello> {
    return this.run({ method: '', on: 0, as: 0, args: [], transfer: [], needs: [] }) as never;
  }

  run(job: Job): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      const { signal } = job;
      const abort = () => this.#abort(waiting);
      const stop = () => signal?.removeEventListener('abort', abort);
      const waiting: Waiting = { ...job, resolve, reject, stop };
      signal?.addEventListener('abort', abort);
      this.#queue.push(waiting);
      this.#next();
    });
  }

  memory(): Promise<unknown> {
    return this.run({ method: 'memory', on: 0, as: 0, args: [], transfer: [], needs: [] });
  }

  /** Lets go of an object after the calls that wait. */
  release(handle: number): void {
    this.#queue.push({ release: handle });
    this.#next();
  }

  end(): void {
    if (this.#ended !== undefined) return;
    this.#ended = disposed('posenc/worker', 'instance');
    this.#port?.terminate();
    this.#port = undefined;
    const { current, waiting } = { current: this.#current, waiting: this.#queue.splice(0) };
    this.#current = undefined;
    for (const one of [current, ...waiting])
      if (one !== undefined && !('release' in one)) settle(one, this.#ended);
  }

  #next(): void {
    while (this.#current === undefined && this.#ended === undefined) {
      const job = this.#queue[0];
      if (job === undefined) break;
      if ('release' in job) {
        this.#queue.shift();
        if (this.#made.delete(job.release)) this.#forgetIn(job.release);
        continue;
      }
      const gone = job.needs.find(({ home }) => home && home.generation !== this.generation);
      if (gone !== undefined) {
        this.#queue.shift();
        settle(job, lost(`the ${gone.kind} was in a worker that was lost`));
        continue;
      }
      this.#begin(job);
    }
    this.#port?.hold(this.#current !== undefined);
  }

  #forgetIn(handle: number): void {
    try {
      this.#port?.post({ posenc: 'release', handle }, []);
    } catch {
      // Whoever lets go of something expects no error. It stays in the worker, which goes on.
    }
  }

  /** Sends a job, or what must be there before it. */
  #begin(job: Waiting): void {
    if (!this.#connect()) return;
    const missing = job.needs.find(({ recipe, handle }) => recipe && !this.#made.has(handle));
    if (!this.#ready && job.method !== '') {
      this.#send(helper(job, '', 0, []));
    } else if (missing !== undefined) {
      // Where it fails the worker keeps the reason, for the call that needs it.
      this.#made.add(missing.handle);
      this.#send(helper(job, 'encoding', missing.handle, missing.recipe ?? []));
    } else {
      this.#queue.shift();
      if (job.as !== 0) this.#made.add(job.as);
      job.begun?.(this.generation);
      this.#send(job);
    }
  }

  #send(job: Waiting): void {
    const { on, method, args, as, transfer, lent } = job;
    const id = ++this.#id;
    this.#current = job;
    const call: Call = { posenc: 'call', id, on, method, args, as, ...(lent && { lent }) };
    const start: Start = { posenc: 'start', id, options: this.#options };
    try {
      this.#port?.post(method === '' ? start : call, transfer);
    } catch (cause) {
      this.#current = undefined;
      this.#made.delete(as);
      this.#refuse(job, lost(`a message could not be sent: ${cause}`, 'The worker goes on.'));
    }
  }

  #connect(): boolean {
    if (this.#port !== undefined) return true;
    const generation = ++this.generation;
    const current = () => generation === this.generation;
    try {
      this.#port = this.#spawn({
        message: (data) => current() && this.#receive(data),
        lost: (reason) => current() && this.#lose(reason),
      });
      return true;
    } catch (cause) {
      this.#lose(String((cause as Error)?.message ?? cause));
      return false;
    }
  }

  #receive(data: unknown): void {
    const job = this.#current;
    const reply = data as Reply | null;
    // Others may use the same port, such as the tools of a development server.
    if (reply?.posenc !== 'done' || job === undefined || reply.id !== this.#id) return;
    for (const [handle, length, stored] of reply.lengths ?? []) {
      const remote = this.#remotes.get(handle);
      if (remote !== undefined) remote.lengths = { length, stored };
    }
    const { error } = reply;
    // An instance that trapped answers nothing any more.
    const isDead = error?.code === 'TRAP' || error?.code === 'INSTANCE_DEAD';
    this.#current = undefined;
    job.stop();
    job.returned?.(reply.back);
    if (error === undefined) job.resolve(reply.value);
    else job.reject(errorFrom(error));
    if (job.method === '' && error === undefined) this.#ready = true;
    else if (error !== undefined && (job.method === '' || isDead)) {
      this.#forget();
      // What it was done for would only have it done again.
      if (job.serves !== undefined)
        this.#refuse(job, isDead ? errorFrom(error) : lost(error.message));
    }
    this.#next();
  }

  /** Ends a call, or the one that it was done for. */
  #refuse(job: Waiting, reason: unknown): void {
    const asked = job.serves ?? job;
    const at = this.#queue.indexOf(asked);
    if (at >= 0) this.#queue.splice(at, 1);
    settle(asked, reason);
  }

  #lose(reason: string): void {
    const current = this.#current;
    const next = this.#queue.find((one): one is Waiting => !('release' in one));
    const job = current ?? next;
    this.#forget();
    if (job !== undefined) this.#refuse(job, lost(reason));
    this.#next();
  }

  /** The next call gets a new worker. */
  #forget(): void {
    this.#port?.terminate();
    this.#port = undefined;
    this.#current = undefined;
    this.#ready = false;
    this.#made.clear();
    ++this.generation;
  }

  #abort(job: Waiting): void {
    const reason = job.signal?.reason;
    const at = this.#queue.indexOf(job);
    if (at >= 0) this.#queue.splice(at, 1);
    settle(job, reason);
    // A call that runs cannot be stopped but with its worker, and with it what would be lost for ever.
    if (this.#current === job && !this.#keepsThings()) this.#forget();
    this.#next();
  }

  #keepsThings(): boolean {
    for (const handle of this.#made)
      if (this.#remotes.get(handle)?.home?.lane === this) return true;
    return false;
  }
}

/** What must happen in a worker before `job` can. */
function helper(job: Waiting, method: string, as: number, args: readonly unknown[]): Waiting {
  const nothing = () => undefined;
  const calls = { resolve: nothing, reject: nothing, stop: nothing };
  return { method, as, args, on: 0, transfer: [], needs: [], ...calls, serves: job };
}

function settle(job: Waiting, reason: unknown): void {
  job.stop();
  job.reject(reason);
}

function lost(reason: string, then = 'Calls that follow get a new worker.'): PosencError {
  return new PosencError({
    code: 'WORKER_LOST',
    field: 'worker',
    message: `posenc/worker: ${reason.slice(0, 120)}. ${then}`,
    details: { reason },
  });
}
