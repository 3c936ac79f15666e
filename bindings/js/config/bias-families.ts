// SPDX-License-Identifier: Apache-2.0
/** Models whose positions are biases on the scores: ALiBi, T5, DeBERTa, Transformer-XL, Swin. */

import { type AlibiSwitch, alibi } from './alibi.js';
import { type Context, counting, headDimOf, headsOf, names, widths } from './context.js';
import { layerEncoding } from './layer-encoding.js';
import { type Reading, readRope } from './rope-family.js';
import { readLearned } from './table-families.js';
import { uniform } from './uniform.js';

/** MPT keeps its switches in `attn_config`; BLOOM has none. */
function alibiSwitch(c: Context): AlibiSwitch {
  const at = c.find(['attn_config']);
  const inside = at?.section.child(at.key);
  const alibi = inside?.boolean('alibi') ?? c.flag(['alibi', 'use_alibi'])?.value;
  const key = 'alibi_bias_max';
  const biasMax = inside?.number(key, { min: 0, above: true, max: 64 });
  return {
    ...(alibi === undefined ? {} : { alibi }),
    ...(biasMax === undefined || inside === undefined ? {} : { biasMax, path: inside.pathOf(key) }),
  };
}

export function readAlibi(c: Context): Reading {
  const bag = alibiSwitch(c);
  const kind = c.word(['position_embedding_type', 'position_embedding'])?.value?.toLowerCase();
  if (c.modelType === 'baichuan' && !baichuanBias(c, kind)) return readRope(c);
  if (c.modelType === 'mpt' && bag.alibi !== true) return readLearned(c);
  if (c.modelType === 'jais' && kind !== undefined && kind !== 'alibi') return readLearned(c);
  return uniform(c, { full_attention: () => ({ encoding: alibi(c, bag) }) });
}

/** The 13B model has 40 heads of 128 and biases; the smaller one rotates. */
function baichuanBias(c: Context, kind: string | undefined): boolean {
  if (kind !== undefined) return kind === 'alibi';
  const hidden = c.number(names.hidden, counting);
  return hidden !== undefined && hidden.value >= 5120;
}

/** Falcon with biases adds them before the scores are scaled, and rounds them. */
export function readFalcon(c: Context): Reading {
  if (c.flag(['alibi'])?.value !== true) return readRope(c);
  const headDim = headDimOf(c);
  return uniform(c, {
    full_attention: () => {
      const { options } = alibi(c);
      const slopeScale = c.ledger.note('slopeScale', 1 / Math.sqrt(headDim), 'derived');
      const rounding = c.ledger.note('rounding', 'bf16', 'default');
      return { encoding: layerEncoding('alibi', { ...options, slopeScale, rounding }) };
    },
  });
}

export function readT5(c: Context): Reading {
  const heads = headsOf(c);
  const buckets = c.require('buckets', ['relative_attention_num_buckets'], { ...counting, min: 2 });
  const maxDistance = c.require('maxDistance', ['relative_attention_max_distance'], counting);
  const stack = (bidirectional: boolean) => {
    c.ledger.note('bidirectional', bidirectional, 'derived');
    const tables = { needs: ['table'], shapes: { table: [buckets, heads] } };
    const options = { heads, bidirectional, buckets, maxDistance };
    return { encoding: layerEncoding('t5', options, tables), causal: !bidirectional };
  };
  return uniform(c, {
    encoder: () => stack(true),
    decoder: () => stack(false),
    cross_attention: () => ({ encoding: layerEncoding('none', {}), causal: false }),
  });
}

