// SPDX-License-Identifier: Apache-2.0
import { measureShift } from '../compute/invariance.ts';
import { box, h } from '../dom.ts';
import { scientific } from '../draw/scale.ts';
import { type Engine, problemOf } from '../engine.ts';
import { type EncodingInfo, sitesInWords } from '../model/manifest.ts';
import type { Settings } from '../model/settings.ts';
import { formula } from '../parts/formula.ts';
import formulas from '../parts/formula.ts?written';

/** Weights are at most 1; a few units in the last place of float32, after exponentials, are still "unchanged". */
const unchanged = 2e-5;
const positionsText = {
  real: 'any number, also fractions',
  integer: 'whole numbers',
  index: 'whole numbers that index a table',
} as const;

function shiftText(engine: Engine, info: EncodingInfo, settings: Settings): string {
  try {
    const { error, by } = measureShift(engine, info, settings);
    const kept = error <= unchanged;
    const agrees =
      kept === info.relative
        ? ''
        : info.relative
          ? ' Yet it is listed as relative.'
          : ' At these sizes only.';
    return `${kept ? '✓ unchanged' : '✗ changed'}: largest change of a weight ${scientific(error)} when all positions move by ${[...new Set(by)].join(' and ')}.${agrees}`;
  } catch (error) {
    return `not measured: ${problemOf(error).message}`;
  }
}

export function facts(engine: Engine, info: EncodingInfo, settings: Settings): HTMLElement {
  const row = (name: string, ...value: (Node | string)[]): HTMLElement[] => [
    h('dt', {}, name),
    h('dd', {}, ...value),
  ];
  return box(
    'facts',
    h('h3', {}, info.title),
    h('p', { class: 'facts-summary' }, info.summary),
    formula(info.formula, formulas[info.id]),
    h(
      'dl',
      {},
      ...row('Acts', sitesInWords(info)),
      ...row(
        'Sees',
        info.sites.length
          ? info.relative
            ? 'only distances'
            : 'absolute positions'
          : 'no positions',
      ),
      ...row('Shift', h('span', { class: 'measured' }, shiftText(engine, info, settings))),
      ...row('Positions', positionsText[info.positions]),
      ...(info.usedBy.length ? row('Used by', info.usedBy.join(', ')) : []),
      ...row(
        'Source',
        ...(info.url
          ? [h('a', { href: info.url, rel: 'noreferrer' }, info.paper)]
          : [info.paper || '—']),
      ),
    ),
  );
}
