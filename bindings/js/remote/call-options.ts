// SPDX-License-Identifier: Apache-2.0
/** The options that calls of `posenc/worker` have beside those of the methods. */

import { isArray, isView } from '../intrinsics.js';
import { boolean, record, wrongType } from '../validate.js';

export interface Call {
  signal?: AbortSignal;
  transfer: boolean;
}
const ours = ['signal', 'transfer', 'beside'];

/** What is meant for us in the last argument, and the arguments without it. */
export function callOptions(
  where: string,
  given: readonly unknown[],
  isHandle: (value: object) => boolean,
): { args: readonly unknown[]; call: Call; beside: unknown } {
  const last = given.at(-1);
  const isOptions =
    typeof last === 'object' && last !== null && !isArray(last) && !isView(last) && !isHandle(last);
  if (!isOptions || !ours.some((name) => Object.hasOwn(last, name)))
    return { args: given, call: { transfer: false }, beside: undefined };
  const options = record(where, 'options', last);
  const [signal, transfer, beside] = ours.map((name) => options.get(name));
  for (const name of ours) options.delete(name);
  const rest = options.size === 0 ? [] : [Object.fromEntries(options)];
  const call: Call = {
    transfer: transfer === undefined ? false : boolean(where, 'transfer', transfer),
  };
  if (signal !== undefined) call.signal = asSignal(where, signal);
  return { args: [...given.slice(0, -1), ...rest], call, beside };
}

function asSignal(where: string, signal: unknown): AbortSignal {
  const given = signal as AbortSignal | null;
  if (typeof given?.aborted === 'boolean' && typeof given.addEventListener === 'function')
    return given;
  throw wrongType(where, 'signal', 'an AbortSignal', signal);
}