export function readDeberta(c: Context): Reading {
  const heads = headsOf(c);
  const headDim = headDimOf(c);
  if (c.flag(['relative_attention'])?.value !== true) return readLearned(c);
  const limit = (key: string) => {
    const value = c.number([key], { min: -1, max: 65536, integer: true })?.value;
    return value === undefined || value < 1 ? undefined : value;
  };
  const buckets = limit('position_buckets');
  const maxDistance = limit('max_relative_positions') ?? limit('max_position_embeddings');
  if (maxDistance === undefined)
    throw c.missing(['max_relative_positions', 'max_position_embeddings']);
  c.ledger.note(
    'buckets',
    buckets ?? 0,
    buckets === undefined ? 'default' : 'given',
    'position_buckets',
  );
  c.ledger.note('maxDistance', maxDistance, 'derived', 'max_relative_positions');
  const terms = termsOf(c);
  const rows = 2 * (buckets ?? maxDistance);
  const needs = [
    ...(terms.includes('p2c') ? ['positionQuery'] : []),
    ...(terms.includes('c2p') ? ['positionKey'] : []),
  ];
  const message = 'rel_embeddings times the content projections' as const;
  const norm = c.find(['norm_rel_ebd']);
  return uniform(c, {
    full_attention: () => ({
      encoding: layerEncoding(
        'deberta',
        { heads, headDim, ...(buckets === undefined ? {} : { buckets }), maxDistance, terms },
        { needs, shapes: Object.fromEntries(needs.map((name) => [name, [rows, heads, headDim]])) },
      ),
      needs: [
        { what: 'projection', message },
        ...(norm === undefined
          ? []
          : [{ what: 'norm', value: 'rel_embeddings', message: 'normalise rel_embeddings first' }]),
      ],
    }),
  });
}

/** Written as a list, and as 'p2c|c2p' in older files. */
function termsOf(c: Context): string[] {
  const at = c.find(['pos_att_type']);
  const given =
    at === undefined
      ? undefined
      : typeof at.section.get(at.key) === 'string'
        ? at.section.string(at.key)?.split('|')
        : at.section.strings(at.key);
  const terms = ['c2p', 'p2c'].filter((term) => given === undefined || given.includes(term));
  c.ledger.note('terms', terms.join('|'), given === undefined ? 'default' : 'given', at?.path);
  return terms;
}

export function readTransformerXl(c: Context): Reading {
  const [heads, headDim] = [headsOf(c), c.take('headDim', ['d_head'], widths) ?? headDimOf(c)];
  const clamp = c.number(['clamp_len'], { min: -1, max: 1e9, integer: true });
  const options = {
    heads,
    headDim,
    ...(clamp !== undefined && clamp.value > 0 ? { clamp: clamp.value } : {}),
  };
  if (clamp !== undefined) c.enter('clamp', clamp);
  const shapes = { u: [heads, headDim], v: [heads, headDim] };
  return uniform(c, {
    full_attention: () => ({
      encoding: layerEncoding('transformer-xl', options, { needs: ['u', 'v', 'relative'], shapes }),
    }),
  });
}

/** Each stage has heads of its own; layers count through the stages. */
export function readSwin(c: Context): Reading {
  const at = c.find(['num_heads']);
  const perStage =
    at?.section.isList(at.key) === true ? at.section.numbers(at.key, counting) : undefined;
  if (perStage === undefined || perStage.length === 0) throw c.missing(['num_heads']);
  const depths = c.find(['depths']);
  const counts = depths?.section.numbers(depths.key, counting) ?? perStage.map(() => 2);
  const window = c.require('window', ['window_size'], { ...counting, max: 1024 });
  const second = c.modelType === 'swinv2';
  const trained = c.find(['pretrained_window_sizes']);
  const trainedAt = trained?.section.numbers(trained.key, { min: 0, max: 1024, integer: true });
  const network = ['hiddenWeight', 'hiddenBias', 'outWeight'];
  const ends = perStage.map((_, stage) => counts.slice(0, stage + 1).reduce((a, b) => a + b, 0));
  const stages = perStage.map((heads, stage) => [
    `stage_${stage + 1}`,
    () => ({
      encoding: layerEncoding(
        second ? 'swin-v2' : 'swin',
        {
          heads,
          window: [window, window],
          pretrainedWindow: second ? square(trainedAt?.[stage]) : undefined,
        },
        second
          ? { needs: network }
          : { needs: ['table'], shapes: { table: [(2 * window - 1) ** 2, heads] } },
      ),
    }),
  ]);
  const reading = uniform(c, Object.fromEntries(stages), (layer) => {
    const stage = ends.findIndex((end) => layer < end);
    return `stage_${(stage < 0 ? perStage.length - 1 : stage) + 1}`;
  });
  return { ...reading, layers: ends[ends.length - 1] };
}

const square = (side: number | undefined) => (side === undefined ? undefined : [side, side]);
