// SPDX-License-Identifier: Apache-2.0
// Which encodings of the package stand in the benchmark; the gate says whether they compute what was meant.
import { manifest } from '../engine.ts';
import { actsAt, startingEncoding } from '../model/manifest.ts';

/** Acts on scores alone, and wants to know no more than how many heads there are. */
export const biasInfo = manifest.find(
  ({ sites, fields, tables }) =>
    sites.join() === 'score' &&
    tables.length === 0 &&
    fields.every(({ name, required }) => !required || name === 'heads'),
);
export const rotationInfo = startingEncoding(manifest.filter((info) => actsAt(info, 'rotate')));
