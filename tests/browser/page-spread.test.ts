// SPDX-License-Identifier: Apache-2.0
// What surrounds the curve of the atlas, against the same reckoned one draw and one distance at a time.
import { describe, expect, it } from 'vitest';
import { type Picture, pictureOf } from '../../web/src/compute/picture.ts';
import { draws } from '../../web/src/compute/spread.ts';
import { type Encoding, withEncoding } from '../../web/src/engine.ts';
import { hash, normal } from '../../web/src/model/random.ts';
import { optionsOf, type Settings, untouched } from '../../web/src/model/settings.ts';
import { trainedLength } from '../../web/src/model/trained.ts';
import { engine, infoOf, manifest } from './computed.ts';

const small = (more: Settings['fields'] = {}): Settings => ({
  ...untouched,
  fields: { headDim: 8, ...more },
});

/** Every draw turned by the package itself, and multiplied out. */
function scores(encoding: Encoding, distance: number): number[] {
  const numbers = normal(hash('spread'), draws * 16);
  const unit = (v: Float32Array): Float32Array => {
    const length = Math.hypot(...v);
    return v.map((x) => x / length);
  };
  const turned = (data: Float32Array, at: number, role: 'query' | 'key'): Float32Array =>
    encoding.rotate({ shape: [1, 8], data }, Float64Array.of(at), { role }).data;
  return Array.from({ length: draws }, (_, i) => {
    const q = turned(unit(numbers.slice(16 * i, 16 * i + 8)), distance, 'query');
    const k = turned(unit(numbers.slice(16 * i + 8, 16 * i + 16)), 0, 'key');
    return q.reduce((sum, x, c) => sum + x * (k[c] as number), 0);
  });
}

/** What turns and has no envelope: distances count as others, or rows grow. */
const without = ['rerope', 'leaky-rerope', 'self-extend', 'dual-chunk', 'pope'];

describe('what random vectors score', () => {
  // Pairs lie beside each other in a draw, as in the second layout; half the channels at rest in the last.
  it.each([
    ['rope', { layout: 'interleaved' }],
    ['rope', { layout: 'interleaved', rotaryDim: 4 }],
    ['rope-yarn', { layout: 'interleaved', originalLength: 4 }],
  ] as const)('%s with %o has the mean and the deviation of its draws', (id, fields) => {
    const info = infoOf(id);
    const settings = small(fields);
    const spread = pictureOf(engine, info, settings, 12, { around: true }).around?.spread();
    withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
      for (const distance of [0, 1, 7]) {
        const all = scores(encoding, distance);
        const mean = all.reduce((sum, x) => sum + x, 0) / draws;
        const deviation = Math.sqrt(all.reduce((sum, x) => sum + (x - mean) ** 2, 0) / draws);
        expect(spread?.mean[distance]).toBeCloseTo(mean, 5);
        expect(spread?.deviation[distance]).toBeCloseTo(deviation, 5);
      }
    });
  });

  it.each(manifest.filter(({ sites }) => sites.includes('rotate')).map(({ id }) => id))(
    'holds the curve of %s within its envelope, where it has one',
    (id) => {
      const { around, curves } = pictureOf(engine, infoOf(id), untouched, 300, { around: true });
      if (without.includes(id)) return expect(around).toBeUndefined();
      if (!around) throw new Error('no envelope');
      const values = (curves[0] as Picture['curves'][number]).values;
      values.forEach((value, i) => {
        expect(Math.abs(value), `${i}`).toBeLessThanOrEqual(
          (around.envelope[i] as number) * (1 + 1e-5) + 1e-6,
        );
      });
      const { mean, deviation } = around.spread() ?? {};
      expect([...(mean ?? []), ...(deviation ?? [])].every(Number.isFinite)).toBe(true);
      expect(around.scored).toBe(256);
    },
  );

  it.each([
    ['half', 8],
    ['interleaved', 8],
    ['half', 4],
  ])(
    'has as envelope the magnitude of Σ exp(iωδ), %s with %i channels that turn',
    (layout, rotaryDim) => {
      const turning = Array.from(
        { length: rotaryDim / 2 },
        (_, i) => 100 ** ((-2 * i) / rotaryDim),
      );
      const frequencies = [...turning, ...Array<number>((8 - rotaryDim) / 2).fill(0)];
      const settings = small({ layout, rotaryDim, base: 100 });
      const { around, curves } = pictureOf(engine, infoOf('rope'), settings, 50, { around: true });
      const sum = (of: (angle: number) => number, distance: number): number =>
        frequencies.reduce((all, frequency) => all + of(frequency * distance), 0) / 4;
      for (let distance = 0; distance < 50; distance += 1) {
        const [real, imaginary] = [sum(Math.cos, distance), sum(Math.sin, distance)];
        expect(around?.envelope[distance], `${distance}`).toBeCloseTo(
          Math.hypot(real, imaginary),
          6,
        );
        expect(curves[0]?.values[distance], `${distance}`).toBeCloseTo(real, 6);
      }
    },
  );

  it('is left out where a head is too wide, and not reckoned where nobody asks', () => {
    const wide = { ...untouched, fields: { headDim: 512 } };
    const { around } = pictureOf(engine, infoOf('rope'), wide, 4, { around: true });
    expect(around?.spread()).toBeUndefined();
    expect(around?.envelope).toHaveLength(4);
    expect(pictureOf(engine, infoOf('rope'), untouched, 4).around).toBeUndefined();
  });
});

describe('the cells of a picture', () => {
  const numbersOf = ({ cells, range, curves }: Picture) => [
    [...cells],
    range,
    curves.map(({ values }) => [...values]),
  ];
  it.each(manifest.map(({ id }) => id))('of %s are written over those of another', (id) => {
    const fresh = pictureOf(engine, infoOf(id), untouched, 40);
    const spare = new Float32Array(fresh.cells.length).fill(Number.NaN);
    const again = pictureOf(engine, infoOf(id), untouched, 40, { spare });
    expect(numbersOf(again)).toEqual(numbersOf(fresh));
    // A map paints an array that it has not painted before.
    expect(again.cells).not.toBe(spare);
    expect(fresh.range.low).toBe(Math.min(...fresh.cells));
    expect(fresh.range.high).toBe(Math.max(...fresh.cells));
    const other = new Float32Array(fresh.cells.length + 1).fill(7);
    pictureOf(engine, infoOf(id), untouched, 40, { spare: other });
    expect(other.every((cell) => cell === 7)).toBe(true);
  });
});

describe('the length of training', () => {
  it('is that of an option that says so', () => {
    expect(trainedLength(infoOf('rope-yarn'), untouched)).toBe(4096);
    expect(trainedLength(infoOf('rope-yarn'), small({ originalLength: 77 }))).toBe(77);
    expect(trainedLength(infoOf('rope-truncated'), untouched)).toBe(2048);
    expect(trainedLength(infoOf('rope'), untouched)).toBeUndefined();
    expect(trainedLength(infoOf('rerope'), untouched)).toBeUndefined();
  });
});
