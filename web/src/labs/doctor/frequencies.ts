// SPDX-License-Identifier: Apache-2.0
// The frequencies of one kind of layer as a figure and a table: wavelengths against the context they have to tell apart.
import { brief, grouped } from '../../draw/scale.ts';
import type { PanelData } from '../../parts/plot-panel.ts';
import type { KindRead, Reading, Turning } from './read.ts';

const turn = 2 * Math.PI;
const wavelength = (f: number): number => (f > 0 ? turn / f : Number.NaN);

const columns = [
  'frequency (rad/token)',
  'wavelength (tokens)',
  'turns in training',
  'turns at length',
  'never completed (1 = yes)',
  'ratio to unscaled',
];

function cell(turning: Turning, length: number, pair: number, column: number): number {
  const f = turning.frequencies[pair] as number;
  const plain = turning.unscaled[pair] as number;
  const seen = turning.seen ?? Number.NaN;
  switch (column) {
    case 0:
      return f;
    case 1:
      return wavelength(f);
    case 2:
      return (plain * seen) / turn;
    case 3:
      return (f * length) / turn;
    case 4:
      return Number(plain > 0 && turn / plain > seen);
    default:
      return f / plain;
  }
}

export function frequencyPanel(
  { model }: Reading,
  { kind, info, turning, length, trained }: KindRead,
): PanelData | undefined {
  if (!turning) return undefined;
  const { frequencies, unscaled, seen } = turning;
  const pairs = frequencies.length;
  const scaled = Float64Array.from(frequencies, wavelength);
  const plain = Float64Array.from(unscaled, wavelength);
  const differs = scaled.some((value, i) => Math.abs(value / (plain[i] as number) - 1) > 1e-9);
  const lengths = new Map<number, string>();
  const note = (at: number | undefined, name: string): void => {
    if (at !== undefined && at > 0)
      lengths.set(at, lengths.has(at) ? `${lengths.get(at)}, ${name}` : name);
  };
  note(seen, 'trained');
  note(trained, 'maximum');
  note(length === trained ? undefined : length, 'asked');
  return {
    title: `Wavelength of each pair${model.kinds.size > 1 ? `, ${kind.type.replaceAll('_', ' ')}` : ''}`,
    plot: {
      xs: Float64Array.from({ length: pairs }, (_, i) => i),
      series: [
        ...(differs
          ? [{ name: 'without scaling', letter: 'U', look: 2, values: plain, faint: true }]
          : []),
        { name: info.title, letter: 'W', look: 0, values: scaled },
      ],
      yLog: true,
      xName: 'pair',
      yName: 'tokens for one turn',
      levels: [...lengths].map(([at, name]) => ({ at, name: `${grouped(at)} tokens: ${name}` })),
      dots: true,
      label: `${info.title}: ${pairs} pairs, wavelengths from ${brief(Math.min(...scaled.filter(Number.isFinite)))} to ${brief(Math.max(...scaled.filter(Number.isFinite)))} tokens; ${turning.never} never complete a turn${seen === undefined ? '' : ` within ${seen}`}.`,
    },
    xText: (pair) => `pair ${pair}`,
    table: {
      caption: 'Frequencies in force',
      lines: pairs,
      lineName: 'pair',
      lineText: String,
      columns,
      cell: (pair, column) => cell(turning, length ?? Number.NaN, pair, column),
    },
    remarks: [
      `${model.family}, ${kind.type}: ${info.title}${length === undefined ? '' : `, ${length} tokens`}`,
      `attention factor ${turning.attentionFactor}, logits times ${turning.logits}`,
    ],
  };
}
