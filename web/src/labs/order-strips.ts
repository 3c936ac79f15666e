// SPDX-License-Identifier: Apache-2.0
// Per word its output before and after, matched by the word and not by the place.
import type { Comparison } from '../compute/layer.ts';
import { layer } from '../compute/layer.ts';
import { h } from '../dom.ts';
import { paint } from '../draw/raster.ts';
import { scientific } from '../draw/scale.ts';
import { diverging } from '../model/colour.ts';

function strip(
  values: Float32Array,
  most: number,
  dark: boolean,
  label: string,
): HTMLCanvasElement {
  const canvas = h('canvas', { class: 'strip', role: 'img', 'aria-label': label });
  paint(
    canvas,
    { columns: values.length, rows: 1, cells: values },
    0,
    values.length,
    { width: values.length, height: 1 },
    { low: -most, high: most },
    diverging(dark),
  );
  return canvas;
}

export function strips(
  words: readonly string[],
  order: readonly number[],
  twins: readonly string[],
  result: Comparison,
  chosen: number,
  dark: boolean,
): HTMLElement {
  const { width } = layer;
  const most = Math.max(...[...result.before.output, ...result.after.output].map(Math.abs), 1e-9);
  const rows = words.map((word, index) => {
    const place = order.indexOf(index);
    const change = result.changes[index] as number;
    const beyond = change > result.noise;
    const outputAt = (output: Float32Array, at: number): Float32Array =>
      output.subarray(at * width, (at + 1) * width);
    return h(
      'tr',
      index === chosen ? { class: 'here' } : {},
      h(
        'th',
        { scope: 'row' },
        word,
        ...(twins[index] ? [h('span', { class: 'twin' }, twins[index] as string)] : []),
      ),
      h(
        'td',
        {},
        strip(outputAt(result.before.output, index), most, dark, `Output of ${word} as typed`),
      ),
      h(
        'td',
        {},
        strip(
          outputAt(result.after.output, place),
          most,
          dark,
          `Output of ${word} now, at place ${place + 1}`,
        ),
      ),
      h(
        'td',
        { class: beyond ? 'number changed' : 'number', 'data-change': String(change) },
        scientific(change),
      ),
    );
  });
  return h(
    'table',
    { class: 'strips' },
    h('caption', {}, `Output of each word: ${width} numbers, blue below zero and orange above.`),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['Word', 'As typed', 'Now', 'max |Δ|'].map((name) => h('th', { scope: 'col' }, name)),
      ),
    ),
    h('tbody', {}, ...rows),
  );
}

/** Marks equal words with the same letter, so that they are recognised without colour. */
export function twinMarks(words: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const word of words)
    counts.set(word.toLowerCase(), (counts.get(word.toLowerCase()) ?? 0) + 1);
  const letters = new Map<string, string>();
  return words.map((word) => {
    const key = word.toLowerCase();
    if ((counts.get(key) ?? 0) < 2) return '';
    if (!letters.has(key)) letters.set(key, `=${String.fromCharCode(97 + (letters.size % 26))}`);
    return letters.get(key) as string;
  });
}
