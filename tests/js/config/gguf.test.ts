// SPDX-License-Identifier: Apache-2.0
/** GGUF: metadata as encodings, and the reader of its bytes. Rows 103 and 104. */

import fc from 'fast-check';
import { frequenciesOf, fromConfig, fromGGUF, PosencError, readGGUFHeader } from 'posenc';
import { describe, expect, it } from 'vitest';
import { load as loadFile } from '../../../web/src/labs/doctor/files.ts';
import { caught } from '../support/failure.ts';
import { Bytes, type Entry, ggufBytes, llamaEntries } from '../support/gguf.ts';
import { inNode } from '../support/instance.ts';
import { runs } from '../support/runs.ts';
import { fixture } from './fixtures.ts';

const meta = (arch: string, entries: Record<string, unknown>) => ({
  'general.architecture': arch,
  ...Object.fromEntries(Object.entries(entries).map(([key, value]) => [`${arch}.${key}`, value])),
});
const llama = {
  context_length: 131072n,
  embedding_length: 4096n,
  block_count: 32n,
  'attention.head_count': 32n,
  'attention.head_count_kv': 8n,
  'rope.freq_base': 500000,
  'rope.dimension_count': 128n,
};

describe('fromGGUF', () => {
  it('numbers and BigInts; the layout is that of the architecture', () => {
    const model = fromGGUF(meta('llama', llama));
    expect(model.encodingFor(0)).toEqual({
      id: 'rope',
      options: { headDim: 128, rotaryDim: 128, base: 500000, layout: 'interleaved' },
    });
    expect(model).toMatchObject({ family: 'llama', layers: 32, trainedLength: 131072 });
    expect(model.parameters.find(({ name }) => name === 'base')).toMatchObject({
      provenance: 'given',
      path: 'llama.rope.freq_base',
    });
    const qwen = fromGGUF(meta('qwen2', { ...llama, 'rope.freq_base': 1e6 }));
    expect(qwen.encodingFor(0).options.layout).toBe('half');
  });

  it('rope_freqs.weight: divisors give the frequencies of Llama 3.1', () => {
    const want = frequenciesOf(fromConfig(fixture('llama-3.1-8b')).encodingFor(0))?.values ?? [];
    const plain = frequenciesOf(fromGGUF(meta('llama', llama)).encodingFor(0))?.values ?? [];
    const data = plain.map((f, i) => f / want[i]);
    for (const tensors of [
      { 'rope_freqs.weight': { data } },
      new Map([['rope_freqs.weight', { data: Float64Array.from(data) }]]),
    ]) {
      const { id, options } = fromGGUF(meta('llama', llama), tensors).encodingFor(0);
      expect(id).toBe('rope-longrope');
      const got = frequenciesOf({ id, options }, 200000);
      expect(got?.attentionFactor).toBe(1);
      for (const [i, x] of (got?.values ?? []).entries()) expect(x / want[i]).toBeCloseTo(1, 12);
    }
    const bare = fromGGUF(meta('llama', llama), new Map([['rope_freqs.weight', { shape: [64] }]]));
    expect(bare.warnings.map(({ code }) => code)).toContain('W19');
    expect(
      caught(() => fromGGUF(meta('llama', llama), { 'rope_freqs.weight': { data: [1] } })),
    ).toMatchObject({ kind: 'config', code: 'INCONSISTENT' });
  });

  it('YaRN, and the two meanings of the log multiplier', () => {
    const yarn = {
      'rope.scaling.type': 'yarn',
      'rope.scaling.factor': 40,
      'rope.scaling.original_context_length': 4096n,
      'rope.scaling.yarn_log_multiplier': 0.1,
    };
    const deepseek = fromGGUF(
      meta('deepseek2', {
        context_length: 163840,
        block_count: 61,
        'attention.head_count': 128,
        'attention.key_length': 192,
        'rope.dimension_count': 64,
        'rope.freq_base': 10000,
        ...yarn,
      }),
    );
    expect(deepseek.encodingFor(0)).toEqual(fromConfig(fixture('deepseek-v3')).encodingFor(0));
    expect(deepseek.attention.scale).toBe(1 / Math.sqrt(192));
    const mistral = fromGGUF(
      meta('mistral3', { ...llama, ...yarn, 'rope.scaling.yarn_log_multiplier': 1 }),
    );
    expect(mistral.encodingFor(0).options).toMatchObject({ mscale: 1, mscaleAllDim: 1 });
    const oss = fromGGUF(meta('gpt-oss', { ...llama, ...yarn, 'attention.sliding_window': 128 }));
    expect(oss.encodingFor(0).options.truncate).toBe(false);
    expect(oss.attentionFor(0).window).toEqual({ left: 127, right: 0 });
    expect(oss.attentionFor(1).window).toBeUndefined();
  });

  it('linear in both spellings, sections, biases, T5, tables, Gemma', () => {
    const legacy = fromGGUF(meta('llama', { ...llama, 'rope.scale_linear': 4 }));
    expect(legacy.encodingFor(0)).toMatchObject({ id: 'rope-linear', options: { factor: 4 } });
    const linear = meta('llama', {
      ...llama,
      'rope.scaling.type': 'linear',
      'rope.scaling.factor': 4,
    });
    expect(fromGGUF(linear).encodingFor(0)).toEqual(legacy.encodingFor(0));
    const vl = meta('qwen2vl', { ...llama, 'rope.dimension_sections': [16, 24, 24, 0] });
    expect(fromGGUF(vl).encodingFor(0)).toMatchObject({
      id: 'mrope',
      options: { sections: [16, 24, 24], interleaved: false },
    });
    expect(
      fromGGUF({
        ...meta('qwen3vl', { ...llama, 'rope.dimension_sections': [24, 20, 20, 0] }),
      }).encodingFor(0).options.interleaved,
    ).toBe(true);
    expect(fromGGUF(meta('bloom', llama)).encodingFor(0)).toMatchObject({
      id: 'alibi',
      options: { biasMax: 8 },
    });
    const mpt = meta('mpt', { ...llama, 'attention.max_alibi_bias': 16 });
    expect(fromGGUF(mpt).encodingFor(0).options).toMatchObject({ heads: 32, biasMax: 16 });
    const t5 = meta('t5', { ...llama, 'attention.relative_buckets_count': 32 });
    expect(fromGGUF(t5).encodingFor(0).id).toBe('t5');
    expect(fromGGUF(meta('gpt2', { ...llama, context_length: 1024 })).encodingFor(0)).toMatchObject(
      {
        id: 'learned',
        shapes: { table: [1024, 4096] },
      },
    );
    const gemma = fromGGUF(
      meta('gemma3', {
        ...llama,
        'rope.freq_base': 1e6,
        'rope.freq_base_swa': 10000,
        'rope.scaling.type': 'linear',
        'rope.scaling.factor': 8,
        'attention.sliding_window': 1024,
      }),
    );
    expect(gemma.encodingFor(0)).toMatchObject({ id: 'rope', options: { base: 10000 } });
    expect(gemma.encodingFor(5)).toMatchObject({
      id: 'rope-linear',
      options: { base: 1e6, factor: 8 },
    });
    const ntk = meta('hunyuan-dense', { ...llama, 'rope.scaling.alpha': 2.6 });
    expect(fromGGUF(ntk).encodingFor(0)).toMatchObject({
      id: 'rope-ntk',
      options: { factor: 2.6 },
    });
  });

  it('LongRoPE takes its lists from the tensors', () => {
    const phi = meta('phi3', {
      ...llama,
      'rope.scaling.type': 'longrope',
      'rope.scaling.original_context_length': 4096,
      'rope.scaling.attn_factor': 1.19,
    });
    const lists = {
      'rope_factors_short.weight': { data: Array(64).fill(1) },
      'rope_factors_long.weight': { data: Array(64).fill(2) },
    };
    expect(fromGGUF(phi, lists).encodingFor(0).options).toMatchObject({
      attentionFactor: 1.19,
      originalLength: 4096,
      factor: 32,
    });
    expect(caught(() => fromGGUF(phi))).toMatchObject({
      code: 'MISSING_KEY',
      field: 'rope_factors_short.weight',
    });
  });

  it('row 103, C8: missing, contradictory and misspelt keys', () => {
    const refused = (metadata: object, code: string, field: string) =>
      expect(caught(() => fromGGUF(metadata))).toMatchObject({ kind: 'config', code, field });
    refused({}, 'MISSING_KEY', 'general.architecture');
    refused(meta('llamma', llama), 'INCONSISTENT', 'general.architecture');
    refused(
      { ...meta('qwen2', llama), 'general.architecture': 'llama' },
      'MISSING_KEY',
      'llama.embedding_length',
    );
    refused(
      meta('llama', { ...llama, 'rope.dimension_count': 130n }),
      'INCONSISTENT',
      'llama.rope.dimension_count',
    );
    refused(
      meta('llama', { ...llama, 'rope.freq_base': 0 }),
      'OUT_OF_RANGE',
      'llama.rope.freq_base',
    );
    refused(
      meta('llama', { ...llama, 'attention.head_count': [1, 2] }),
      'WRONG_TYPE',
      'llama.attention.head_count',
    );
    refused(
      meta('llama', { ...llama, context_length: 2n ** 60n }),
      'OUT_OF_RANGE',
      'llama.context_length',
    );
    const { 'rope.freq_base': _, ...without } = llama;
    expect(fromGGUF(meta('llama', without)).warnings.map(({ code }) => code)).toContain('W03');
    const typo = fromGGUF(meta('llama', { ...llama, 'rope.freq_bas': 7 })).warnings;
    expect(typo.find(({ code }) => code === 'W12')?.message).toContain('llama.rope.freq_base');
  });
});

