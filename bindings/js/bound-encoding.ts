// SPDX-License-Identifier: Apache-2.0
/** What encodings do outside attention: one class for all, whose methods ask for their site. */

import { Arena } from './arena.js';
import type {
  EmbedMethods,
  EmbedOptions,
  RemapMethods,
  ResultOptions,
  RotateMethods,
  RotateOptions,
  RotationPlan,
  ScoreMethods,
} from './encoding.js';
import { gradientTargets } from './gradients.js';
import { type Held, held, requireLive } from './handles.js';
import { type Crossing, inPlace, rowPositions } from './in-place.js';
import { typedArraySet } from './intrinsics.js';
import type { EncodingInfo, Site } from './manifest.js';
import { giveBack, makeDisposable } from './owned.js';
import { capturePositions } from './positions.js';
import { fold, requireSize, result, resultOptions, rows, unsupported } from './rows.js';
import { capture } from './tensor.js';
import type { Positions, Tensor, TensorInput } from './types.js';
import {
  boolean,
  choice,
  integer,
  roomFor as makeRoom,
  maxElements,
  optionValues,
  or,
} from './validate.js';

/** In the order of the core's own list; an option that pins the length makes any encoding static. */
const lengthPolicies = ['static', 'dynamicPerCall', 'switchAt'] as const;

/** Made apart from the owner: a function made in its constructor would keep it alive. */
const destroyer =
  ({ engine, handle }: Held) =>
  () => {
    if (engine.usable) engine.call((raw) => raw.destroyEncoding(handle));
  };

export class BoundEncoding implements EmbedMethods, RotateMethods, ScoreMethods, RemapMethods {
  readonly #held: Held;
  /** By how much rows grow, once that was asked. */
  #growth: number | undefined;
  readonly dispose: () => void;

  constructor(it: Held) {
    this.#held = it;
    held.set(this, it);
    const free = giveBack(this, destroyer(it));
    this.dispose = () => {
      held.set(this, 'disposed');
      it.state.disposed = true;
      free();
    };
  }

  get id(): string {
    return this.#held.info.id;
  }
  get sites(): readonly Site[] {
    return this.#held.info.sites;
  }

