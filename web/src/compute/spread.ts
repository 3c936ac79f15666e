// SPDX-License-Identifier: Apache-2.0
// What two vectors may score at a distance, once their pairs of channels have turned: at most, and as a rule.
import { hash, normal } from '../model/random.ts';

/** Writes what turning multiplies the product of a query's pair and a key's by, as a complex number for every pair at a place. */
type Factors = (place: number, factors: Float64Array) => void;
/** Turns at these places, when somebody asks and for as long as `score` takes. */
type Turn = <T>(places: Float64Array, score: (factors: Factors) => T) => T;
/** Of the scores of random unit vectors, per column. */
export interface Spread {
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
}
export interface Around {
  /** Per column: |Σ exp(iωδ)| over the number of pairs, those that do not turn counted in. */
  readonly envelope: Float64Array;
  /** The columns at which random vectors are scored; on others stands what lies between. 0 where a head is too wide to draw them. */
  readonly scored: number;
  /** Reckoned when it is first asked for; undefined where no vectors are drawn. */
  spread(): Spread | undefined;
}

export const draws = 2000;
/** Their products are summed once for each width, in time that grows with its square: 0.1 s at this one. */
const widest = 256;
/** The sums of a column take as long as a row of products, so where there are more columns these many stand for all. */
const mostScored = 256;

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

/** Mean and deviation of the scores where pairs are multiplied by these factors, after which stands 1 for what does not turn. */
function scoresOf({ mean, products }: Moments, factors: Float64Array): [number, number] {
  const size = mean.length;
  let first = 0;
  let second = 0;
  for (let i = 0; i < size; i += 1) {
    const by = factors[i] as number;
    first += by * (mean[i] as number);
    let row = 0;
    for (let j = i; j < size; j += 1)
      row += (products[i * size + j] as number) * (factors[j] as number);
    second += by * row;
  }
  return [first, Math.sqrt(Math.max(0, second - first * first))];
}

function scoresBetween(
  moments: Moments,
  places: Float64Array,
  columns: number,
  factors: Factors,
): Spread {
  const mean = new Float64Array(columns);
  const deviation = new Float64Array(columns);
  const at = new Float64Array(moments.mean.length).fill(1);
  let before = 0;
  places.forEach((column, i) => {
    factors(i, at);
    [mean[column], deviation[column]] = scoresOf(moments, at);
    for (let between = before + 1; between < column; between += 1) {
      const share = (between - before) / (column - before);
      for (const all of [mean, deviation])
        all[between] = (1 - share) * (all[before] as number) + share * (all[column] as number);
    }
    before = column;
  });
  return { mean, deviation };
}

export function around(headDim: number, pairs: number, envelope: Float64Array, turn: Turn): Around {
  const columns = envelope.length;
  const scored = headDim > widest ? 0 : Math.min(columns, mostScored);
  const reckoned = (): Spread => {
    if (latest?.headDim !== headDim || latest.pairs !== pairs) latest = momentsOf(headDim, pairs);
    const moments = latest;
    const places = Float64Array.from({ length: scored }, (_, i) =>
      scored === 1 ? 0 : Math.round((i * (columns - 1)) / (scored - 1)),
    );
    return turn(places, (factors) => scoresBetween(moments, places, columns, factors));
  };
  let found: Spread | undefined;
  return {
    envelope,
    scored,
    spread() {
      if (scored > 0) found ??= reckoned();
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
