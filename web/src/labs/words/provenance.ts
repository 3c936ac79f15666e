// SPDX-License-Identifier: Apache-2.0
// Trained heads in words: what they came of, and what they read.
import { manifest } from '../../engine.ts';
import type { TrainedHeads } from '../../train/heads.ts';
import { alphabetOf, readSequence, sampleOf } from '../../train/symbols.ts';
import type { Task } from '../../train/tasks.ts';
import { type Cut, mostTokens } from './text.ts';

export const taskNames: Readonly<Record<Task, string>> = { copy: 'Copying', recall: 'Recalling' };
export const titleOf = (id: string | undefined): string =>
  manifest.find((info) => info.id === id)?.title ?? id ?? '';

/** What heads came of, in a sentence or two. */
export function provenanceText({ provenance, heads, width }: TrainedHeads): string {
  const { task, encoding, options, longest, steps, seed, lengths, asked, right } = provenance;
  const told = Object.entries(options).map(([name, value]) => `${name} ${value}`);
  const share = (n: number): string => {
    const at = lengths.indexOf(n);
    return `${Math.round((100 * (right[at] ?? 0)) / (asked[at] ?? 1))} % at length ${n}`;
  };
  const shares = [...new Set([longest, ...lengths.slice(-1)])].filter((n) => lengths.includes(n));
  return `${taskNames[task]}, ${[titleOf(encoding), ...told].join(', ')}: ${heads} heads, width ${width}, ${steps} steps on lengths up to ${longest}, seed ${seed}. Answers right afterwards: ${shares.map(share).join(', ')}. Made ${provenance.made} by “${provenance.command}”, ${provenance.package}.`;
}

/** What trained heads read. */
export interface Reading extends Cut {
  readonly heads: TrainedHeads;
  /** As typed, or a sample. */
  readonly text: string;
  /** How many symbols there are, and which pieces of the text are none. */
  readonly hint: string;
  /** Whether there are such. */
  readonly strange: boolean;
}
/** Of a text without a symbol, the sample. */
export function readingOf(heads: TrainedHeads, seq: string): Reading {
  const { task, longest } = heads.provenance;
  const sample = sampleOf(task, longest);
  const { labels, strange, more } = readSequence(task, seq, mostTokens);
  const words = labels.length ? labels : readSequence(task, sample, mostTokens).labels;
  const alphabet = alphabetOf(task);
  const named = [...new Set(strange)].map((one) => `“${one.slice(0, 20)}”`);
  const some = named.length > 5 ? [...named.slice(0, 5), `${named.length - 5} more`] : named;
  const hint = named.length
    ? `${some.join(', ')} ${named.length > 1 ? 'are no symbols' : 'is no symbol'} of this task and left out. It has ${alphabet}.`
    : `${words.length} symbols: ${alphabet}.`;
  const text = seq === '' ? sample : seq;
  return { heads, text, words, more, unit: 'symbols', hint, strange: named.length > 0 };
}
