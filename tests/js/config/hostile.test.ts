// SPDX-License-Identifier: Apache-2.0
/** Row 98 and noise: whatever comes, a result or an error of kind `config`. */

import fc from 'fast-check';
import { fromConfig, fromGGUF, PosencError } from 'posenc';
import { describe, expect, it } from 'vitest';
import { runs } from '../support/runs.ts';
import { fixtures, flatKeys, paths } from './fixtures.ts';

const base = { model_type: 'llama', head_dim: 64, max_position_embeddings: 4096 };

/** Runs `read`; true for a result. Anything but our error of this kind is passed on. */
function survives(read: () => unknown, kind = 'config'): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (!PosencError.is(error)) throw error;
    expect([error.kind, error.message.length <= 200], error.message).toEqual([kind, true]);
    return false;
  }
}

/** A result must also be usable as a whole. */
const use = (config: unknown) => {
  const model = fromConfig(config as object);
  model.encodingFor(0);
  JSON.stringify(model);
  return model;
};

describe('hostile objects', () => {
  it('keys of prototypes are keys like any other', () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '0', 'valueOf']) {
      const text = `{"model_type": "llama", "head_dim": 64, "${key}": {"rope_theta": 3},
        "rope_scaling": {"rope_type": "linear", "factor": 2, "${key}": 5}}`;
      expect(use(text).encodingFor(0).options).toMatchObject({ base: 10000, factor: 2 });
      survives(() => use({ ...base, model_type: key }));
      survives(() => use({ ...base, rope_scaling: { rope_type: key, factor: 2 } }));
      survives(() => use({ ...base, layer_types: [key] }));
      survives(() => fromGGUF({ 'general.architecture': key }));
    }
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(({} as Record<string, unknown>).rope_theta).toBeUndefined();
  });

  it('an inherited property does not count', () => {
    const config = Object.assign(Object.create({ rope_theta: 5e5 }), base);
    expect(use(config).encodingFor(0).options.base).toBe(10000);
  });

  it('a getter is asked once', () => {
    let asked = 0;
    const config = {
      ...base,
      get rope_theta() {
        return ++asked === 1 ? 5e5 : Number.NaN;
      },
    };
    expect(use(config).encodingFor(0).options.base).toBe(5e5);
    expect(asked).toBe(1);
  });

  it('getters and proxies that throw', () => {
    const angry = () => {
      throw new Error('no');
    };
    survives(() =>
      use(Object.defineProperty({ ...base }, 'rope_theta', { get: angry, enumerable: true })),
    );
    for (const trap of ['get', 'ownKeys', 'getOwnPropertyDescriptor', 'has'])
      survives(() => use(new Proxy(base, { [trap]: angry })));
    survives(() => use({ ...base, rope_scaling: new Proxy({}, { ownKeys: angry }) }));
    survives(() => use({ ...base, layer_types: new Proxy([], { get: angry }) }));
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    survives(() => use(proxy));
    survives(() => use({ ...base, rope_scaling: proxy }));
  });

  it('cycles, depth and width', () => {
    const cycle: Record<string, unknown> = { ...base };
    cycle.rope_scaling = cycle;
    cycle.text_config = cycle;
    survives(() => use(cycle));
    const deep = `{"model_type":"llama","head_dim":64,"x":${'['.repeat(10000)}${']'.repeat(10000)}}`;
    expect(survives(() => use(deep))).toBe(true);
    const wide = Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => [`key_${i}`, i]));
    expect(survives(() => use({ ...wide, ...base }))).toBe(true);
    survives(() => use({ ...base, rope_scaling: { ...wide, rope_type: 'linear', factor: 2 } }));
    survives(() => use({ ...base, layer_types: Array(1e6).fill('full_attention') }));
    survives(() => use({ ...base, num_hidden_layers: 1e6 }));
    survives(() => use(`${' '.repeat(2 ** 24)}{}`));
  });

  it('functions, symbols, dates and typed arrays in every place', () => {
    for (const value of [() => 1, Symbol('x'), new Date(), new Map(), 1n, new Uint8Array(4), /x/])
      for (const key of [
        'model_type',
        'head_dim',
        'rope_theta',
        'rope_scaling',
        'layer_types',
        'text_config',
      ])
        survives(() => use({ ...base, [key]: value }));
  });

  it('messages hold no control characters and no long texts', () => {
    const nasty = `\u001b[2J\n${'x'.repeat(500)}`;
    try {
      fromConfig({ ...base, rope_scaling: { rope_type: nasty, factor: 2 } });
      expect.unreachable();
    } catch (error) {
      const codes = [...(error as Error).message].map((one) => one.charCodeAt(0));
      expect(Math.min(...codes)).toBeGreaterThanOrEqual(32);
    }
  });
});

