// SPDX-License-Identifier: Apache-2.0
/** Models that add positions to their embeddings: trained tables and sinusoids. */

import { alibi } from './alibi.js';
import { type Context, counting, headDimOf, names } from './context.js';
import { layerEncoding } from './layer-encoding.js';
import { type Reading, readRope } from './rope-family.js';
import type { LayerEncoding, Need } from './types.js';
import { type One, uniform } from './uniform.js';

const rowsKeys = names.length;

/** Rows before that of position 0: none, a number, or one past the padding index. */
function reservedOf(c: Context): number {
  const { reserved = 0 } = c.family;
  if (typeof reserved === 'number') return c.ledger.note('offset', reserved, 'default');
  const padding = c.number(['pad_token_id', 'padding_idx'], { min: 0, max: 1e6, integer: true });
  const found = padding ?? { value: 1, provenance: 'default' as const };
  return c.enter('offset', {
    ...found,
    value: found.value + 1,
    provenance: found.provenance === 'given' ? 'derived' : 'default',
  });
}

/** A table; OPT and BART count their reserved rows on top of the given length, RoBERTa within it. */
export function learned(c: Context, keys: readonly string[] = rowsKeys): LayerEncoding {
  const offset = reservedOf(c);
  const given = c.number(keys, { ...counting, max: 2 ** 31 });
  if (given === undefined) throw c.missing(keys);
  const within = c.family.reserved === 'padding';
  const rows = within ? given.value : given.value + offset;
  const usable = within ? given.value - offset : given.value;
  if (usable < 1)
    throw c.inconsistent(given.path ?? keys[0], `more than the ${offset} reserved rows`, rows, {
      rows,
      reserved: offset,
    });
  c.enter('trainedLength', {
    ...given,
    value: usable,
    provenance: usable === given.value ? given.provenance : 'derived',
  });
  const width = c.number(names.hidden, counting);
  return layerEncoding(
    'learned',
    { offset },
    {
      needs: ['table'],
      ...(width === undefined ? {} : { shapes: { table: [rows, width.value] } }),
    },
  );
}

/** The same in both stacks, or in all layers of a model that has but one. */
function stacked(c: Context, read: () => One): Reading {
  if (c.family.stacks !== true) return uniform(c, { full_attention: read });
  return uniform(c, {
    encoder: () => ({ ...read(), causal: false }),
    decoder: () => ({ ...read(), causal: true }),
    cross_attention: () => ({ encoding: layerEncoding('none', {}), causal: false }),
  });
}

export const readLearned = (c: Context): Reading =>
  stacked(c, () => ({ encoding: learned(c), needs: localLayers(c) }));

/** GPT-Neo writes its windows by layer in a notation of its own. */
function localLayers(c: Context): Need[] {
  if (c.find(['attention_types', 'attention_layers']) === undefined) return [];
  const value = c.number(['window_size'], counting)?.value;
  const message = 'layers that attention_types calls local see so many keys';
  return value === undefined ? [] : [{ what: 'window', value, message }];
}

/** BERT's `position_embedding_type` selects between a table and the three kinds of relatives. */
export function readBert(c: Context): Reading {
  const kind = c.word(['position_embedding_type']);
  const name = kind?.value ?? 'absolute';
  c.ledger.note('positionType', name, kind === undefined ? 'default' : 'given', kind?.path);
  if (name === 'rotary' || name === 'rope') return readRope(c);
  if (name === 'alibi')
    return uniform(c, { full_attention: () => ({ encoding: alibi(c, {}, 'symmetric') }) });
  if (c.flag(['sinusoidal_pos_embds'])?.value === true)
    return stacked(c, () => ({ encoding: sinusoidal(c, { layout: 'interleaved' }) }));
  if (!name.startsWith('relative_key')) return readLearned(c);
  const both = name === 'relative_key_query';
  return uniform(c, {
    full_attention: () => {
      const headDim = headDimOf(c);
      const rows = c.require('rows', names.length, { ...counting, max: 65536 });
      const tables = both ? ['keyTable', 'queryTable'] : ['keyTable'];
      const shape = [2 * rows - 1, headDim];
      return {
        encoding: layerEncoding(
          'shaw',
          { headDim, maxDistance: c.ledger.note('maxDistance', rows - 1, 'derived') },
          { needs: tables, shapes: Object.fromEntries(tables.map((table) => [table, shape])) },
        ),
        needs: [
          {
            what: 'order',
            value: 'reversed',
            message: 'distance_embedding counts query minus key: turn its rows around',
          },
        ],
      };
    },
  });
}

export const readSinusoidal = (c: Context): Reading =>
  stacked(c, () => ({ encoding: sinusoidal(c, { layout: 'half' }) }));

interface Sinusoid {
  rule?: 'paper' | 't2t';
  layout: 'half' | 'interleaved';
}

function sinusoidal(c: Context, { rule, layout }: Sinusoid): LayerEncoding {
  const dim = c.require('dim', names.hidden, { ...counting, max: 65536 });
  const frequencies = rule ?? (c.family.assumes?.frequencies === 't2t' ? 't2t' : 'paper');
  // Which rule and order hold is in no file: it follows from the reader of the family.
  c.ledger.note('frequencies', frequencies, 'default');
  c.ledger.note('layout', layout, 'default');
  const start = c.family.reserved === 'padding' ? reservedOf(c) : 0;
  c.ledger.note('start', start, c.family.reserved === 'padding' ? 'derived' : 'default');
  return layerEncoding('sinusoidal', { dim, frequencies, layout, start });
}

/** Whisper: sinusoids in the encoder, a table in the decoder. */
export function readSpeech(c: Context): Reading {
  return uniform(c, {
    encoder: () => {
      const encoding = sinusoidal(c, { rule: 't2t', layout: 'half' });
      c.take('trainedLength', ['max_source_positions'], counting);
      return { encoding, causal: false };
    },
    decoder: () => ({ encoding: learned(c, ['max_target_positions']), causal: true }),
    cross_attention: () => ({ encoding: layerEncoding('none', {}), causal: false }),
  });
}
