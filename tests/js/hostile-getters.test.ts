// SPDX-License-Identifier: Apache-2.0
/**
 * Arguments that act while they are read: at some read of some property they throw, revoke, dispose,
 * transfer, shrink, grow memory, change what was read before or call the library again. The call must
 * give a result, an error of the library or the error that was thrown; an instance that was not
 * disposed of must be as good as before, with nothing left allocated.
 */

import fc from 'fast-check';
import { load, type Posenc, PosencError, type Tensor } from 'posenc';
import { describe, expect, it } from 'vitest';
import { expectGoldenAnswer, pe } from './support/instance.ts';
import { runs } from './support/runs.ts';
import { type Act, acts, harmless, mine, type Plan, plan, Trap } from './support/traps.ts';

/** The result's numbers, unless it is an `out` that was revoked meanwhile. */
function numbersOf(result: unknown): unknown {
  try {
    const { data, output } = result as { data?: Float32Array; output?: Tensor };
    return [...(output?.data ?? data ?? [])];
  } catch {
    return typeof result;
  }
}

/** The numbers that came out, or the code of the error. */
function outcome(from: Posenc, plan: Plan): unknown {
  const trap = new Trap(from, plan);
  try {
    const result = trap.call();
    return numbersOf(result);
  } catch (error) {
    if (error !== mine && !PosencError.is(error)) throw error;
    if (error !== mine) expect((error as PosencError).kind).not.toBe('internal');
    return (error as PosencError).code ?? 'thrown';
  } finally {
    trap.end();
  }
}

describe('arguments that act while they are read', () => {
  it('never break the instance, and harmless acts change no bit', () => {
    // Growth doubles the memory: a few times is enough, and it cannot be had back.
    let growths = 0;
    const property = fc.property(plan(fc.constantFrom<Act>(...acts)), (given) => {
      if (given.act === 'grow memory' && ++growths > 4) return;
      const { live, liveBytes } = pe.info.memory();
      const result = outcome(pe, given);
      if (harmless.includes(given.act) && growths <= 4) {
        const clean = outcome(pe, { ...given, act: 'nothing' });
        // What grew before it was captured is another size: an error, and no wrong number.
        if (!(given.act === 'grow buffer' && typeof result === 'string'))
          expect(result).toEqual(clean);
      }
      expect(pe.info.memory()).toMatchObject({ live, liveBytes });
    });
    fc.assert(property, runs(3000));
    expectGoldenAnswer(pe);
  });

  it('may dispose of the instance', async () => {
    const property = fc.asyncProperty(plan(fc.constant('dispose instance')), async (given) => {
      const other = await load({ fresh: true });
      outcome(other, given);
      other.dispose();
    });
    await fc.assert(property, runs(60));
  });
});
