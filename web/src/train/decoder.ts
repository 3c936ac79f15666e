// SPDX-License-Identifier: Apache-2.0
// A decoder small enough to train while one watches: the encoding and attention are the package's, forwards and backwards.
import { actsAt, actsInAttention, type EncodingInfo } from '../model/manifest.ts';
import { hash, normal } from '../model/random.ts';
import { fitted, type Options, optionsOf, type Table } from '../model/settings.ts';
import {
  Adam,
  added,
  crossEntropy,
  layerNorm,
  layerNormBackward,
  linear,
  linearBackward,
  type Rows,
  rectified,
  rectifiedBackward,
} from './operators.ts';
import type { AttentionOptions, Encoding, Package } from './package.ts';
import { cut, type Layer, type Parts, type Shape, wider } from './parts.ts';
import type { Batch } from './tasks.ts';

export type { Package } from './package.ts';

interface Trace {
  readonly x: Rows;
  readonly normed: Rows;
  readonly q: Table;
  readonly k: Table;
  readonly v: Table;
  readonly output: Table;
  readonly logSumExp: Table;
  readonly mixed: Rows;
  readonly middle: Rows;
  readonly middleNormed: Rows;
  readonly raised: Rows;
  readonly active: Rows;
}

export class Decoder {
  readonly values: Rows;
  readonly gradients: Rows;
  readonly #parts: Parts;
  readonly #slopes: Parts;
  readonly #adam: Adam;
  readonly #options: Options;
  #encoding: Encoding | undefined;

