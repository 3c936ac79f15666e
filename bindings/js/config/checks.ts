// SPDX-License-Identifier: Apache-2.0
/** Warnings about the finished encodings rather than about single keys. */

import { changesWithLength, frequenciesOf } from './frequencies.js';
import type { Ledger } from './ledger.js';
import type { LayerKind } from './types.js';

/** A float32 product of position and frequency is off by up to half a unit in the last place. */
const float32Half = 2 ** -24;
const visible = 1e-3;

export function checkKind(
  ledger: Ledger,
  { encoding }: LayerKind,
  trained: number | undefined,
  length: number | undefined,
): void {
  const { id, options } = encoding;
  const frequencies = frequenciesOf(encoding, length ?? trained ?? 0);
  if (frequencies === undefined) return;
  if (changesWithLength(encoding))
    ledger.warn(
      'W13',
      'rope_type',
      'frequencies change with the length: keys rotated and cached before a change are stale',
      id,
      'keys are cached unrotated',
      'note',
    );
  const seen = typeof options.originalLength === 'number' ? options.originalLength : trained;
  if (seen !== undefined) {
    const never = frequencies.base.filter((f) => f > 0 && (2 * Math.PI) / f > seen).length;
    if (never > 0)
      ledger.warn(
        'W14',
        'rope_theta',
        `${never} of ${frequencies.base.length} pairs complete no turn within ${seen} tokens`,
        never,
        frequencies.base.length,
        'note',
      );
  }
  if (length === undefined) return;
  const fastest = Math.max(0, ...frequencies.values);
  const error = (length - 1) * fastest * float32Half;
  if (length - 1 > 2 ** 24 || error > visible)
    ledger.warn(
      'W15',
      'length',
      length - 1 > 2 ** 24
        ? 'float32 has no room for every position above 16777216'
        : `angles in float32 are off by up to ${error.toExponential(1)} radians here`,
      length,
      'angles in float64',
      'note',
    );
}
