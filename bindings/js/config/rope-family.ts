// SPDX-License-Identifier: Apache-2.0
/** Models that rotate: one encoding for each kind of layer. */

import { type Context, counting, type Found, headDimOf, names, widths } from './context.js';
import { layerEncoding } from './layer-encoding.js';
import { type LayerMap, layerMap } from './layers.js';
import { findRopeDicts, type RopeDict } from './rope-dict.js';
import { type RopeGeometry, ropeEncoding } from './rope-plan.js';
import { scoreOptions } from './score-options.js';
import type { LayerEncoding, LayerKind } from './types.js';

/** What every reader of a family returns. */
export interface Reading {
  kinds: ReadonlyMap<string, LayerKind>;
  /** The kind of a layer that exists. */
  kindName(layer: number): string;
  layers?: number;
}

const unrotatedSuffix = '+nope';

export function readRope(c: Context): Reading {
  const map = layerMap(c);
  const headDim = latentWidth(c) ?? headDimOf(c);
  c.take('heads', names.heads, counting);
  c.take('keyHeads', ['num_key_value_heads', 'n_head_kv', 'multi_query_group_num'], counting);
  const dicts = findRopeDicts(
    c,
    map.types.filter((type) => type !== 'linear_attention'),
  );
  const kinds = new Map<string, LayerKind>();
  const kindName = (layer: number) =>
    `${map.type(layer)}${map.rotates(layer) ? '' : unrotatedSuffix}`;
  for (let layer = 0; layer < (map.count ?? 12); ++layer) {
    const name = kindName(layer);
    if (!kinds.has(name)) kinds.set(name, kind(c, name, map, layer, headDim, dicts));
  }
  return { kinds, kindName, ...(map.count === undefined ? {} : { layers: map.count }) };
}

function kind(
  c: Context,
  name: string,
  map: LayerMap,
  layer: number,
  headDim: number,
  dicts: ReturnType<typeof findRopeDicts>,
): LayerKind {
  const type = map.type(layer);
  const recurrent = type === 'linear_attention';
  const rotates = map.rotates(layer) && !positionless(c) && !recurrent;
  const dict = dicts.of(type);
  const [[encoding, facts], parameters] = c.ledger.apart(() => [
    rotates ? rotary(c, type, headDim, dict, dicts.nested) : layerEncoding('none', {}),
    scoreOptions(c, type, rotates, dict),
  ]);
  if (recurrent)
    facts.needs.push({
      what: 'recurrence',
      message: 'these layers are recurrent and have no attention',
    });
  if (encoding.options.scaleLogits === true)
    facts.needs.push({
      what: 'logitScale',
      message:
        'multiply scale by plan().logitScale, since a scale that is given is taken to the letter',
    });
  return { type: name, encoding, parameters, ...facts };
}

function rotary(
  c: Context,
  type: string,
  headDim: number,
  dict: RopeDict,
  nested: boolean,
): LayerEncoding {
  if (type === 'full_attention' && c.number(['global_head_dim'], widths) !== undefined)
    headDim = c.take('headDim', ['global_head_dim'], widths) ?? headDim;
  const old = qwenDynamic(c, headDim);
  if (old !== undefined) return old;
  const local = type === 'sliding_attention' && !nested;
  const geometry: RopeGeometry = { headDim };
  const base = local ? localBase(c) : nested ? undefined : globalBase(c);
  if (base !== undefined) geometry.base = base;
  if (local && (base !== undefined || c.family.scaled === 'full')) geometry.plain = true;
  return ropeEncoding(c, dict, geometry);
}

/** Gemma 3 and ModernBERT have a base of their own, never scaled, where there is a window. */
const localBase = (c: Context): Found | undefined =>
  c.number(['rope_local_base_freq', 'local_rope_theta'], { min: 1, above: true, max: 1e15 });
const globalBase = (c: Context): Found | undefined =>
  c.number(['global_rope_theta'], { min: 1, above: true, max: 1e15 });

/** Latent attention rotates a part of its own, as wide as this key says. */
function latentWidth(c: Context): number | undefined {
  const found = c.number(['qk_rope_head_dim'], widths);
  return found === undefined ? undefined : c.enter('headDim', found);
}

const positionless = (c: Context) =>
  c.word(['position_embedding_type'])?.value === 'nope' ||
  c.word(['position_encoding'])?.value === 'none';

/** Qwen 1 has flags instead of a dictionary; its rule rounds the ratio up to a power of two. */
function qwenDynamic(c: Context, headDim: number): LayerEncoding | undefined {
  const flag = c.flag(['use_dynamic_ntk']);
  if (flag?.value !== true) return undefined;
  c.enter('method', { ...flag, value: 'dynamic' });
  const plain = ropeEncoding(c, undefined, { headDim });
  const originalLength = c.require('originalLength', ['seq_length', 'max_position_embeddings'], {
    ...counting,
    max: 2 ** 53,
  });
  c.ledger.note('factor', 1, 'default');
  return layerEncoding('rope-dynamic-ntk', {
    ...plain.options,
    factor: 1,
    originalLength,
    variant: c.ledger.note('variant', 'qwen', 'derived', flag.path),
  });
}
