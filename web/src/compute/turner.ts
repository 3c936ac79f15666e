// SPDX-License-Identifier: Apache-2.0
// One vector at many places in every head, turned by an encoding.
import type { Encoding, Engine } from '../engine.ts';
import type { Placing } from './cells.ts';

/** Fills data with one vector after the other. Doubled: setting thousands of short rows takes longer than turning them. */
function repeat(vector: Float32Array, data: Float32Array): void {
  data.set(vector);
  for (let done = vector.length; done < data.length; done *= 2) data.copyWithin(done, 0, done);
}

type Held = ReturnType<Engine['tensor']>;

/** In numbers: what is made and cleared faster than anybody sees is not kept. */
const worthKeeping = 1 << 18;

/** A large tensor, for the next picture of the same size: a step of a slider would clear 2 MB and write them again. */
class KeptTensor {
  #engine: Engine | undefined;
  #tensor: Held | undefined;

  use<T>(engine: Engine, shape: readonly number[], work: (tensor: Held) => T): T {
    const size = shape.reduce((all, one) => all * one, 1);
    if (size < worthKeeping) {
      const tensor = engine.tensor(shape);
      try {
        return work(tensor);
      } finally {
        tensor.dispose();
      }
    }
    if (this.#engine !== engine || String(this.#tensor?.shape) !== String(shape)) {
      this.#tensor?.dispose();
      this.#tensor = undefined;
      this.#tensor = engine.tensor(shape);
      this.#engine = engine;
    }
    return work(this.#tensor as Held);
  }
}
const sources = new KeptTensor();
const results = new KeptTensor();

export class Turner {
  readonly width: number;

  constructor(
    private readonly engine: Engine,
    private readonly place: Placing,
    readonly headDim: number,
    private readonly growth: number,
    /** Undefined where all heads turn alike. */
    private readonly heads: number | undefined,
    private readonly head: number,
  ) {
    this.width = headDim + growth;
  }

  /** What `read` makes of the turned rows [places, width] in the head drawn. */
  queries<T>(
    encoding: Encoding,
    vector: Float32Array,
    places: Float64Array,
    read: (rows: Float32Array) => T,
  ): T {
    // In the module's memory: 8192 rows of 64 take 2.0 ms there, and 3.4 by way of two new arrays.
    return sources.use(this.engine, this.#shape(places.length, this.headDim), (source) => {
      const turned = (out: Held): T => {
        repeat(vector, source.data);
        encoding.rotate(source, this.place(places), { role: 'query', out });
        return read(this.#ofHead(out.data, places.length));
      };
      return this.growth > 0
        ? results.use(this.engine, this.#shape(places.length, this.width), turned)
        : turned(source);
    });
  }

  /** The same vector as a key at the first place. */
  key(encoding: Encoding, vector: Float32Array): Float32Array {
    const data = new Float32Array((this.heads ?? 1) * this.headDim);
    repeat(vector, data);
    const one = { shape: this.#shape(1, this.headDim), data };
    return this.#ofHead(
      encoding.rotate(one, this.place(Float64Array.of(0)), { role: 'key' }).data,
      1,
    );
  }

  #shape(count: number, channels: number): number[] {
    return this.heads === undefined ? [count, channels] : [this.heads, count, channels];
  }
  #ofHead(data: Float32Array, count: number): Float32Array {
    const size = count * this.width;
    return data.subarray(this.head * size, (this.head + 1) * size);
  }
}
