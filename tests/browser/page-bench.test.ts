// SPDX-License-Identifier: Apache-2.0
// Lab 5. The machinery is tried out with calls too short to time; nothing here is a measurement.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { check, race } from '../../web/src/bench/measure.ts';
import { plainAttention, plainRotation } from '../../web/src/bench/plain.ts';
import type { Outcome } from '../../web/src/bench/protocol.ts';
import { drift, quantile, ratioOf, verdictOf } from '../../web/src/bench/statistics.ts';
import { difference, passes, reference, workload, works } from '../../web/src/bench/workloads.ts';
import { benchCode } from '../../web/src/labs/bench/code.ts';
import { fastest } from '../../web/src/labs/bench/question.ts';
import { benchNotice, linesOf, rowsOf } from '../../web/src/labs/bench/report.ts';
import { fallbacks } from '../../web/src/model/keys.ts';
import { uniform } from '../../web/src/model/random.ts';
import { PageDriver, settled, suitsEverybody } from './page-driver.ts';
import { run } from './programs.ts';

describe('statistics', () => {
  it('quantiles lie straight between samples', () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([5], 0.25)).toBe(5);
    expect(quantile([], 0.5)).toBeNaN();
  });
  it('tells a difference from none', () => {
    const next = uniform(3);
    const ours = Array.from({ length: 30 }, () => 10 + next());
    const alike = Array.from({ length: 30 }, () => 10 + next());
    const slower = ours.map((value) => 1.3 * value);
    expect(verdictOf(ratioOf(alike, ours))).toBe('same');
    expect(verdictOf(ratioOf(slower, ours))).toBe('ahead');
    expect(verdictOf(ratioOf(ours, slower))).toBe('behind');
    expect(ratioOf(slower, ours)).toMatchObject({ ratio: expect.closeTo(1.3, 9) });
  });
  it('sees a machine that slows down', () => {
    expect(drift(Array.from({ length: 30 }, (_, i) => 10 + i / 10))).toBeCloseTo(0.27, 2);
  });
});

describe('the gate', () => {
  it.each(works)('%s: plain loops agree with double precision', (work) => {
    for (const interleaved of [false, true]) {
      const load = workload(work, 'tiny', 1, interleaved);
      const run = work === 'rotation' ? plainRotation(load) : plainAttention(load);
      expect(passes(difference(run(), reference(load)))).toBe(true);
    }
  });
  it('refuses what is off, short, not a number, or fails', async () => {
    const truth = reference(workload('attention', 'tiny', 1, false));
    const answers: (() => Float32Array)[] = [
      () => Float32Array.from(truth, (value) => value * 1.001),
      () => Float32Array.from(truth).subarray(1),
      () => Float32Array.from(truth, (value, i) => (i === 7 ? Number.NaN : value)),
      () => {
        throw new Error('no such operator');
      },
    ];
    for (const run of answers)
      expect(await check({ name: '', how: '', run }, truth)).toMatchObject({ passed: false });
    expect(
      await check({ name: '', how: '', run: () => Float32Array.from(truth) }, truth),
    ).toMatchObject({ passed: true });
  });
  it('contenders take turns forwards and backwards, in batches', async () => {
    let now = 0;
    const ran: string[] = [];
    const contender = (name: string, took: number) => ({
      name,
      how: '',
      run: () => {
        now += took;
        if (ran.at(-1) !== name) ran.push(name);
        return new Float32Array(0);
      },
    });
    const timed = await race(
      [contender('A', 2), contender('B', 5)],
      4,
      20,
      () => now,
      () => {},
    );
    expect(timed.map(({ samples }) => samples)).toEqual([
      [2, 2, 2, 2],
      [5, 5, 5, 5],
    ]);
    expect(timed.every(({ calls }, i) => calls * ([2, 5][i] as number) >= 20)).toBe(true);
    // Warming up: A, B. Then A B, B A, A B, B A.
    expect(ran.join('')).toBe('ABABABA');
  });
});

