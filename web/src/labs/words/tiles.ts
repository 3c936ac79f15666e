// SPDX-License-Identifier: Apache-2.0
// Numbers beside the sentence: how far A and B differ, what a move of the words changes under each, and what a sink takes.
import { box, h } from '../../dom.ts';
import { scientific } from '../../draw/scale.ts';
import { still } from './notice.ts';
import { percent } from './text.ts';

export function tilesOf(
  mean: number,
  moved: boolean,
  /** Largest change of a weight by the move, under each encoding. */
  rigid: readonly [number, number],
  sunk: readonly [number, number] | undefined,
  found: readonly [number, number] | undefined,
): HTMLElement[] {
  const rows: readonly (readonly [name: string, value: string, note: string, exact: number])[] = [
    ['Attention elsewhere', percent(mean), 'mean total variation of A and B', mean],
    ...(['A', 'B'] as const).map((letter, which): [string, string, string, number] => [
      `${letter} when words move`,
      moved ? scientific(rigid[which] ?? 0) : '—',
      moved
        ? (rigid[which] ?? 0) <= still
          ? 'the map moves along'
          : 'largest change of a weight'
        : 'shuffle to see',
      rigid[which] ?? 0,
    ]),
    ...(found ?? []).map((share, which): [string, string, string, number] => [
      `${'AB'[which]} on the answer`,
      percent(share),
      'where one is asked for',
      share,
    ]),
    ...(sunk
      ? [
          [
            'Into the sink',
            sunk.map(percent).join(' | '),
            'A | B, mean of all words',
            sunk[0],
          ] as const,
        ]
      : []),
  ];
  return rows.map(([name, value, note, exact]) =>
    box(
      'tile',
      h('dt', {}, name),
      h('dd', { class: 'tile-value', 'data-value': exact }, value),
      h('dd', { class: 'tile-note' }, note),
    ),
  );
}
