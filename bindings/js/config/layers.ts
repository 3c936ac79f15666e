// SPDX-License-Identifier: Apache-2.0
/** Which layer is of which type: windows, whole attention, chunks, and layers that do not rotate. */

import { type Context, counting, names } from './context.js';

export interface LayerMap {
  /** The type of a layer: 'full_attention', 'sliding_attention', 'chunked_attention'. */
  type(layer: number): string;
  /** Whether the layer rotates at all. */
  rotates(layer: number): boolean;
  readonly types: readonly string[];
  readonly count?: number;
}

const full = 'full_attention';
const sliding = 'sliding_attention';
const mostLayers = 4096;
const mostTypes = 16;

export function layerMap(c: Context): LayerMap {
  const declared = c.take('layers', names.layers, { ...counting, max: mostLayers });
  const listed = c.find(['layer_types']);
  const types = listed?.section.strings(listed.key);
  if (types !== undefined && listed !== undefined) {
    if (declared !== undefined && types.length !== declared)
      throw listed.section.fault(
        'INCONSISTENT',
        listed.key,
        `a list of num_hidden_layers, ${declared}`,
        types.length,
        { length: types.length, layers: declared },
      );
    const distinct = new Set(types).size;
    if (types.length === 0 || types.length > mostLayers || distinct > mostTypes)
      throw listed.section.fault(
        types.length === 0 ? 'INCONSISTENT' : 'TOO_COMPLEX',
        listed.key,
        `a list of 1 to ${mostLayers} layers of at most ${mostTypes} types`,
        types.length,
      );
    c.ledger.note('layerTypes', [...new Set(types)].join(', '), 'given', listed.path);
  }
  const type = types === undefined ? byPattern(c) : (layer: number) => types[layer] ?? full;
  const rotates = rotation(c, type);
  // Without a count, one period of every known pattern: 2, 3, 4 and 6 layers.
  const count = types?.length ?? declared;
  const seen = Array.from({ length: count ?? 12 }, (_, layer) => type(layer));
  return {
    type,
    rotates,
    types: [...new Set(seen)],
    ...(count === undefined ? {} : { count }),
  };
}

function byPattern(c: Context): (layer: number) => string {
  const { family } = c;
  const chunk = c.number(['attention_chunk_size'], counting);
  const near = chunk === undefined ? sliding : 'chunked_attention';
  if (chunk !== undefined && family.unrotated === 'listed') {
    const rotates = rotation(c, () => near);
    return (layer) => (rotates(layer) ? near : full);
  }
  const window = windowOf(c);
  const every =
    c.number(
      ['sliding_window_pattern', '_sliding_window_pattern', 'global_attn_every_n_layers'],
      counting,
    )?.value ?? family.fullEvery;
  if (window === undefined) return () => full;
  if (every !== undefined) {
    const first = family.fullFirst === true ? 0 : 1;
    return (layer) => ((layer + first) % every === 0 ? full : near);
  }
  const from = c.number(['max_window_layers'], { min: 0, max: mostLayers, integer: true })?.value;
  return family.windowOff === true && from !== undefined
    ? (layer) => (layer >= from ? near : full)
    : () => near;
}

/** Keys seen with the query's own; undefined where there is no window or it is switched off. */
export function windowOf(c: Context): number | undefined {
  const found = c.number(['sliding_window', 'sliding_window_size', 'local_attention'], {
    min: 0,
    max: 2 ** 53,
    integer: true,
  });
  if (found === undefined || found.value === 0) return undefined;
  const on = c.flag(['use_sliding_window']);
  if (
    on?.value === false ||
    (on === undefined && c.family.windowOff === true && !hasListedWindow(c))
  ) {
    c.ledger.note('window', found.value, 'ignored', found.path);
    return undefined;
  }
  return found.value;
}

const hasListedWindow = (c: Context) => {
  const listed = c.find(['layer_types']);
  return listed?.section.strings(listed.key)?.includes(sliding) === true;
};

function rotation(c: Context, type: (layer: number) => string): (layer: number) => boolean {
  const { unrotated } = c.family;
  // Where there is no window all layers are whole, and all of them rotate.
  if (unrotated === 'full')
    return windowOf(c) === undefined ? () => true : (layer) => type(layer) !== full;
  if (unrotated !== 'listed') return () => true;
  const listed = c.find(['no_rope_layers']);
  const flags = listed?.section.numbers(listed.key, { min: 0, max: mostLayers, integer: true });
  // Despite its name the list has a 1 for each layer that rotates.
  if (flags !== undefined && flags.length > 0) return (layer) => (flags[layer] ?? 1) !== 0;
  const every = c.number(['no_rope_layer_interval'], counting)?.value;
  return every === undefined ? () => true : (layer) => (layer + 1) % every !== 0;
}
