// SPDX-License-Identifier: Apache-2.0
// A reading as one sentence, and as a few numbers to read from across the room.
import { grouped } from '../../draw/scale.ts';
import type { KindRead, Reading } from './read.ts';

const short = (value: number): string => String(Number(value.toPrecision(3)));
const count = (many: number, one: string): string => `${many} ${one}${many === 1 ? '' : 's'}`;

/** The method of one kind of layer with the numbers that make it this one. */
function method({ info, kind, trained }: KindRead): string {
  const { factor, originalLength, window } = kind.encoding.options;
  const times = typeof factor === 'number' && factor !== 1 ? ` ×${short(factor)}` : '';
  const reach =
    typeof originalLength === 'number'
      ? ` over ${grouped(originalLength)}${trained === undefined || trained === originalLength ? '' : ` → ${grouped(trained)}`}`
      : '';
  const wide = typeof window === 'number' ? `, window ${grouped(window)}` : '';
  return `${info.title}${times}${reach}${wide}`;
}

export function verdict({ model, kinds }: Reading): string {
  const methods = [...new Set(kinds.map(method))];
  const warnings = model.warnings.filter(({ severity }) => severity === 'warning').length;
  const logits = kinds.map(({ turning }) => turning?.logits ?? 1).find((factor) => factor !== 1);
  const width = kinds.map(({ kind }) => kind.encoding.options.headDim).find(Number.isFinite);
  const reach = kinds.some(({ kind }) => kind.encoding.options.originalLength !== undefined);
  return `${[
    methods.join(' and '),
    ...(reach || model.trainedLength === undefined
      ? []
      : [`trained for ${grouped(model.trainedLength)} tokens`]),
    ...(logits === undefined ? [] : [`logits ×${logits.toFixed(2)}`]),
    ...(typeof width === 'number' ? [`${width}-wide heads`] : []),
    warnings === 0 ? 'no warnings' : count(warnings, 'warning'),
  ].join('; ')}.`;
}

export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  /** In full precision, for whoever copies it. */
  readonly exact?: number;
}

export function figures(one: KindRead): Figure[] {
  const { turning, trained, kind } = one;
  const found: Figure[] = [];
  if (turning) {
    const { frequencies, unscaled, seen, never, logits, attentionFactor, logitScale } = turning;
    const slowed = frequencies.filter((f, i) => f < (unscaled[i] as number) * (1 - 1e-9)).length;
    const turningOnes = frequencies.filter((f) => f > 0);
    const longest = (2 * Math.PI) / Math.min(...turningOnes);
    found.push(
      {
        name: 'Pairs slowed down',
        value: `${slowed} of ${frequencies.length}`,
        note: `${frequencies.length - slowed} keep their frequency`,
        exact: slowed,
      },
      {
        name: 'Never complete a turn',
        value: `${never} of ${frequencies.length}`,
        note:
          seen === undefined
            ? 'no trained length is known'
            : `within ${grouped(seen)} tokens of training`,
        exact: never,
      },
      {
        name: 'Longest wavelength',
        value: grouped(Math.round(longest)),
        note:
          trained === undefined
            ? 'tokens for one turn'
            : `tokens for one turn, ${short(longest / trained)} × the context`,
        exact: longest,
      },
      {
        name: 'Logits times',
        value: logits === 1 ? '1' : logits.toFixed(4),
        note: `attention factor ${short6(attentionFactor)}, squared${logitScale === 1 ? '' : `, times ${short6(logitScale)}`}`,
        exact: logits,
      },
    );
  }
  const { window } = kind.attention;
  if (window?.left !== undefined)
    found.push({
      name: 'Window',
      value: grouped(window.left + 1),
      note: 'keys each token sees',
      exact: window.left + 1,
    });
  return found;
}
const short6 = (value: number): string => String(Number(value.toPrecision(7)));

/** "What to notice", in at most forty words. */
export function doctorNotice(one: KindRead, warnings: number): string {
  const { turning, info } = one;
  if (warnings > 0)
    return `${count(warnings, 'warning')}: at least one reader of this file computes something else than its author meant, without an error. The cards below say which key, and how to mend it.`;
  if (!turning)
    return `${info.title} turns nothing, so there are no frequencies to check. The table of origins still says which numbers were given and which are defaults.`;
  const { never, frequencies } = turning;
  if (never === 0)
    return 'Every pair completes a turn within the trained length, so no angle beyond it is entirely new. That is rare; compare with a larger base.';
  return `${never} of ${frequencies.length} pairs never complete a turn in training. Longer texts turn exactly these to angles the model has not seen; scaling methods differ in how they spare them.`;
}
