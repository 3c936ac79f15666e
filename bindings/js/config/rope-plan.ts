// SPDX-License-Identifier: Apache-2.0
/** From geometry and dictionary to the rotary encoding of one kind of layer. */

import { type Context, counting, type Found } from './context.js';
import { layerEncoding } from './layer-encoding.js';
import { type Method, methodOf, noteIgnored, type RopeDict } from './rope-dict.js';
import type { Draft } from './rope-draft.js';
import { scalings } from './rope-scalings.js';
import type { Section } from './section.js';
import type { LayerEncoding } from './types.js';

export interface RopeGeometry {
  headDim: number;
  /** The base of these layers where the dictionary has none. */
  base?: Found;
  /** Unscaled whatever the dictionary says. */
  plain?: boolean;
}

const always = ['rope_type', 'type', 'rope_theta', 'partial_rotary_factor', 'llama_4_scaling_beta'];

export function ropeEncoding(c: Context, dict: RopeDict, geometry: RopeGeometry): LayerEncoding {
  if (dict === null) return layerEncoding('none', {});
  const section = dict ?? undefined;
  const named: { method: Method; path?: string } =
    section === undefined || geometry.plain === true ? { method: 'default' } : methodOf(c, section);
  const { method } = named;
  c.ledger.note('method', method, named.path === undefined ? 'default' : 'given', named.path);

  const { headDim } = geometry;
  const rotaryDim = rotaryDimOf(c, section, headDim, method);
  const draft: Draft = {
    method,
    headDim,
    rotaryDim,
    options: { headDim, rotaryDim, base: baseOf(c, section, geometry), layout: layoutOf(c) },
    used: [...always, 'mrope_section', 'mrope_interleaved'],
  };
  if (method === 'proportional') delete draft.options.rotaryDim;
  const id = section === undefined ? 'rope' : scalings[method](c, section, draft);
  const mrope = section === undefined ? undefined : sectionsOf(c, section, draft);
  // Flat dictionaries name keys of all layer types; those of a plain one are another's.
  if (section !== undefined && geometry.plain !== true) noteIgnored(c, section, draft.used);
  if (mrope === undefined) return layerEncoding(id, draft.options);
  if (id === 'rope') return layerEncoding('mrope', { ...draft.options, ...mrope.options });
  c.ledger.warn(
    'W05',
    mrope.path,
    'sections together with a scaling: right for text only, where the three axes are equal',
    mrope.options.sections,
    id,
  );
  return layerEncoding(id, draft.options);
}

function layoutOf(c: Context): 'half' | 'interleaved' {
  // DeepSeek's later configurations say it themselves.
  const interleaved = c.flag(['rope_interleave', 'rope_interleaved']);
  if (interleaved?.provenance === 'given' && interleaved.path !== undefined)
    return c.enter('layout', {
      value: interleaved.value ? 'interleaved' : 'half',
      provenance: 'given',
      path: interleaved.path,
    });
  const value = c.family.layout ?? 'half';
  return c.enter('layout', { value, provenance: 'default' });
}

/** Dictionary, then root, then what the family assumes, then 10000. */
function baseOf(c: Context, dict: Section | undefined, { base, plain }: RopeGeometry): number {
  const rules = { min: 1, above: true, max: 1e15 };
  const root = base ?? rootBase(c);
  const inside =
    plain === true && base !== undefined ? undefined : dict?.number('rope_theta', rules);
  if (inside === undefined || dict === undefined)
    return sane(c, c.enter('base', root ?? { value: 10000, provenance: 'default' }), root?.path);
  const path = dict.pathOf('rope_theta');
  if (root?.provenance !== 'given')
    c.ledger.warn(
      'W03',
      path,
      'only here: readers of version 4 look at the root and take 10000',
      inside,
      inside,
      'note',
    );
  else if (root.value !== inside) {
    c.ledger.warn(
      'W03',
      path,
      `the root says ${root.value}, which older readers take`,
      inside,
      inside,
    );
    c.ledger.note(root.path ?? 'rope_theta', root.value, 'ignored', root.path);
  }
  return sane(c, c.enter('base', { value: inside, provenance: 'given', path }), path);
}