describe('readGGUFHeader', () => {
  const whole = ggufBytes(llamaEntries, [{ name: 'rope_freqs.weight', dims: [64] }]);
  const refused = (bytes: Uint8Array, code: string) =>
    expect(caught(() => readGGUFHeader(bytes))).toMatchObject({ kind: 'format', code });

  it('reads what was written', () => {
    const header = readGGUFHeader(whole);
    expect(header.version).toBe(3);
    expect(header.metadata['llama.context_length']).toBe(131072);
    expect(header.tensors).toEqual([
      { name: 'rope_freqs.weight', shape: [64], type: 0, offset: 0 },
    ]);
    expect(fromGGUF(header.metadata).encodingFor(0).options.base).toBe(500000);
    expect(readGGUFHeader(ggufBytes(llamaEntries, [], 2)).version).toBe(2);
  });

  it('row 104: wrong magic, versions, counts, lengths, depths, names', () => {
    refused(Uint8Array.of(1, 2, 3, 4, 3, 0, 0, 0), 'BAD_HEADER');
    refused(ggufBytes([], [], 1), 'BAD_HEADER');
    refused(new Bytes().raw([0x47, 0x47, 0x55, 0x46, 0, 0, 0, 3]).done(), 'BAD_HEADER');
    const start = () => new Bytes().raw(new TextEncoder().encode('GGUF')).u32(3);
    refused(
      start()
        .u64(2n ** 60n)
        .u64(0)
        .done(),
      'BAD_HEADER',
    );
    refused(
      start()
        .u64(0)
        .u64(2n ** 60n)
        .done(),
      'BAD_HEADER',
    );
    refused(
      start()
        .u64(0)
        .u64(1)
        .u64(2n ** 60n)
        .raw(Array(40).fill(0))
        .done(),
      'BAD_HEADER',
    );
    refused(ggufBytes([['general.alignment', 'u32', 0]]), 'BAD_HEADER');
    refused(ggufBytes([['general.alignment', 'f32', 1.5]]), 'BAD_HEADER');
    const twice: Entry = ['a.b', 'u32', 1];
    refused(ggufBytes([twice, twice]), 'DUPLICATE_NAME');
    const nested = start().u64(0).u64(1).string('a').u32(9);
    for (let i = 0; i < 10000; ++i) nested.u32(9).u64(1);
    refused(nested.done(), 'BAD_HEADER');
    for (let cut = 0; cut < whole.length; ++cut) refused(whole.subarray(0, cut), 'TRUNCATED');
    expect(caught(() => readGGUFHeader('x' as never)).code).toBe('WRONG_TYPE');
  });

  const list = (type: number, length: number, bytes: ArrayLike<number>) => {
    const start = new Bytes().raw(new TextEncoder().encode('GGUF')).u32(3).u64(0).u64(1);
    const all = start.string('a.b').u32(9).u32(type).u64(length).raw(bytes).done();
    return readGGUFHeader(all).metadata['a.b'];
  };

  it('long lists of numbers are typed arrays, in the memory that they have in the file', () => {
    const halves = Float32Array.from({ length: 4097 }, (_, i) => i / 2);
    expect(list(6, 4097, new Uint8Array(halves.buffer))).toEqual(halves);
    expect(list(6, 4096, new Uint8Array(halves.buffer, 0, 4 * 4096))).toEqual(
      Array.from(halves.subarray(0, 4096)),
    );
    expect(list(11, 5000, new Uint8Array(40000).fill(255))).toEqual(
      new BigInt64Array(5000).fill(-1n),
    );
  });

  it('long lists do not reach the text that the page shows', async () => {
    const start = new Bytes().raw(new TextEncoder().encode('GGUF')).u32(3).u64(0).u64(4);
    start.string('general.architecture').u32(8).string('llama');
    start.string('llama.wide').u32(9).u32(11).u64(5000).raw(new Uint8Array(40000));
    start.string('llama.real').u32(9).u32(6).u64(5000).raw(new Uint8Array(20000));
    start.string('llama.few').u32(9).u32(11).u64(2).raw(new Uint8Array(16));
    const { text } = await loadFile(new File([start.done() as BlobPart], 'm.gguf'));
    expect(JSON.parse(text)).toEqual({ 'general.architecture': 'llama', 'llama.few': [0, 0] });
  });

  it('lists of truth values have truth values, however long they are', () => {
    const bytes = Uint8Array.from({ length: 5000 }, (_, i) => i % 3);
    const truth = Array.from(bytes, (byte) => byte !== 0);
    expect(list(7, 5000, bytes)).toEqual(truth);
    expect(list(7, 5, bytes.subarray(0, 5))).toEqual(truth.slice(0, 5));
  });

  it.runIf(inNode)(
    'lists of lists take a few times the bytes of the file (in browsers, skipped: no gc())',
    () => {
      const count = 200_000;
      const bytes = new Uint8Array(60 + count * 13);
      const view = new DataView(bytes.buffer);
      bytes.set(new Bytes().raw(new TextEncoder().encode('GGUF')).u32(3).u64(0).u64(1).done());
      bytes.set(new Bytes().string('a.b').u32(9).u32(9).u64(count).done(), 24);
      let at = 24 + 8 + 3 + 16;
      for (let i = 0; i < count; ++i, at += 13) view.setUint32(at + 4, 1, true);
      const { gc } = globalThis as unknown as { gc: () => void };
      // What was let go of before, or while it reads, would be counted against what is kept.
      const used = () => {
        gc();
        return process.memoryUsage().heapUsed;
      };
      const before = used();
      const { metadata } = readGGUFHeader(bytes);
      const taken = used() - before;
      expect((metadata['a.b'] as unknown[]).length).toBe(count);
      // 22 times where each list has room for 17.
      expect(taken).toBeLessThan(12 * bytes.length);
    },
  );

  it('noise', () => {
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.uint8Array({ minLength: 1, maxLength: 12 }),
        (at, put) => {
          const bytes = whole.slice();
          bytes.set(put.subarray(0, bytes.length - at), at);
          try {
            fromGGUF(readGGUFHeader(bytes).metadata);
          } catch (error) {
            if (!PosencError.is(error)) throw error;
          }
        },
      ),
      runs(5000),
    );
  });
});