  table(positions: Positions, options?: ResultOptions): Tensor {
    const { where, engine, handle, info } = this.#at('table', 'embed');
    const width = engine.call((raw) => raw.embedWidth(handle));
    const at = capturePositions(where, 'positions', positions, rulesOf(info));
    const target = result(engine, where, options, [at.rows, width]);
    const arena = new Arena(engine);
    arena.requires(() => requireLive(where, this.#held));
    const data = arena.output(target);
    const places = arena.doubles(at.values);
    return arena.run(where, () => {
      engine.check(where, (raw) =>
        raw.embed(handle, data.address, 0, 1, 1, at.rows, width, places.address, 1, info.axes),
      );
      return target.finish(engine, data.address);
    });
  }

  embed(x: TensorInput, positions?: Positions, options?: EmbedOptions): Tensor {
    const { where, engine, handle, info } = this.#at('embed', 'embed');
    const width = engine.call((raw) => raw.embedWidth(handle));
    const [out] = optionValues(where, options, resultOptions);
    const source = rows(where, capture(engine, where, 'x', x), width);
    const at = rowPositions(where, info, positions, source.shape);
    const { batch, heads, n, sets } = fold(source.shape, at);
    return inPlace(this.#held, where, source, out, at, (raw, data, from, places) =>
      raw.embed(handle, data, from, batch, heads, n, width, places, sets, info.axes),
    );
  }

  embedBackward(gradOutput: TensorInput, positions?: Positions): Readonly<Record<string, Tensor>> {
    const { where, engine, handle, info } = this.#at('embedBackward', 'embed');
    const width = engine.call((raw) => raw.embedWidth(handle));
    const source = rows(where, capture(engine, where, 'gradOutput', gradOutput), width);
    const at = rowPositions(where, info, positions, source.shape);
    const { batch, heads, n, sets } = fold(source.shape, at);
    const tables = gradientTargets(where, this.#held, true);
    const arena = new Arena(engine);
    arena.requires(() => requireLive(where, this.#held));
    const [gradient, places] = [arena.input(source), arena.doubles(at.values)];
    const slots = tables.map(({ target }) => target && arena.zeros(target));
    const addresses = arena.bytes(slots.length * 4, (start) => {
      for (const [i, slot] of slots.entries()) engine.u32[start / 4 + i] = slot?.address ?? 0;
    });
    return arena.run(where, () => {
      engine.check(where, (raw) =>
        raw.embedBackward(
          handle,
          gradient.address,
          batch,
          heads,
          n,
          width,
          places.address,
          sets,
          info.axes,
          addresses.address,
        ),
      );
      const finished = tables.flatMap(({ name, target }, i) =>
        target === undefined
          ? []
          : [[name, target.finish(engine, slots[i]?.address ?? 0)] as const],
      );
      return Object.fromEntries(finished);
    });
  }

  rotate(x: TensorInput, positions?: Positions, options?: RotateOptions): Tensor {
    return this.#turn('rotate', x, positions, options);
  }

  rotateBackward(x: TensorInput, positions?: Positions, options?: RotateOptions): Tensor {
    return this.#turn('rotateBackward', x, positions, options);
  }

  /** Backwards is the inverse rotation and not the inverse amplitude, which is the core's inverse. */
  #turn(
    method: 'rotate' | 'rotateBackward',
    x: TensorInput,
    positions?: Positions,
    options?: RotateOptions,
  ): Tensor {
    const { where, engine, handle, info } = this.#at(method, 'rotate');
    const backwards = method === 'rotateBackward';
    // Asked first: what is read below may dispose of the encoding.
    this.#growth ??= engine.call((raw) => raw.rotationGrowth(handle));
    const growth = this.#growth;
    if (backwards && growth > 0)
      throw unsupported(where, method, 'where rows grow, their gradient depends on x');
    const names = backwards ? turnBackOptions : rotateOptions;
    const [whose, tokens, out, back] = optionValues(where, options, names);
    const key = choice(where, 'role', or(whose, 'query'), roles) === 'key';
    const length = integer(where, 'length', or(tokens, 0), lengths);
    const inverse = backwards || boolean(where, 'inverse', or(back, false));
    const source = rows(where, capture(engine, where, 'x', x));
    const at = rowPositions(where, info, positions, source.shape);
    const { batch, heads, n, width, sets } = fold(source.shape, at);
    const role = Number(key);
    const crossing: Crossing = (raw, data, from, places) =>
      raw.rotate(
        handle,
        data,
        from,
        batch,
        heads,
        n,
        width,
        places,
        sets,
        info.axes,
        role,
        length,
        inverse,
      );
    return inPlace(this.#held, where, source, out, at, crossing, growth);
  }

  plan(length = 0): RotationPlan {
    const { where, engine, handle } = this.#at('plan', 'rotate');
    const tokens = integer(where, 'length', length, lengths);
    const pairs = engine.call((raw) => raw.planPairs(handle));
    const arena = new Arena(engine);
    const out = arena.bytes((5 + pairs) * 8);
    return arena.run(where, () => {
      engine.check(where, (raw) => raw.plan(handle, tokens, out.address));
      const numbers = new Float64Array(engine.f64.buffer, out.address, 5 + pairs).slice();
      return {
        inverseFrequencies: numbers.slice(5),
        attentionFactor: numbers[0],
        logitScale: numbers[1],
        rotaryDim: numbers[2],
        layout: numbers[3] === 1 ? 'interleaved' : 'half',
        growth: engine.call((raw) => raw.rotationGrowth(handle)),
        lengthPolicy: lengthPolicies[numbers[4]],
      };
    });
  }

  bias(queryPositions: Positions, keyPositions: Positions, options?: ResultOptions): Tensor {
    const { where, engine, handle, info } = this.#at('bias', 'score');
    if (!info.contentFree) throw unsupported(where, 'bias', 'its scores depend on q and k');
    const rules = rulesOf(info);
    const heads = engine.call((raw) => raw.biasHeads(handle));
    const q = capturePositions(where, 'queryPositions', queryPositions, rules);
    const k = capturePositions(where, 'keyPositions', keyPositions, rules);
    const target = result(engine, where, options, [heads, q.rows, k.rows]);
    const arena = new Arena(engine);
    arena.requires(() => requireLive(where, this.#held));
    const [qs, ks] = [arena.doubles(q.values), arena.doubles(k.values)];
    const out = arena.output(target);
    return arena.run(where, () => {
      engine.check(where, (raw) =>
        raw.bias(handle, qs.address, q.rows, ks.address, k.rows, info.axes, out.address),
      );
      return target.finish(engine, out.address);
    });
  }

  distances(queryPositions: Positions, keyPositions: Positions) {
    const { where, engine, handle, info } = this.#at('distances', 'rotate');
    if (!info.remapsDistance)
      throw unsupported(where, 'distances', 'distances count as what they are');
    const q = capturePositions(where, 'queryPositions', queryPositions, rulesOf(info));
    const k = capturePositions(where, 'keyPositions', keyPositions, rulesOf(info));
    const shape = [q.rows, k.rows] as const;
    requireSize(where, shape, maxElements / 2);
    const data = makeRoom(where, 'the result', () => new Float64Array(q.rows * k.rows));
    const arena = new Arena(engine);
    arena.requires(() => requireLive(where, this.#held));
    const [qs, ks] = [arena.doubles(q.values), arena.doubles(k.values)];
    const out = arena.bytes(data.byteLength);
    return arena.run(where, () => {
      engine.check(where, (raw) =>
        raw.distances(handle, qs.address, q.rows, ks.address, k.rows, out.address),
      );
      typedArraySet(data, new Float64Array(engine.f64.buffer, out.address, data.length));
      return { data, shape };
    });
  }

  toJSON(): object {
    const { info, options } = this.#held;
    const given = [...options.values].map(([name, value]) => [
      name,
      typeof value === 'object' ? [...value] : value,
    ]);
    const tables = [...options.tables].map(([name, { shape }]) => [name, { shape }]);
    return { id: info.id, options: Object.fromEntries([...given, ...tables]) };
  }

  #at(method: string, site: Site) {
    const { engine, handle, info } = this.#held;
    const where = `${info.id}.${method}`;
    requireLive(where, this.#held);
    engine.requireUsable();
    if (!info.sites.includes(site))
      throw unsupported(where, method, `it acts at: ${info.sites.join(', ') || 'no site'}`);
    return { where, engine, handle, info };
  }
}
makeDisposable(BoundEncoding.prototype as unknown as { dispose(): void });

const turnBackOptions = ['role', 'length', 'out'];
const rotateOptions = [...turnBackOptions, 'inverse'];
const roles = ['query', 'key'] as const;
const lengths = { min: 0, max: 2 ** 53 };

function rulesOf(info: EncodingInfo) {
  return { axes: info.axes, integer: info.positions !== 'real' };
}
