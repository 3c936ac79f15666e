// SPDX-License-Identifier: Apache-2.0
// One line per method: what it was told, and what came of it.
import type { Beyond, Failure, Method, Setup } from '../../compute/beyond.ts';
import { h } from '../../dom.ts';
import { exact } from '../../draw/scale.ts';
import { download } from '../../parts/save.ts';
import { type Looks, toldTo } from './figures.ts';

const finite = (ratios: Float64Array): number[] => [...ratios].filter(Number.isFinite);
const columns: readonly (readonly [name: string, of: (method: Method) => number | string])[] = [
  ['told', toldTo],
  ['least frequency ratio', ({ ratios }) => Math.min(...finite(ratios))],
  ['greatest frequency ratio', ({ ratios }) => Math.max(...finite(ratios))],
  ['pairs at new angles', ({ unseenAtTarget }) => unseenAtTarget],
  ['neighbours, fastest 8', ({ resolution }) => resolution],
  ['logits times', ({ logits }) => logits],
  [
    'longest distance acts as',
    ({ distances, envelope }) => distances?.at(-1) ?? (envelope.length ? Number.NaN : 0),
  ],
];

const shown = (value: number | string): string =>
  typeof value === 'string'
    ? value
    : Number.isFinite(value)
      ? String(Number(value.toPrecision(5)))
      : '—';

export function summary({ methods, failures }: Beyond, looks: Looks): HTMLElement {
  return h(
    'table',
    { class: 'origins summary', id: 'beyond-summary' },
    h('caption', {}, 'All methods in numbers'),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['method', ...columns.map(([name]) => name)].map((name) =>
          h('th', { scope: 'col' }, name),
        ),
      ),
    ),
    h(
      'tbody',
      {},
      ...methods.map((method) =>
        h(
          'tr',
          { 'data-method': method.info.id },
          h(
            'th',
            { scope: 'row' },
            `${looks.get(method.info.id)?.letter ?? ''} ${method.info.title}`,
          ),
          ...columns.map(([name, of]) => {
            const value = of(method);
            return typeof value === 'string'
              ? h('td', { 'data-column': name }, value)
              : h(
                  'td',
                  {
                    class: 'number',
                    'data-column': name,
                    'data-value': String(value),
                    title: exact(value),
                  },
                  shown(value),
                );
          }),
        ),
      ),
      ...failures.map(({ info, message }: Failure) =>
        h(
          'tr',
          { class: 'failed' },
          h('th', { scope: 'row' }, info.title),
          h('td', { colspan: columns.length }, message),
        ),
      ),
    ),
  );
}

export function saveSummary({ methods }: Beyond, setup: Setup): void {
  const quoted = (text: string): string =>
    /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  const lines = [
    `# ${Object.entries(setup)
      .filter(([, value]) => typeof value === 'number')
      .map(([name, value]) => `${name}=${value}`)
      .join(', ')}`,
    `# ${location.href}`,
    ['method', ...columns.map(([name]) => name)].map(quoted).join(','),
    ...methods.map((method) =>
      [method.info.title, ...columns.map(([, of]) => String(of(method)))].map(quoted).join(','),
    ),
  ];
  download('methods.csv', new Blob([`${lines.join('\n')}\n`], { type: 'text/csv' }));
}
