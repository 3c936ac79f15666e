// SPDX-License-Identifier: Apache-2.0
// Two configurations: only what differs in a number that is in force.
import { h } from '../../dom.ts';
import { valueText } from './parts.ts';
import type { KindRead, Reading } from './read.ts';

export interface Difference {
  readonly name: string;
  readonly here: unknown;
  readonly there: unknown;
}

function facts(
  { model }: Reading,
  { kind, info, turning, trained }: KindRead,
): Map<string, unknown> {
  const found = new Map<string, unknown>([['method', info.title]]);
  for (const [name, value] of Object.entries(kind.encoding.options)) found.set(name, value);
  for (const [name, value] of Object.entries(kind.attention)) found.set(`attention.${name}`, value);
  for (const { what, value } of kind.needs) found.set(`needs ${what}`, value ?? true);
  found.set('trained length', trained);
  found.set('layers', model.layers);
  if (turning) {
    found.set('attention factor', turning.attentionFactor);
    found.set('logits times', turning.logits);
    found.set('pairs that never complete a turn', turning.never);
    const slowest = Math.min(...turning.frequencies.filter((f) => f > 0));
    found.set('longest wavelength', (2 * Math.PI) / slowest);
  }
  return found;
}

/** Kinds of layers are compared by name, or the first with the first. */
export function differences(here: Reading, there: Reading, type: string): Difference[] {
  const find = ({ kinds }: Reading): KindRead | undefined =>
    kinds.find(({ kind }) => kind.type === type) ?? kinds[0];
  const [a, b] = [find(here), find(there)];
  if (!a || !b) return [];
  const [ours, theirs] = [facts(here, a), facts(there, b)];
  const found = [...new Set([...ours.keys(), ...theirs.keys()])]
    .map((name) => ({ name, here: ours.get(name), there: theirs.get(name) }))
    .filter((one) => JSON.stringify(one.here) !== JSON.stringify(one.there));
  const [f, g] = [a.turning?.frequencies, b.turning?.frequencies];
  if (f && g && f.length === g.length) {
    const most = f.reduce(
      (so, value, i) => Math.max(so, Math.abs(Math.log(value / (g[i] as number))) || 0),
      0,
    );
    if (most > 0)
      found.push({
        name: 'largest ratio of two frequencies',
        here: Number(Math.exp(most).toPrecision(6)),
        there: 1,
      });
  }
  return found;
}

export function differenceTable(found: readonly Difference[], name: string): HTMLElement {
  if (!found.length)
    return h('p', { class: 'finding-none' }, `Not one number in force differs from ${name}.`);
  return h(
    'table',
    { class: 'origins' },
    h('caption', {}, `${found.length} ${found.length === 1 ? 'number differs' : 'numbers differ'}`),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['Number in force', 'Here', name].map((one) => h('th', { scope: 'col' }, one)),
      ),
    ),
    h(
      'tbody',
      {},
      ...found.map((one) =>
        h(
          'tr',
          { 'data-parameter': one.name },
          h('th', { scope: 'row' }, one.name),
          h('td', { class: 'number' }, valueText(one.here)),
          h('td', { class: 'number' }, valueText(one.there)),
        ),
      ),
    ),
  );
}
