// SPDX-License-Identifier: Apache-2.0
/**
 * Random shapes, options and encodings against attention by its definition in float64. A failure
 * prints the case, made as small as it goes, and the seed that leads there.
 */

import fc from 'fast-check';
import { PosencError } from 'posenc';
import { describe, expect, it } from 'vitest';
import { type Case, cases } from './fuzz/case.ts';
import { Question } from './fuzz/question.ts';
import { expectGoldenAnswer, pe } from './support/instance.ts';
import { expectClose } from './support/numbers.ts';
import { runs } from './support/runs.ts';

/** Errors that a random case may meet: positions where an encoding is not defined, and no others. */
const outside = /POSITION_OUT_OF_TABLE|OUT_OF_RANGE|NOT_INTEGER/;

describe('attention against its definition', () => {
  const met = new Map<string, number>();
  const count = (what: string) => met.set(what, (met.get(what) ?? 0) + 1);

  function check(given: Case): void {
    const { live, liveBytes } = pe.info.memory();
    const question = new Question(given);
    try {
      const result = question.ask();
      const want = question.answer();
      const { slack } = want;
      const close = { rtol: 4 * slack, atol: 4 * slack + 1e-6 };
      expectClose(question.plain(result.output), want.output, close, 'output');
      if (result.weights) expectClose(result.weights.data, want.weights, close, 'weights');
      if (result.logSumExp) expectClose(result.logSumExp.data, want.logSumExp, close, 'logSumExp');
      expect([result.weights !== undefined, result.logSumExp !== undefined]).toEqual([
        given.weights,
        given.logSumExp,
      ]);
      count('compared');
      if (given.spoilt) checkSpoilt(question, question.plain(result.output));
      for (const { info } of question.terms) count(info.id);
    } catch (error) {
      const positions = PosencError.is(error) && /positions$/i.test(error.field ?? '');
      if (!positions || !outside.test((error as PosencError).code)) throw error;
      count('refused');
    } finally {
      question.dispose();
    }
    expect(pe.info.memory()).toMatchObject({ live, liveBytes });
  }

  function checkSpoilt(question: Question, clean: ArrayLike<number>): void {
    const { B, H, G, T, E } = question.sizes;
    if (B === 0 || T === 0) return;
    const touched = question.spoil();
    const spoilt = question.plain(question.ask().output);
    for (let b = 0; b < B; ++b)
      for (let h = 0; h < H; ++h)
        for (let t = 0; t < T; ++t) {
          if (touched({ b, h, g: Math.floor((h * G) / H), t })) continue;
          const at = ((b * H + h) * T + t) * E;
          for (let i = at; i < at + E; ++i)
            if (!Object.is(spoilt[i], clean[i]))
              expect.fail(`row ${t} of head ${h} changed by what it cannot see`);
        }
  }

  it('agrees on every random case', () => {
    // A browser is to show that it is the same there, which takes fewer cases.
    fc.assert(fc.property(cases(), check), runs(2000));
    const share =
      (met.get('compared') ?? 0) / ((met.get('refused') ?? 0) + (met.get('compared') ?? 0));
    expect(share).toBeGreaterThan(0.9);
    expectGoldenAnswer(pe);
  }, 240_000);
});
