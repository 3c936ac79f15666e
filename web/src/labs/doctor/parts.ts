// SPDX-License-Identifier: Apache-2.0
// The pieces of a reading as elements: warnings, origins, differences.
import type { ConfigWarning, Parameter } from 'posenc';
import { box, h } from '../../dom.ts';
import type { Fault, KindRead, Reading } from './read.ts';
import { type Rule, rules } from './rules.ts';
import { figures } from './verdict.ts';

/** A value of a configuration as short text. */
export function valueText(value: unknown): string {
  if (Array.isArray(value))
    return value.length > 6
      ? `${value.length} numbers, ${value[0]} … ${value.at(-1)}`
      : value.join(', ');
  if (value === undefined || value === null) return '—';
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, one]) => `${name} ${valueText(one)}`)
      .join(', ');
  return String(value);
}

const source = ({ source }: Rule): Node[] =>
  source
    ? [h('p', {}, 'Met in ', h('a', { href: source.url, rel: 'noreferrer' }, source.text), '.')]
    : [];

function card(
  code: string | undefined,
  severity: 'warning' | 'note' | 'error',
  path: string | undefined,
  message: string,
  more: readonly Node[] = [],
): HTMLElement {
  const rule = code === undefined ? undefined : rules[code];
  return h(
    'li',
    {
      class: `finding ${severity}`,
      ...(code === undefined ? {} : { 'data-rule': code, id: `finding-${code}` }),
      tabindex: -1,
    },
    h(
      'p',
      { class: 'finding-head' },
      h('b', { class: 'finding-level' }, severity),
      ...(code === undefined ? [] : [h('span', { class: 'finding-code' }, code)]),
      ...(path === undefined ? [] : [h('code', {}, path)]),
    ),
    ...(rule ? [h('h4', {}, rule.what)] : []),
    h('p', {}, message),
    ...more,
    ...(rule
      ? [h('p', { class: 'finding-fix' }, h('b', {}, 'What to do: '), rule.fix), ...source(rule)]
      : []),
  );
}

export function findings(warnings: readonly ConfigWarning[]): HTMLElement {
  const ranked = [...warnings].sort(
    (a, b) =>
      Number(b.severity === 'warning') - Number(a.severity === 'warning') ||
      a.code.localeCompare(b.code),
  );
  if (!ranked.length)
    return h(
      'p',
      { class: 'finding-none' },
      'Nothing to remark: no reader of this file is known to go wrong.',
    );
  return h(
    'ul',
    { class: 'findings' },
    ...ranked.map(({ code, severity, path, message, seen, used }) =>
      card(code, severity, path, `${message}.`, [
        h(
          'p',
          { class: 'finding-values' },
          'seen ',
          h('code', {}, valueText(seen)),
          ' · used ',
          h('code', {}, valueText(used)),
        ),
      ]),
    ),
  );
}

export const faultCard = ({ message, path, rule }: Fault): HTMLElement =>
  h('ul', { class: 'findings' }, card(rule, 'error', path, message));

export const figureTiles = (one: KindRead): HTMLElement =>
  h(
    'dl',
    { class: 'tiles' },
    ...figures(one).map(({ name, value, note, exact }) =>
      box(
        'tile',
        h('dt', {}, name),
        h(
          'dd',
          { class: 'tile-value', ...(exact === undefined ? {} : { 'data-value': exact }) },
          value,
        ),
        h('dd', { class: 'tile-note' }, note),
      ),
    ),
  );

const origins: Record<Parameter['provenance'], string> = {
  given: 'given',
  default: 'default',
  derived: 'derived',
  ignored: 'ignored',
};

/** Parameters of all layers and of this kind, without the other kinds' of the same name. */
export function parametersOf({ model }: Reading, { kind }: KindRead): readonly Parameter[] {
  const names = [...model.kinds.keys()];
  const own = new Map(kind.parameters.map((one) => [one.name, one]));
  const shared = model.parameters.filter(
    ({ name }) => !own.has(name) && !names.some((type) => name.startsWith(`${type}.`)),
  );
  const others =
    model.kinds.size > 1 ? [...model.kinds.values()].filter((one) => one !== kind) : [];
  const foreign = new Set(others.flatMap((one) => one.parameters.map(({ name }) => name)));
  return [...own.values(), ...shared.filter(({ name }) => !foreign.has(name))];
}

export function originTable(reading: Reading, one: KindRead): HTMLElement {
  const warned = new Map(reading.model.warnings.map(({ path, code }) => [path, code]));
  return h(
    'table',
    { class: 'origins' },
    h('caption', {}, 'Every number in force, and where it comes from'),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['Parameter', 'Value', 'Origin', 'Where'].map((name) => h('th', { scope: 'col' }, name)),
      ),
    ),
    h(
      'tbody',
      {},
      ...parametersOf(reading, one).map(({ name, value, provenance, path }) => {
        const code = path === undefined ? undefined : warned.get(path);
        return h(
          'tr',
          { 'data-parameter': name },
          h('th', { scope: 'row' }, name),
          h('td', { class: 'number' }, valueText(value)),
          h('td', {}, h('span', { class: `origin ${provenance}` }, origins[provenance])),
          h(
            'td',
            {},
            ...(path === undefined ? ['the reader'] : [h('code', {}, path)]),
            ...(code === undefined
              ? []
              : [
                  ' ',
                  h(
                    'button',
                    {
                      type: 'button',
                      class: 'quiet',
                      'aria-label': `Go to ${code}`,
                      click: () => document.getElementById(`finding-${code}`)?.focus(),
                    },
                    code,
                  ),
                ]),
          ),
        );
      }),
    ),
  );
}