function rootBase(c: Context): Found | undefined {
  const given = c.number(['rope_theta', 'rotary_emb_base', 'rope_base'], {
    min: 1,
    above: true,
    max: 1e15,
  });
  const ratio = c.number(['rope_ratio'], { min: 0, above: true, max: 1e9 });
  if (ratio === undefined || given?.provenance === 'given') return given;
  return { ...ratio, value: 10000 * ratio.value, provenance: 'derived' };
}

function sane(c: Context, base: number, path = 'rope_theta'): number {
  if (base < 10000)
    c.ledger.warn('W17', path, 'no language model is known with a base below 10000', base, base);
  return base;
}

function rotaryDimOf(
  c: Context,
  dict: Section | undefined,
  headDim: number,
  method: Method,
): number {
  if (method === 'proportional') return headDim;
  const fraction = { min: 0, above: true, max: 1 };
  const exact = c.number(['rotary_dim'], counting);
  if (exact?.provenance === 'given') return checked(c.enter('rotaryDim', exact), exact.path);
  const inside = dict?.number('partial_rotary_factor', fraction);
  const found: Found | undefined =
    inside !== undefined && dict !== undefined
      ? { value: inside, provenance: 'given', path: dict.pathOf('partial_rotary_factor') }
      : c.number(['partial_rotary_factor', 'rotary_pct', 'rope_pct'], fraction);
  if (found === undefined && exact !== undefined) return checked(c.enter('rotaryDim', exact));
  if (found === undefined)
    return checked(c.enter('rotaryDim', { value: headDim, provenance: 'default' }));
  // A fraction such as 0.1 of 80 must not lose a channel to rounding.
  const width = Math.floor(headDim * found.value + 1e-9);
  if (exact !== undefined) c.ledger.note('rotary_dim', exact.value, 'ignored', exact.path);
  return checked(
    c.enter('rotaryDim', {
      value: width,
      provenance: found.provenance === 'given' ? 'derived' : 'default',
      ...(found.path === undefined ? {} : { path: found.path }),
    }),
    found.path,
  );

  function checked(width: number, path = c.text.pathOf('head_dim')): number {
    if (width % 2 === 0 && width >= 2 && width <= headDim) return width;
    throw c.inconsistent(
      path,
      `such that an even number of the ${headDim} channels rotates`,
      width,
      { rotaryDim: width, headDim, warning: 'W11' },
    );
  }
}

interface Sections {
  options: { sections: readonly number[]; interleaved: boolean };
  path: string;
}

function sectionsOf(c: Context, dict: Section, { rotaryDim }: Draft): Sections | undefined {
  const legacy = dict.get('type') === 'mrope' || dict.get('rope_type') === 'mrope';
  const sections = dict.numbers('mrope_section', { min: 0, max: 4096, integer: true });
  const path = dict.pathOf('mrope_section');
  if (sections === undefined) {
    if (legacy) throw dict.fault('MISSING_KEY', 'mrope_section', 'given for type mrope', undefined);
    return undefined;
  }
  if (legacy)
    c.ledger.warn(
      'W05',
      dict.pathOf(dict.get('type') === 'mrope' ? 'type' : 'rope_type'),
      'mrope is no method of scaling: readers rename it to default',
      'mrope',
      'default with mrope_section',
      'note',
    );
  const sum = sections.reduce((a, b) => a + b, 0);
  if (sum !== rotaryDim / 2)
    throw dict.fault(
      'INCONSISTENT',
      'mrope_section',
      `${rotaryDim / 2} pairs in all, half the rotary width`,
      sum,
      { rotaryDim, sections },
    );
  const interleaved = dict.boolean('mrope_interleaved');
  c.ledger.note('sections', sections, 'given', path);
  c.ledger.note(
    'interleaved',
    interleaved ?? false,
    interleaved === undefined ? 'default' : 'given',
    dict.pathOf('mrope_interleaved'),
  );
  return { options: { sections, interleaved: interleaved ?? false }, path };
}
