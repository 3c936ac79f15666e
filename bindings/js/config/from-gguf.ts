// SPDX-License-Identifier: Apache-2.0
/** `fromGGUF`: the metadata of a GGUF file as positional encodings. */

import { nearest, PosencError } from '../errors.js';
import { isArray } from '../intrinsics.js';
import { Context, trainedLengthOf } from './context.js';
import type { Family } from './families.js';
import { configFault } from './faults.js';
import { readers } from './from-config.js';
import { architecture, knownArchitectures } from './gguf-architectures.js';
import { translate } from './gguf-keys.js';
import { layerEncoding } from './layer-encoding.js';
import { Ledger } from './ledger.js';
import { Model } from './model.js';
import { readOptions } from './options.js';
import { parseConfig } from './parse.js';
import type { Reading } from './rope-family.js';
import { Section } from './section.js';
import type { ConfigOptions, LayerEncoding, LayerKind, ModelPositions } from './types.js';

const where = 'fromGGUF';

/** Tensors of the file by name. Only those for frequencies are read; names alone give warnings. */
export type NamedTensors =
  | ReadonlyMap<string, unknown>
  | Readonly<Record<string, { readonly data?: ArrayLike<number> } | undefined>>;

/** As `fromConfig`, from dotted keys with numbers or BigInts as readers of such files give them. */
export function fromGGUF(
  metadata: object,
  tensors?: NamedTensors,
  options?: ConfigOptions,
): ModelPositions {
  const o = readOptions(where, options);
  const ledger = new Ledger({ where, lenient: o.lenient === true, bigints: true });
  const given = new Section(parseConfig(where, metadata), '', ledger);
  const arch = given.string('general.architecture');
  if (arch === undefined)
    throw given.fault(
      'MISSING_KEY',
      'general.architecture',
      'given: all keys begin with it',
      undefined,
    );
  const { root, scaling } = translate(given, arch, ledger);
  const family = familyOf(arch, root, given);
  if (scaling.rope_type === 'longrope') longLists(given, tensors, scaling);
  const c = new Context(root, root, arch, family, ledger);
  trainedLengthOf(c);
  if (family.kind === 'rope' && !root.has('rope_theta'))
    ledger.warn('W03', `${arch}.rope.freq_base`, 'missing: readers take 10000', undefined, 10000);
  const reading = readers[family.kind](c);
  return new Model(arch, withDivisors(c, reading, tensors), ledger, o);
}

function familyOf(arch: string, root: Section, given: Section): Family {
  const biases = root.has('alibi_bias_max');
  const found = architecture(arch);
  if (biases && found?.kind === 'rope') return { ...found, kind: 'alibi' };
  // The 13B model has no key for its biases; it is told by its 40 layers.
  if (arch === 'baichuan' && given.number('baichuan.block_count') === 40)
    return { kind: 'alibi', assumes: { alibi_bias_max: 8, position_embedding_type: 'alibi' } };
  if (found !== undefined) return found;
  const like = nearest(arch, knownArchitectures);
  throw given.fault(
    'INCONSISTENT',
    'general.architecture',
    `known here${like === undefined ? '' : `; is it ${like}?`}`,
    arch,
  );
}

function tensorData(
  tensors: NamedTensors | undefined,
  name: string,
): readonly number[] | undefined | null {
  const about = { where, path: name, expected: 'finite numbers above 0' };
  let values: unknown[];
  try {
    const at = tensors instanceof Map ? tensors.get(name) : plainEntry(tensors, name);
    if (at === undefined || at === null) return undefined;
    const data: unknown = typeof at === 'object' && 'data' in at ? at.data : at;
    if (!isArray(data) && !ArrayBuffer.isView(data)) return null;
    const { length } = data as ArrayLike<number>;
    if (length > longest) throw configFault('OUT_OF_RANGE', { ...about, received: length });
    values = Array.from({ length }, (_, i) => (data as ArrayLike<number>)[i]);
  } catch (cause) {
    if (PosencError.is(cause)) throw cause;
    throw configFault('WRONG_TYPE', { ...about, received: tensors });
  }
  if (values.every((x): x is number => typeof x === 'number' && Number.isFinite(x) && x > 0))
    return values;
  throw configFault('OUT_OF_RANGE', about);
}
const longest = 65536;

function plainEntry(tensors: NamedTensors | undefined, name: string): unknown {
  if (typeof tensors !== 'object' || tensors === null || !Object.hasOwn(tensors, name))
    return undefined;
  return (tensors as Record<string, unknown>)[name];
}

/** LongRoPE's lists stand among the tensors. */
function longLists(
  given: Section,
  tensors: NamedTensors | undefined,
  scaling: Record<string, unknown>,
): void {
  for (const [key, name] of [
    ['short_factor', 'rope_factors_short.weight'],
    ['long_factor', 'rope_factors_long.weight'],
  ]) {
    const data = tensorData(tensors, name);
    if (data == null)
      throw given.fault('MISSING_KEY', name, 'given among the tensors, with its data', undefined);
    scaling[key] = data;
  }
}

const divisorsName = 'rope_freqs.weight';

/**
 * Llama 3's scaling is stored as a divisor for each pair. Lists of divisors are what LongRoPE has, so
 * that encoding with equal lists and no attention factor is the exact equivalent.
 */
function withDivisors(c: Context, reading: Reading, tensors: NamedTensors | undefined): Reading {
  const data = tensorData(tensors, divisorsName);
  if (data === undefined) return reading;
  if (data === null) {
    c.ledger.warn(
      'W19',
      divisorsName,
      'the file scales its frequencies by this tensor; pass its data to have that read',
      undefined,
      'no scaling',
    );
    return reading;
  }
  const kinds = new Map<string, LayerKind>();
  for (const [name, kind] of reading.kinds)
    kinds.set(name, { ...kind, encoding: divided(c, kind.encoding, data) });
  return { ...reading, kinds };
}

function divided(c: Context, encoding: LayerEncoding, divisors: readonly number[]): LayerEncoding {
  const { id, options } = encoding;
  const pairs = Number(options.rotaryDim) / 2;
  if (id !== 'rope') return encoding;
  if (divisors.length !== pairs)
    throw configFault('INCONSISTENT', {
      where,
      path: divisorsName,
      expected: `of ${pairs} numbers, half the rotary width`,
      received: divisors.length,
    });
  const length = c.number(['max_position_embeddings'])?.value ?? 2;
  c.ledger.note('divisors', divisors, 'given', divisorsName);
  return layerEncoding('rope-longrope', {
    ...options,
    shortFactor: divisors,
    longFactor: divisors,
    originalLength: Math.min(Math.max(2, length), 1e9),
    factor: 1,
    attentionFactor: 1,
  });
}