  constructor(
    private readonly pe: Package,
    private readonly info: EncodingInfo,
    private readonly shape: Shape,
    seed: number,
  ) {
    const { width, heads } = shape;
    this.#options = optionsOf(info, fitted(info, { width, heads, headDim: width / heads }));
    const learned = info.gradients
      .filter((name) => this.#table(name) !== undefined)
      .map((name) => [name, (this.#table(name) as Table).data.length] as const);
    const { size } = cut(shape, learned);
    this.values = new Float64Array(size);
    this.gradients = new Float64Array(size);
    this.#parts = cut(shape, learned, this.values).parts;
    this.#slopes = cut(shape, learned, this.gradients).parts;
    this.#adam = new Adam(size);
    this.#begin(seed);
    this.refresh();
  }
  get count(): number {
    return this.values.length;
  }
  get parts(): Parts {
    return this.#parts;
  }

  #table(name: string): Table | undefined {
    const option = this.#options[name];
    return typeof option === 'object' && 'data' in option ? (option as Table) : undefined;
  }

  #begin(seed: number): void {
    const fill = (name: string, target: Rows, deviation: number): void =>
      target.set(normal(hash(`decoder:${seed}:${name}`), target.length, deviation));
    const { embedding, layers, last, head, tables } = this.#parts;
    fill('embedding', embedding, 0.5);
    const spread = (inner: number): number => 1 / Math.sqrt(inner);
    const { width } = this.shape;
    layers.forEach((layer, i) => {
      layer.before.gain.fill(1);
      layer.between.gain.fill(1);
      fill(`qkv ${i}`, layer.qkv.weight, spread(width));
      fill(`out ${i}`, layer.out.weight, spread(width) / 2);
      fill(`up ${i}`, layer.up.weight, spread(width));
      fill(`down ${i}`, layer.down.weight, spread(wider * width) / 2);
    });
    last.gain.fill(1);
    fill('head', head.weight, spread(width));
    for (const [name, target] of tables) target.set((this.#table(name) as Table).data);
  }

  /** The encoding with its tables as they are now. */
  refresh(): void {
    if (this.#encoding && this.#parts.tables.size === 0) return;
    this.#encoding?.dispose();
    const options: Options = { ...this.#options };
    for (const [name, data] of this.#parts.tables)
      options[name] = {
        shape: (this.#table(name) as Table).shape,
        data: Float32Array.from(data),
      };
    this.#encoding = this.pe.encoding(this.info.id, options);
  }
  dispose(): void {
    this.#encoding?.dispose();
    this.#encoding = undefined;
  }

  #attentionOptions(): AttentionOptions {
    const inside = actsInAttention(this.info) && this.#encoding;
    return { layout: 'bnhd', causal: true, ...(inside ? { encoding: inside } : {}) };
  }

  #start({ sequences, length, tokens, beside }: Batch): Rows {
    const { width } = this.shape;
    const { embedding } = this.#parts;
    const x = new Float64Array(tokens.length * width);
    for (const list of [tokens, beside])
      list.forEach((token, row) => {
        for (let i = 0; token >= 0 && i < width; i += 1)
          x[row * width + i] =
            (x[row * width + i] as number) + (embedding[token * width + i] as number);
      });
    if (!actsAt(this.info, 'embed') || !this.#encoding) return x;
    const table = { shape: [sequences, length, width], data: Float32Array.from(x) };
    return Float64Array.from(this.#encoding.embed(table).data);
  }

  #heads({ sequences, length }: Batch, data: Float32Array): Table {
    const { width, heads } = this.shape;
    return { shape: [sequences, length, heads, width / heads], data };
  }

  /** Queries, keys and values of a layer, and the rows they were computed from. */
  #qkv(layer: Layer, x: Rows, batch: Batch): Pick<Trace, 'normed' | 'q' | 'k' | 'v'> {
    const { width } = this.shape;
    const rows = batch.tokens.length;
    const normed = layerNorm(x, layer.before);
    const qkv = linear(normed, layer.qkv, width);
    const [q, k, v] = [0, 1, 2].map((which) => {
      const data = new Float32Array(rows * width);
      for (let row = 0; row < rows; row += 1)
        data.set(
          qkv.subarray((3 * row + which) * width, (3 * row + which + 1) * width),
          row * width,
        );
      return this.#heads(batch, data);
    }) as [Table, Table, Table];
    return { normed, q, k, v };
  }
  #layer(layer: Layer, x: Rows, batch: Batch): { trace: Trace; y: Rows } {
    const { width } = this.shape;
    const { normed, q, k, v } = this.#qkv(layer, x, batch);
    const { output, logSumExp } = this.pe.attention(q, k, v, {
      ...this.#attentionOptions(),
      logSumExp: true,
    });
    const mixed = Float64Array.from(output.data);
    const middle = added(linear(mixed, layer.out, width), x);
    const middleNormed = layerNorm(middle, layer.between);
    const raised = linear(middleNormed, layer.up, width);
    const active = rectified(raised);
    const y = added(linear(active, layer.down, wider * width), middle);
    const trace = { x, normed, q, k, v, output, logSumExp: logSumExp as Table };
    return { trace: { ...trace, mixed, middle, middleNormed, raised, active }, y };
  }

  #layerBackward(layer: Layer, slope: Layer, trace: Trace, dy: Rows, batch: Batch): Rows {
    const { width } = this.shape;
    const dActive = linearBackward(trace.active, dy, layer.down, slope.down, wider * width);
    const dRaised = rectifiedBackward(trace.raised, dActive);
    const dNormed = linearBackward(trace.middleNormed, dRaised, layer.up, slope.up, width);
    const dMiddle = added(
      layerNormBackward(trace.middle, dNormed, layer.between, slope.between),
      dy,
    );
    const dMixed = linearBackward(trace.mixed, dMiddle, layer.out, slope.out, width);
    const { q, k, v, output, logSumExp } = trace;
    const back = this.pe.attentionBackward(
      q,
      k,
      v,
      output,
      logSumExp,
      this.#heads(batch, Float32Array.from(dMixed)),
      this.#attentionOptions(),
    );
    this.#learn(back.encodings[0]);
    const rows = batch.tokens.length;
    const dqkv = new Float64Array(3 * rows * width);
    [back.dq, back.dk, back.dv].forEach(({ data }, which) => {
      for (let row = 0; row < rows; row += 1)
        dqkv.set(data.subarray(row * width, (row + 1) * width), (3 * row + which) * width);
    });
    const dFirst = linearBackward(trace.normed, dqkv, layer.qkv, slope.qkv, width);
    return added(layerNormBackward(trace.x, dFirst, layer.before, slope.before), dMiddle);
  }
  /** Gradients of the encoding's own tables. */
  #learn(found: Readonly<Record<string, Table>> | undefined): void {
    for (const [name, slope] of this.#slopes.tables) {
      const data = found?.[name]?.data;
      if (data)
        for (let i = 0; i < data.length; i += 1)
          slope[i] = (slope[i] as number) + (data[i] as number);
    }
  }

  #judge(x: Rows, { rows, targets }: Batch) {
    const { width } = this.shape;
    const asked = new Float64Array(rows.length * width);
    rows.forEach((row, i) => {
      asked.set(x.subarray(row * width, (row + 1) * width), i * width);
    });
    const normed = layerNorm(asked, this.#parts.last);
    const judged = crossEntropy(linear(normed, this.#parts.head, width), targets);
    return { asked, normed, ...judged };
  }

  /** Loss, and how many of the tokens asked for are right. */
  examine(batch: Batch): { loss: number; right: number } {
    let x = this.#start(batch);
    for (const layer of this.#parts.layers) x = this.#layer(layer, x, batch).y;
    const { loss, right } = this.#judge(x, batch);
    return { loss, right };
  }

  /** Who looks at whom in the last layer: [sequences, heads, places, places]. */
  look(batch: Batch): Float32Array {
    const { layers } = this.#parts;
    let x = this.#start(batch);
    for (const layer of layers.slice(0, -1)) x = this.#layer(layer, x, batch).y;
    const { q, k, v } = this.#qkv(layers.at(-1) as Layer, x, batch);
    const { weights } = this.pe.attention(q, k, v, { ...this.#attentionOptions(), weights: true });
    return Float32Array.from(weights?.data ?? []);
  }

  /** Loss and the gradients of all parameters. */
  slopes(batch: Batch): number {
    const { width } = this.shape;
    const { layers, last, head } = this.#parts;
    this.gradients.fill(0);
    const first = this.#start(batch);
    const traces: Trace[] = [];
    let x = first;
    for (const layer of layers) {
      const { trace, y } = this.#layer(layer, x, batch);
      traces.push(trace);
      x = y;
    }
    const { asked, normed, loss, gradient } = this.#judge(x, batch);
    const dNormed = linearBackward(normed, gradient, head, this.#slopes.head, width);
    const dAsked = layerNormBackward(asked, dNormed, last, this.#slopes.last);
    let dx: Rows = new Float64Array(x.length);
    batch.rows.forEach((row, i) => {
      dx.set(dAsked.subarray(i * width, (i + 1) * width), row * width);
    });
    for (let i = layers.length - 1; i >= 0; i -= 1)
      dx = this.#layerBackward(
        layers[i] as Layer,
        this.#slopes.layers[i] as Layer,
        traces[i] as Trace,
        dx,
        batch,
      );
    this.#startBackward(dx, batch);
    return loss;
  }
  #startBackward(dx: Rows, { sequences, length, tokens, beside }: Batch): void {
    const { width } = this.shape;
    if (actsAt(this.info, 'embed') && this.#encoding && this.#slopes.tables.size)
      this.#learn(
        this.#encoding.embedBackward({
          shape: [sequences, length, width],
          data: Float32Array.from(dx),
        }),
      );
    const slope = this.#slopes.embedding;
    for (const list of [tokens, beside])
      list.forEach((token, row) => {
        for (let i = 0; token >= 0 && i < width; i += 1)
          slope[token * width + i] =
            (slope[token * width + i] as number) + (dx[row * width + i] as number);
      });
  }

  learn(batch: Batch, rate: number): number {
    const loss = this.slopes(batch);
    this.#adam.step(this.values, this.gradients, rate);
    this.refresh();
    return loss;
  }
}
