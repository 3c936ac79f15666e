// SPDX-License-Identifier: Apache-2.0
// onnxruntime-web as a contender: its files come from this site, its models are made here.
import type { Contender } from './measure.ts';
import { type Graph, type Input, type Node, onnxModel } from './onnx.ts';
import { angles, biasOf, headDim, heads, type Workload } from './workloads.ts';

interface OrtTensor {
  readonly data: Float32Array;
  dispose(): void;
}
interface OrtSession {
  run(feeds: Record<string, OrtTensor>): Promise<Record<string, OrtTensor>>;
}
interface Ort {
  readonly env: {
    readonly versions: { readonly web?: string };
    readonly wasm: {
      numThreads: number;
      proxy: boolean;
      wasmBinary: ArrayBuffer;
      wasmPaths: unknown;
    };
  };
  readonly Tensor: new (type: 'float32', data: Float32Array, shape: readonly number[]) => OrtTensor;
  readonly InferenceSession: {
    create(model: Uint8Array, options: object): Promise<OrtSession>;
  };
}

type Progress = (received: number, total: number) => void;

async function download(address: string, progress: Progress): Promise<ArrayBuffer> {
  const response = await fetch(address);
  if (!response.ok || !response.body)
    throw new Error(`${address} did not come: ${response.status} ${response.statusText}`);
  // Counts what arrives unpacked, as the announced size does where nothing was packed.
  const total = Number(response.headers.get('Content-Length') ?? 0);
  const parts: BlobPart[] = [];
  let received = 0;
  const reader = response.body.getReader();
  for (let last = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    received += value.length;
    if (received - last > 5e5) {
      last = received;
      progress(received, total);
    }
  }
  return new Blob(parts).arrayBuffer();
}

export async function loadPeer(
  where: { module: string; wasm: string },
  progress: Progress,
): Promise<Ort> {
  const ort = (await import(/* @vite-ignore */ where.module)) as Ort;
  // One thread, as everything here; threads of its own would also need workers from blobs, which the policy forbids.
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.proxy = false;
  ort.env.wasm.wasmPaths = { wasm: where.wasm };
  ort.env.wasm.wasmBinary = await download(where.wasm, progress);
  return ort;
}
export const peerVersion = (ort: Ort): string => ort.env.versions.web ?? 'of unknown version';

interface Task {
  readonly how: string;
  readonly graph: Graph;
  readonly feeds: Readonly<Record<string, Float32Array>>;
  readonly answer?: (given: Float32Array) => Float32Array;
}

function rotationTask({ q, queries, interleaved }: Workload): Task {
  const shape = [1, heads, queries, headDim];
  const { cos, sin } = angles(queries);
  const table = [queries, headDim / 2];
  const rows = BigInt64Array.from({ length: queries }, (_, i) => BigInt(i));
  return {
    how: 'RotaryEmbedding of ONNX 23, tables part of the model',
    graph: {
      nodes: [
        {
          op: 'RotaryEmbedding',
          inputs: ['q', 'cos', 'sin', 'rows'],
          outputs: ['y'],
          integers: { interleaved: Number(interleaved) },
        },
      ],
      inputs: [{ name: 'q', shape }],
      constants: [
        { name: 'cos', shape: table, data: Float32Array.from(cos) },
        { name: 'sin', shape: table, data: Float32Array.from(sin) },
        { name: 'rows', shape: [1, queries], data: rows },
      ],
      output: { name: 'y', shape },
    },
    feeds: { q },
  };
}

const biasConstant = (load: Workload) =>
  load.work === 'bias'
    ? [{ name: 'bias', shape: [1, heads, load.queries, load.keys], data: biasOf(load) }]
    : [];

function attentionTask(load: Workload): Task {
  const { q, k, v, queries, keys, scale, work } = load;
  const input = (name: string, rows: number): Input => ({
    name,
    shape: [1, heads, rows, headDim],
  });
  const node: Node = {
    op: 'Attention',
    inputs: ['q', 'k', 'v', ...(work === 'bias' ? ['bias'] : [])],
    outputs: ['y'],
    integers: { is_causal: Number(queries > 1) },
    floats: { scale },
  };
  return {
    how: `Attention of ONNX 23${work === 'bias' ? ', biases part of the model' : ''}`,
    graph: {
      nodes: [node],
      inputs: [input('q', queries), input('k', keys), input('v', keys)],
      constants: biasConstant(load),
      output: input('y', queries),
    },
    feeds: { q, k, v },
  };
}

/** From [heads, rows, headDim] to [rows, heads, headDim], or back. */
function swapped(given: Float32Array, outer: number, inner: number): Float32Array {
  const result = new Float32Array(given.length);
  for (let i = 0; i < outer; i += 1)
    for (let j = 0; j < inner; j += 1)
      result.set(
        given.subarray((i * inner + j) * headDim, (i * inner + j + 1) * headDim),
        (j * outer + i) * headDim,
      );
  return result;
}

function multiHeadTask(load: Workload): Task {
  const { q, k, v, queries, keys, scale, work } = load;
  const input = (name: string, rows: number): Input => ({
    name,
    shape: [1, rows, heads * headDim],
  });
  return {
    how: `MultiHeadAttention of its own${work === 'bias' ? ', biases part of the model' : ''}, rows in its order`,
    graph: {
      nodes: [
        {
          op: 'MultiHeadAttention',
          domain: 'com.microsoft',
          inputs: ['q', 'k', 'v', ...(work === 'bias' ? ['', '', 'bias'] : [])],
          outputs: ['y'],
          integers: { num_heads: heads, unidirectional: Number(queries > 1) },
          floats: { scale },
        },
      ],
      inputs: [input('q', queries), input('k', keys), input('v', keys)],
      constants: biasConstant(load),
      output: input('y', queries),
    },
    feeds: {
      q: swapped(q, heads, queries),
      k: swapped(k, heads, keys),
      v: swapped(v, heads, keys),
    },
    answer: (given) => swapped(given, queries, heads),
  };
}

export async function peerContenders(ort: Ort, load: Workload): Promise<Contender[]> {
  const tasks: [name: string, task: Task][] =
    load.work === 'rotation'
      ? [['onnxruntime-web', rotationTask(load)]]
      : [
          ['onnxruntime-web', attentionTask(load)],
          ['onnxruntime-web, MHA', multiHeadTask(load)],
        ];
  return Promise.all(
    tasks.map(async ([name, { how, graph, feeds, answer }]): Promise<Contender> => {
      const session = await ort.InferenceSession.create(onnxModel(graph), {
        executionProviders: ['wasm'],
      });
      const shapes = new Map(graph.inputs.map((one) => [one.name, one.shape]));
      return {
        name,
        how,
        ...(answer ? { answer } : {}),
        async run() {
          const given = Object.entries(feeds).map(
            ([key, data]) => [key, new ort.Tensor('float32', data, shapes.get(key) ?? [])] as const,
          );
          const { y } = await session.run(Object.fromEntries(given));
          return (y as OrtTensor).data;
        },
      };
    }),
  );
}
