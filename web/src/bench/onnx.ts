// SPDX-License-Identifier: Apache-2.0
// Writes an ONNX model of a few nodes. ModelProto is a protocol buffer: fields are a number and a wire type, then a
// variable-length integer, four bytes, or a length and that many bytes. Field numbers are those of onnx.proto3.

type Bytes = number[];

function varint(value: number): Bytes {
  const bytes: Bytes = [];
  let rest = value;
  // Division and not a shift: a length may take more than 31 bits.
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return bytes;
}
const integer = (field: number, value: number): Uint8Array =>
  Uint8Array.from([...varint(field * 8), ...varint(value)]);
function float(field: number, value: number): Uint8Array {
  const bytes = new Uint8Array(5);
  bytes[0] = field * 8 + 5;
  new DataView(bytes.buffer).setFloat32(1, value, true);
  return bytes;
}
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
function block(field: number, ...content: Uint8Array[]): Uint8Array {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return joined([Uint8Array.from([...varint(field * 8 + 2), ...varint(length)]), ...content]);
}
const string = (field: number, text: string): Uint8Array =>
  block(field, new TextEncoder().encode(text));

export interface Input {
  readonly name: string;
  readonly shape: readonly number[];
}
/** A tensor that is part of the model. */
export interface Constant extends Input {
  readonly data: Float32Array | BigInt64Array;
}
export interface Node {
  readonly op: string;
  /** Without one, an operator of ONNX itself. */
  readonly domain?: string;
  /** An empty name is an input left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly integers?: Readonly<Record<string, number>>;
  readonly floats?: Readonly<Record<string, number>>;
}
export interface Graph {
  readonly nodes: readonly Node[];
  readonly inputs: readonly Input[];
  readonly constants: readonly Constant[];
  readonly output: Input;
}

const kinds = { float: 1, int64: 7 } as const;

/** ValueInfoProto of floats: name, then type, tensor type, shape, dimension. */
const valueInfo = (field: number, { name, shape }: Input): Uint8Array =>
  block(
    field,
    string(1, name),
    block(
      2,
      block(
        1,
        integer(1, kinds.float),
        block(2, ...shape.map((size) => block(1, integer(1, size)))),
      ),
    ),
  );

const tensor = ({ name, shape, data }: Constant): Uint8Array =>
  block(
    5,
    ...shape.map((size) => integer(1, size)),
    integer(2, data instanceof Float32Array ? kinds.float : kinds.int64),
    string(8, name),
    block(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  );

const node = ({ op, domain, inputs, outputs, integers = {}, floats = {} }: Node): Uint8Array =>
  block(
    1,
    ...inputs.map((name) => string(1, name)),
    ...outputs.map((name) => string(2, name)),
    string(4, op),
    ...Object.entries(integers).map(([name, value]) =>
      block(5, string(1, name), integer(3, value), integer(20, 2)),
    ),
    ...Object.entries(floats).map(([name, value]) =>
      block(5, string(1, name), float(2, value), integer(20, 1)),
    ),
    ...(domain === undefined ? [] : [string(7, domain)]),
  );

/** IR version 10 and operator set 23, the first with Attention and RotaryEmbedding. */
export const onnxModel = ({ nodes, inputs, constants, output }: Graph): Uint8Array =>
  joined([
    integer(1, 10),
    block(
      7,
      ...nodes.map(node),
      string(2, 'benchmark'),
      ...constants.map(tensor),
      ...inputs.map((input) => valueInfo(11, input)),
      valueInfo(12, output),
    ),
    block(8, string(1, ''), integer(2, 23)),
    block(8, string(1, 'com.microsoft'), integer(2, 1)),
  ]);
