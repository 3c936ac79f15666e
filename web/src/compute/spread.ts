// SPDX-License-Identifier: Apache-2.0
// What two vectors may score at a distance, once their pairs of channels have turned: at most, and as a rule.
import { hash, normal } from '../model/random.ts';

/** What turning multiplies the product of a query's pair and a key's by, as a complex number. */
export interface Turning {
  readonly headDim: number;
  readonly pairs: number;
  readonly columns: number;
  /** Writes that of every pair at a column: kept for all columns they would be 4 MB for 8192 of 32 pairs, made anew at each drawing. */
  at(column: number, real: Float64Array, imaginary: Float64Array): void;
}
export interface Spread {
  /** Per column: |Σ exp(iωδ)| over the number of pairs, those that do not turn counted in. */
  readonly envelope: Float64Array;
  /** Per column: of the scores of random unit vectors. Undefined where the head is too wide to draw them. */
  readonly random: { readonly mean: Float64Array; readonly deviation: Float64Array } | undefined;
}
/** A spread takes as long as the picture it surrounds, so it is reckoned when it is first asked for. */
export interface Around {
  /** The columns at which random vectors are scored; on others stands what lies between. 0 where none are drawn. */
  readonly scored: number;
  spread(): Spread;
}

export const draws = 2000;
/** Their products are summed once for each width, in time that grows with its square: 0.1 s at this one. */
const widest = 256;
/** The sums of a column take as long as a row of products, so where there are more columns these many stand for all. */
const mostScored = 256;

export function envelopeOf({ headDim, pairs, columns, at }: Turning): Float64Array {
  const atRest = headDim / 2 - pairs;
  const [real, imaginary] = [new Float64Array(pairs), new Float64Array(pairs)];
  return Float64Array.from({ length: columns }, (_, column) => {
    let x = atRest;
    let y = 0;
    at(column, real, imaginary);
    for (let i = 0; i < pairs; i += 1) {
      x += real[i] as number;
      y += imaginary[i] as number;
    }
    return Math.sqrt(x * x + y * y) / (headDim / 2);
  });
}

interface Moments {
  readonly headDim: number;
  readonly pairs: number;
  readonly mean: Float64Array;
  /** [size, size] on and above the diagonal, where what is above counts twice. */
  readonly products: Float64Array;
}

/** Of what a draw multiplies the turning by: two numbers for each pair, one for all that does not turn. */
function momentsOf(headDim: number, pairs: number): Moments {
  const size = 2 * pairs + 1;
  const mean = new Float64Array(size);
  const products = new Float64Array(size * size);
  const numbers = normal(hash('spread'), draws * 2 * headDim);
  const one = new Float64Array(size);
  for (let draw = 0; draw < draws; draw += 1) {
    const q = numbers.subarray(2 * draw * headDim, (2 * draw + 1) * headDim);
    const k = numbers.subarray((2 * draw + 1) * headDim, (2 * draw + 2) * headDim);
    const length = (v: Float32Array): number => Math.sqrt(v.reduce((sum, x) => sum + x * x, 0));
    const shrink = 1 / (length(q) * length(k) * draws);
    let rest = 0;
    for (let i = 2 * pairs; i < headDim; i += 1) rest += (q[i] as number) * (k[i] as number);
    for (let pair = 0; pair < pairs; pair += 1) {
      const [a, b] = [q[2 * pair] as number, q[2 * pair + 1] as number];
      const [c, d] = [k[2 * pair] as number, k[2 * pair + 1] as number];
      one[2 * pair] = a * c + b * d;
      one[2 * pair + 1] = a * d - b * c;
    }
    one[size - 1] = rest;
    for (let i = 0; i < size; i += 1) {
      const weighed = (one[i] as number) * shrink;
      mean[i] = (mean[i] as number) + weighed;
      // The mean was shrunk by the draws already, the products have one more length of each to lose.
      const twice = weighed * shrink * draws;
      for (let j = i; j < size; j += 1)
        products[i * size + j] = (products[i * size + j] as number) + twice * (one[j] as number);
    }
  }
  for (let i = 0; i < size; i += 1)
    for (let j = i + 1; j < size; j += 1)
      products[i * size + j] = 2 * (products[i * size + j] as number);
  return { headDim, pairs, mean, products };
}

let latest: Moments | undefined;

/** Mean and deviation of the scores at one column, from what the draws sum to. */
function scoresAt({ mean, products }: Moments, turning: Turning, column: number): [number, number] {
  const { pairs } = turning;
  const size = mean.length;
  const turned = new Float64Array(size).fill(1);
  const [real, imaginary] = [new Float64Array(pairs), new Float64Array(pairs)];
  turning.at(column, real, imaginary);
  for (let pair = 0; pair < pairs; pair += 1) {
    turned[2 * pair] = real[pair] as number;
    turned[2 * pair + 1] = imaginary[pair] as number;
  }
  let first = 0;
  let second = 0;
  for (let i = 0; i < size; i += 1) {
    const by = turned[i] as number;
    first += by * (mean[i] as number);
    let row = 0;
    for (let j = i; j < size; j += 1)
      row += (products[i * size + j] as number) * (turned[j] as number);
    second += by * row;
  }
  return [first, Math.sqrt(Math.max(0, second - first * first))];
}

function spreadOf(turning: Turning, scored: number): Spread {
  const { headDim, pairs, columns } = turning;
  const envelope = envelopeOf(turning);
  if (scored === 0) return { envelope, random: undefined };
  if (latest?.headDim !== headDim || latest.pairs !== pairs) latest = momentsOf(headDim, pairs);
  const mean = new Float64Array(columns);
  const deviation = new Float64Array(columns);
  let before = 0;
  for (let i = 0; i < scored; i += 1) {
    const column = scored === 1 ? 0 : Math.round((i * (columns - 1)) / (scored - 1));
    const [middle, width] = scoresAt(latest, turning, column);
    [mean[column], deviation[column]] = [middle, width];
    for (let between = before + 1; between < column; between += 1) {
      const share = (between - before) / (column - before);
      for (const all of [mean, deviation])
        all[between] = (1 - share) * (all[before] as number) + share * (all[column] as number);
    }
    before = column;
  }
  return { envelope, random: { mean, deviation } };
}

/** `turn` gives what is turned to whoever needs it, for as long as that takes. */
export function around(
  { headDim, columns }: Pick<Turning, 'headDim' | 'columns'>,
  turn: (use: (turning: Turning) => Spread) => Spread,
): Around {
  const scored = headDim > widest ? 0 : Math.min(columns, mostScored);
  let found: Spread | undefined;
  return {
    scored,
    spread() {
      found ??= turn((turning) => spreadOf(turning, scored));
      return found;
    },
  };
}

/** Under the plot, where it was drawn. */
export const spreadInWords = ({ scored }: Around, columns: number): string[] => [
  'Dashed: its envelope, |Σ exp(iωᵢ δ)| over the number of pairs; the curve swings within it.',
  ...(scored > 0
    ? [
        `Band: the score of ${draws.toLocaleString('en')} pairs of random vectors of length 1, its mean ± one standard deviation${
          scored < columns ? `, at ${scored} of the distances and straight between them` : ''
        }. It does not narrow: what decays is the agreement of vectors that are alike.`,
      ]
    : []),
];
