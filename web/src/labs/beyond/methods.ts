// SPDX-License-Identifier: Apache-2.0
// The methods the lab knows, how each looks in every figure, and those it begins with.
import { methodsOf, stretches } from '../../compute/beyond.ts';
import { looks as lookCount } from '../../draw/plot.ts';
import { manifest } from '../../engine.ts';
import { startingEncoding } from '../../model/manifest.ts';
import type { Look } from './figures.ts';

export const methods = methodsOf(manifest);
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
export const looks: ReadonlyMap<string, Look> = new Map(
  methods.map(({ id }, i) => [id, { look: i % lookCount, letter: letters[i % 26] as string }]),
);
/** The plain one and all that are told how far to stretch; of the rest, those whose frequencies stay but distances move. */
export const usual = methods.filter(
  (info) =>
    info === startingEncoding(manifest) ||
    stretches(info) ||
    info.fields.some((field) => field.name === 'window' || field.name === 'chunk'),
);
