// SPDX-License-Identifier: Apache-2.0
import { brief } from '../draw/scale.ts';

export interface LadderFacts {
  readonly of: 'pair' | 'channel';
  readonly count: number;
  readonly never: number;
  readonly aliased: number;
  readonly length: number;
  /** Turns of the fastest within the length. */
  readonly fastest: number;
}

/** "What to notice", in at most forty words. */
export function ladderNotice({ of, count, never, aliased, length, fastest }: LadderFacts): string {
  const head = `The fastest ${of} turns ${brief(fastest)} times in ${length} positions.`;
  const rest =
    never > 0
      ? `${never} of ${count} never come round: longer texts bring them ${of === 'pair' ? 'angles' : 'values'} never met.`
      : `Every ${of} comes round: a longer text brings no ${of === 'pair' ? 'angle' : 'value'} that is new.`;
  const blurred =
    aliased > 0
      ? ` ${aliased} turn by more than half between neighbours, where distances look alike.`
      : '';
  return `${head} ${rest}${blurred}`;
}

/** Where there is no wavelength to draw. */
export const wavelessNotices = {
  free: 'There is no wavelength here: the rows of this table are free numbers, each set by training and tied to no other. Training may find waves; nothing makes it, and no row says what follows the last.',
  unknown:
    'Whether this table is made of waves cannot be told: that takes sixteen rows, and it has fewer.',
  still: 'Nothing turns here: every position is like the first, and no distance shows.',
};
