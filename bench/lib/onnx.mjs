// SPDX-License-Identifier: Apache-2.0
// Models of one operator for ONNX Runtime, made in memory: the few messages of the ONNX format that this takes.

const types = new Map([
  [Float32Array, 1],
  [Int32Array, 6],
  [BigInt64Array, 7],
]);
const elementType = (data) => types.get(data.constructor);
const utf8 = new TextEncoder();

/** One protobuf message: fields in the order they are added. */
class Message {
  #bytes = [];

  #varint(value) {
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) this.#bytes.push(Number(rest & 127n) | 128);
    this.#bytes.push(Number(rest));
    return this;
  }
  #chunk(field, chunk) {
    this.#varint((field << 3) | 2).#varint(chunk.length);
    // Tensors are megabytes: kept whole, and joined once at the end.
    this.#bytes.push(chunk);
    return this;
  }
  integer(field, value) {
    return this.#varint(field << 3).#varint(value);
  }
  float(field, value) {
    this.#varint((field << 3) | 5);
    this.#bytes.push(...new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }
  text(field, value) {
    return this.#chunk(field, utf8.encode(value));
  }
  raw(field, data) {
    return this.#chunk(field, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  message(field, message) {
    return this.#chunk(field, message.bytes());
  }
  bytes() {
    const size = this.#bytes.reduce(
      (n, part) => n + (typeof part === 'number' ? 1 : part.length),
      0,
    );
    const all = new Uint8Array(size);
    let at = 0;
    for (const part of this.#bytes)
      if (typeof part === 'number') all[at++] = part;
      else {
        all.set(part, at);
        at += part.length;
      }
    return all;
  }
}

function attribute(name, value) {
  const a = new Message().text(1, name);
  return typeof value === 'object'
    ? a.float(2, value.float).integer(20, 1)
    : a.integer(3, value).integer(20, 2);
}

function valueInfo(name, type, shape) {
  const extents = new Message();
  for (const extent of shape) extents.message(1, new Message().integer(1, extent));
  const tensor = new Message().integer(1, type).message(2, extents);
  return new Message().text(1, name).message(2, new Message().message(1, tensor));
}

/**
 * A graph whose result is called y. In resident mode its inputs are constants, which the runtime then holds in its own
 * memory, and four numbers of y leave it.
 */
export class Graph {
  #nodes = [];
  #constants = [];
  #inputs = [];
  #outputs = [];
  #resident;
  /** What `run` is given: name to { data, shape }. */
  feeds = {};

  constructor(mode) {
    this.#resident = mode === 'resident';
  }
  constant(name, data, shape) {
    this.#constants.push([name, data, shape]);
  }
  /** Given anew at every run, in both modes. */
  fresh(name, data, shape) {
    this.#inputs.push([name, elementType(data), shape]);
    this.feeds[name] = { data, shape };
  }
  input(name, data, shape) {
    if (this.#resident) this.constant(name, data, shape);
    else this.fresh(name, data, shape);
  }
  alsoOut(name, shape) {
    if (!this.#resident) this.#outputs.push([name, 1, shape]);
  }
  node(operator, from, to, attributes = {}, domain = '') {
    this.#nodes.push({ operator, from, to, attributes, domain });
  }

  /** The contributed operator over q, k and v as [1, tokens, heads * width]; `past`: how many keys came before, in pastK and pastV. */
  groupedAttention({ H, KV, scale }, total, past) {
    this.constant('lengths', Int32Array.of(total - 1), [1]);
    this.constant('total', Int32Array.of(total), [1]);
    this.node(
      'GroupQueryAttention',
      ['q', 'k', 'v', past ? 'pastK' : '', past ? 'pastV' : '', 'lengths', 'total'],
      ['y', 'presentK', 'presentV'],
      { num_heads: H, kv_num_heads: KV, scale: { float: scale } },
      'com.microsoft',
    );
  }

  /** The model's bytes and the name of its first output. */
  finish(shape) {
    let result = 'y';
    let extents = shape;
    if (this.#resident) {
      this.constant('flat', BigInt64Array.of(-1n), [1]);
      this.constant('from', BigInt64Array.of(0n), [1]);
      this.constant('to', BigInt64Array.of(4n), [1]);
      // Something must come from outside, or the runtime computes the graph once and for all.
      this.fresh('nothing', Float32Array.of(0), [1]);
      this.node('Reshape', ['y', 'flat'], ['line']);
      this.node('Slice', ['line', 'from', 'to'], ['tip']);
      this.node('Add', ['tip', 'nothing'], ['result']);
      result = 'result';
      extents = [4];
    }
    const graph = new Message();
    for (const { operator, from, to, attributes, domain } of this.#nodes) {
      const node = new Message();
      for (const name of from) node.text(1, name);
      for (const name of to) node.text(2, name);
      node.text(4, operator);
      for (const [name, value] of Object.entries(attributes))
        node.message(5, attribute(name, value));
      if (domain) node.text(7, domain);
      graph.message(1, node);
    }
    graph.text(2, 'bench');
    for (const [name, data, dims] of this.#constants) {
      const tensor = new Message();
      for (const extent of dims) tensor.integer(1, extent);
      graph.message(5, tensor.integer(2, elementType(data)).text(8, name).raw(9, data));
    }
    for (const input of this.#inputs) graph.message(11, valueInfo(...input));
    for (const output of [[result, 1, extents], ...this.#outputs])
      graph.message(12, valueInfo(...output));
    const opset = (domain, version) => new Message().text(1, domain).integer(2, version);
    const model = new Message()
      .integer(1, 10)
      .message(7, graph)
      .message(8, opset('', 23))
      .message(8, opset('com.microsoft', 1));
    return { bytes: model.bytes(), result };
  }
}
