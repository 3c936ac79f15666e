// SPDX-License-Identifier: Apache-2.0
// What differs between two configurations in effect: keys that change nothing do not show.

import { frequenciesOf } from 'posenc';
import { printable } from './report.mjs';

export function compare(model, other, json) {
  const [a, b] = [model, other].map(effect);
  const names = [...new Set([...a.keys(), ...b.keys()])];
  const rows = names
    .filter((name) => JSON.stringify(a.get(name)) !== JSON.stringify(b.get(name)))
    .map((name) => ({ name, here: a.get(name), there: b.get(name) }));
  if (json) return { text: `${JSON.stringify(rows, null, 2)}\n`, differences: rows.length };
  const lines = rows.map(({ name, here, there }) => `${name}: ${shown(here)} | ${shown(there)}`);
  if (lines.length === 0) lines.push('no difference in effect');
  return { text: `${lines.map(printable).join('\n')}\n`, differences: rows.length };
}

/** Everything that changes a number, by name. */
function effect(model) {
  const facts = new Map([['trainedLength', model.trainedLength]]);
  const single = model.kinds.size === 1;
  for (const [type, kind] of model.kinds) {
    const prefix = single ? '' : `${type}.`;
    facts.set(`${prefix}encoding`, kind.encoding.id);
    for (const [name, value] of Object.entries(kind.encoding.options))
      facts.set(`${prefix}${name}`, value);
    for (const [name, value] of Object.entries(kind.attention))
      facts.set(`${prefix}attention.${name}`, value);
    for (const { what, value } of kind.needs) facts.set(`${prefix}needs.${what}`, value ?? true);
    const found = frequenciesOf(kind.encoding, model.trainedLength ?? 0);
    if (found === undefined) continue;
    facts.set(
      `${prefix}longestWavelength`,
      (2 * Math.PI) / Math.min(...found.values.filter(Boolean)),
    );
    facts.set(`${prefix}attentionFactor`, found.attentionFactor);
    facts.set(`${prefix}logitScale`, found.logitScale);
  }
  return facts;
}

function shown(value) {
  if (value === undefined) return 'absent';
  const text =
    typeof value === 'number' ? String(Number(value.toPrecision(8))) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
