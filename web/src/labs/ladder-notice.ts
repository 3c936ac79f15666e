// SPDX-License-Identifier: Apache-2.0
import { brief } from '../draw/scale.ts';

export interface LadderFacts {
  readonly pairs: number;
  readonly never: number;
  readonly aliased: number;
  readonly length: number;
  /** Turns of the fastest pair within the length. */
  readonly fastest: number;
}

/** "What to notice", in at most forty words. */
export function ladderNotice({ pairs, never, aliased, length, fastest }: LadderFacts): string {
  const head = `The fastest pair turns ${brief(fastest)} times in ${length} positions.`;
  const rest =
    never > 0
      ? `${never} of ${pairs} never come round: longer texts bring them angles never met.`
      : 'Every pair comes round: a longer text brings no angle that is new.';
  const blurred =
    aliased > 0
      ? ` ${aliased} turn by more than half between neighbours, where distances look alike.`
      : '';
  return `${head} ${rest}${blurred}`;
}