describe('the report', () => {
  const found = (...refused: string[]): Outcome => {
    const all = ['posenc', 'posenc, relaxed', 'onnxruntime-web'];
    return {
      order: { work: 'decode', size: 'tiny', samples: 30, seed: 1, wrong: false, batch: 20 },
      title: '',
      operations: 1e6,
      checked: all.map((name) => ({
        name,
        how: '',
        difference: { relative: 0 },
        passed: !refused.includes(name),
      })),
      timed: all
        .filter((name) => !refused.includes(name))
        .map((name) => ({
          name,
          calls: 1,
          samples: Array.from({ length: 30 }, (_, i) => name.length + i / 100),
        })),
    } as unknown as Outcome;
  };
  const ratios = (outcome: Outcome) => linesOf(outcome).map(({ ratio }) => ratio !== undefined);

  it('measures by this library as it comes', () => {
    expect(ratios(found())).toEqual([false, true, true]);
    expect(rowsOf(found())[0]?.at(-1)).toContain('measured by');
    expect(ratios(found('posenc, relaxed'))).toEqual([false, true]);
    expect(benchNotice(found())).toContain('times as long as posenc');
  });
  it('names who was fastest, or nobody where the interval contains 1', () => {
    const timed = (times: Record<string, readonly [number, number]>) =>
      ({
        timed: Object.entries(times).map(([name, [least, spread]]) => ({
          name,
          calls: 1,
          samples: Array.from({ length: 30 }, (_, i) => least + spread * ((7 * i) % 30)),
        })),
      }) as unknown as Outcome;
    const others = { 'onnxruntime-web': [3, 0], 'onnxruntime-web, MHA': [1, 0] } as const;
    expect(fastest(timed({ posenc: [2, 0], ...others })).right).toBe(1);
    expect(fastest(timed({ posenc: [2, 0], 'posenc, relaxed': [0.5, 0], ...others })).right).toBe(
      0,
    );
    expect(fastest(timed({ posenc: [2, 0], 'plain JavaScript': [1.7, 0.02] })).right).toBe(3);
    expect(() => fastest(timed({ posenc: [2, 0] }))).toThrow('Fewer than two');
  });
  it('makes nobody else the measure when this library was refused', () => {
    const outcome = found('posenc');
    expect(ratios(outcome)).toEqual([false, false]);
    const last = rowsOf(outcome).map((cells) => cells.at(-1));
    expect(last[0]).toContain('refused');
    expect(last.slice(1)).toEqual(['posenc has no time', 'posenc has no time']);
    expect(benchNotice(outcome)).toContain('nothing is compared');
  });
});

describe('the program of the benchmark', () => {
  it.each(works)('computes %s with the numbers of the lab', (work) => {
    const [line = ''] = run(`bench-${work}`, benchCode({ ...fallbacks, work, size: 'tiny' }));
    const { milliseconds, sum } = JSON.parse(line);
    expect(milliseconds).toBeGreaterThan(0);
    const exact = reference(workload(work, 'tiny', 1, false)).reduce(
      (all, value) => all + value,
      0,
    );
    // Some 500 numbers of float32 about 1.
    expect(Math.abs(sum - exact)).toBeLessThan(1e-3);
  });
});

describe('the benchmark on the page', () => {
  let driver: PageDriver;
  beforeAll(async () => {
    driver = await PageDriver.start();
  });
  afterAll(() => driver?.stop());

  const state = (work: string): string => `#v1&lab=bench&work=${work}&size=tiny&samples=3`;
  const done = '#bench-step:text-is("Done.")';

  it('loads nothing before a click, then answers, checks, and refuses the wrong one', async () => {
    const { page, complaints, requests, close } = await driver.open(`${state('rotation')}&wrong=1`);
    await settled(page);
    expect(requests.filter((url) => url.includes('onnxruntime'))).toEqual([]);
    for (const work of ['rotation', 'decode', 'bias']) {
      await page.evaluate(
        (hash) => {
          location.hash = hash;
        },
        `${state(work)}&wrong=1`,
      );
      await settled(page);
      // The end of the run before is not taken for the end of this one.
      const step = await page.evaluate(
        (where) => {
          (document.querySelector(where) as HTMLButtonElement).click();
          return document.querySelector('#bench-step')?.textContent;
        },
        // An answer to the question is a run too.
        work === 'rotation' ? '#bench .guess button' : '#bench-run',
      );
      expect(step).toBe('Starting…');
      await page.waitForSelector(done);
      const rows = await page.locator('#bench-table tbody tr').evaluateAll((all) =>
        all.map((row) => ({
          name: (row as HTMLElement).dataset.contender,
          passed: (row as HTMLElement).dataset.passed,
          cells: [...row.children].map((cell) => cell.textContent ?? ''),
        })),
      );
      const wrong = rows.filter(({ passed }) => passed === '0');
      expect(
        wrong.map(({ name }) => name),
        JSON.stringify(wrong),
      ).toEqual(['wrong on purpose']);
      expect(wrong[0]?.cells.slice(2, 6)).toEqual(['—', '—', '—', '—']);
      expect(rows.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['posenc', 'onnxruntime-web', 'plain JavaScript']),
      );
      for (const { cells, passed } of rows)
        if (passed === '1') expect(Number(cells[2])).toBeGreaterThan(0);
    }
    expect(await page.locator('#bench .guess-answer').textContent()).toMatch(
      /^(As you expected|Not so: ).*Medians: .*posenc.* ms/,
    );
    expect(requests.filter((url) => url.includes('onnxruntime')).length).toBeGreaterThan(1);
    expect(await page.locator('#bench .notice-text').textContent()).toContain('too few to compare');
    expect(await suitsEverybody(page, 'bench')).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it('stops when asked, and can run again', async () => {
    const { page, complaints, close } = await driver.open(
      '#v1&lab=bench&work=decode&samples=300&peer=0',
    );
    await page.locator('#bench-run').click();
    await page.locator('#bench-body').getByRole('button', { name: 'Stop' }).click();
    expect(await page.locator('#bench-step').textContent()).toBe('Stopped.');
    expect(await page.locator('#bench-run').isEnabled()).toBe(true);
    expect(await page.locator('#bench-table').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });
});
