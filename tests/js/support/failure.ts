// SPDX-License-Identifier: Apache-2.0
/** What every refused call must fulfil: class and code, message, memory, and a usable instance. */

import { type Posenc, PosencError, type PosencErrorCode } from 'posenc';
import { expect } from 'vitest';
import { expectGoldenAnswer, pe } from './instance.ts';

export interface Refusal {
  code: PosencErrorCode;
  field?: string;
  /** What the message must contain. */
  says?: readonly (string | RegExp)[];
}

const kindOf: Partial<Record<PosencErrorCode, string>> = {
  DISPOSED: 'state',
  FOREIGN_HANDLE: 'state',
  INSTANCE_DEAD: 'state',
  OUT_OF_MEMORY: 'resource',
  TOO_LARGE: 'resource',
};

export function caught(call: () => unknown): PosencError {
  try {
    call();
  } catch (error) {
    expect(error, 'the error must be one of the library').toBeInstanceOf(PosencError);
    return error as PosencError;
  }
  throw new Error('the call was expected to fail and did not');
}

export async function failure(promise: Promise<unknown>): Promise<PosencError> {
  const error = await promise.then(
    () => new Error('the call was expected to fail'),
    (reason: unknown) => reason,
  );
  expect(error, String(error)).toBeInstanceOf(PosencError);
  return error as PosencError;
}

export function expectRefusal(call: () => unknown, refusal: Refusal, from: Posenc = pe) {
  const { live, liveBytes } = from.info.memory();
  const error = caught(call);

  expect(PosencError.is(error)).toBe(true);
  expect([error.code, error.message]).toEqual([refusal.code, error.message]);
  expect(error.kind).toBe(kindOf[refusal.code] ?? 'argument');

  expect(error.message.length).toBeLessThanOrEqual(200);
  if (refusal.field !== undefined) expect(error.field, error.message).toBe(refusal.field);
  for (const part of refusal.says ?? []) expect(error.message).toMatch(part);

  const after = from.info.memory();
  expect([after.live, after.liveBytes], 'nothing may stay allocated').toEqual([live, liveBytes]);
  expectGoldenAnswer(from);
  return error;
}