describe('noise', () => {
  const keys = [
    ...new Set([...fixtures.values()].flatMap((config) => [...flatKeys(config)])),
    'attn_factor',
    'alpha',
    'no_rope_layers',
    'attention_chunk_size',
    'use_dynamic_ntk',
    'global_head_dim',
    'num_heads',
    'window_size',
  ];
  const scalar = fc.oneof(
    fc.constantFrom(
      0,
      1,
      -1,
      2,
      3,
      64,
      128,
      0.25,
      1e4,
      Number.POSITIVE_INFINITY,
      Number.NaN,
      null,
      true,
      false,
      '',
      '8',
      'yarn',
    ),
    fc.integer(),
    fc.double(),
    fc.string(),
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      fc.array(scalar, { maxLength: 6 }),
      fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), tie('any'), { maxKeys: 6 }),
    ),
  })).any;

  it('any JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        survives(() => use(text));
      }),
      runs(2000),
    );
  });

  it('objects of known keys with anything in them', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 12 }), (config) => {
        survives(() => use(config));
      }),
      runs(5000),
    );
  });

  it('published configurations with a change', () => {
    const names = [...fixtures.keys()];
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.nat(),
        value,
        fc.boolean(),
        (name, at, other, remove) => {
          const config = structuredClone(fixtures.get(name)) as Record<string, unknown>;
          const places = [...paths(config)];
          const [holder, key] = places[at % places.length];
          if (remove) delete holder[key];
          else holder[key] = other;
          survives(() => use(config));
        },
      ),
      runs(5000),
    );
  });

  it('texts of published configurations cut and overwritten', () => {
    const texts = [...fixtures.values()].map((config) => JSON.stringify(config));
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.nat(),
        fc.string({ maxLength: 3 }),
        (text, at, put) => {
          const where = at % text.length;
          survives(() => use(text.slice(0, where) + put + text.slice(where + put.length)));
          survives(() => use(text.slice(0, where)));
        },
      ),
      runs(2000),
    );
  });

  it('GGUF metadata of anything', () => {
    const suffixes = [
      'context_length',
      'attention.head_count',
      'embedding_length',
      'rope.dimension_count',
      'rope.freq_base',
      'rope.scaling.type',
      'rope.scaling.factor',
      'rope.dimension_sections',
      'attention.key_length',
      'block_count',
      'rope.scaling.yarn_log_multiplier',
      'attention.max_alibi_bias',
    ];
    const arches = [
      'llama',
      'qwen2vl',
      'gemma3',
      'deepseek2',
      'bert',
      'bloom',
      't5',
      'mpt',
      'gpt2',
      'phi3',
      'other',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...arches),
        fc.dictionary(fc.constantFrom(...suffixes), fc.oneof(value, fc.bigInt())),
        (arch, entries) => {
          const metadata: Record<string, unknown> = { 'general.architecture': arch };
          for (const [suffix, entry] of Object.entries(entries))
            metadata[`${arch}.${suffix}`] = entry;
          survives(() => JSON.stringify(fromGGUF(metadata)));
        },
      ),
      runs(3000),
    );
  });

  it('64 KB of what would be compared with everything else', () => {
    const many = (n: number, name: string) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`${name}${i}`, i]));
    const linear = { rope_type: 'linear', factor: 2 };
    const texts = [
      { ...base, rope_scaling: { ...linear, ...many(3000, 'kee_fastor_') } },
      { ...base, rope_scaling: { ...linear, ...many(250, 'kee_fastor_') }, x: 'x'.repeat(60000) },
      { ...base, ...many(250, 'rope_scaling'), x: 'x'.repeat(60000) },
      { ...base, ...many(3000, 'rope_scaling') },
      { ...base, layer_types: Array(3000).fill('full_attention') },
      { ...base, layer_types: Array.from({ length: 3000 }, (_, i) => `t${i}`) },
      { a: 'x'.repeat(65000) },
    ].map((config) => JSON.stringify(config));
    texts.push(`{"a":${'['.repeat(30000)}${']'.repeat(30000)}}`);
    // How long they take is bench/hostile.mjs's to tell: 50 ms is the rule.
    for (const text of texts) survives(() => use(text));
  });
});
