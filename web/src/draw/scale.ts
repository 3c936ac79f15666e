// SPDX-License-Identifier: Apache-2.0

/** Round numbers that cut [low, high] into about `wanted` parts. */
export function ticks(low: number, high: number, wanted: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return Number.isFinite(low) ? [low] : [];
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((multiple) => multiple * power >= rough) ?? 10) * power;
  const found: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}

/** Short text for an axis. */
export function brief(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  const text =
    size >= 1e5 || size < 1e-3
      ? value.toExponential(1).replace('e+', 'e')
      : String(Number(value.toPrecision(4)));
  return text.replace('-', '−');
}

/** Eight digits: enough to tell float32 numbers apart. */
export const exact = (value: number): string => value.toPrecision(8);

/** A number as a person writes it: 5.96 × 10⁻⁸. */
export function scientific(value: number): string {
  if (value === 0) return '0';
  if (Math.abs(value) >= 0.001 && Math.abs(value) < 1000) return value.toPrecision(3);
  const [digits, power] = value.toExponential(2).split('e') as [string, string];
  const raised = [...power.replace('+', '')]
    .map((sign) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(sign)])
    .join('');
  return `${digits}\u00a0×\u00a010${raised}`;
}

/** Round numbers of a logarithmic axis: powers of ten, with 2 and 5 between them where there is room. */
export function logTicks(low: number, high: number, wanted: number): number[] {
  if (!(low > 0) || !(high >= low) || !Number.isFinite(high)) return [];
  const decades = Math.log10(high / low);
  const every = Math.max(1, Math.ceil(decades / Math.max(1, wanted)));
  const between = decades * 3 <= wanted * 1.5 ? [1, 2, 5] : [1];
  const found: number[] = [];
  const first = Math.floor(Math.log10(low) + 1e-9);
  for (let power = first; 10 ** power <= high * (1 + 1e-9); power += 1) {
    if (between.length === 1 && power % every !== 0) continue;
    for (const multiple of between) {
      const value = Number(`${multiple}e${power}`);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) found.push(value);
    }
  }
  return found.length > 1 ? found : ticks(low, high, wanted).filter((value) => value > 0);
}

/** Whole numbers with their thousands apart, others with up to `digits` digits. */
export const grouped = (value: number, digits = 4): string =>
  Number.isInteger(value) && Math.abs(value) < 1e15
    ? String(value)
        .replace('-', '−')
        .replace(/\B(?=(\d{3})+$)/g, ',')
    : Math.abs(value) >= 1000 && Math.abs(value) < 1e15
      ? grouped(Math.round(value))
      : brief(Number(value.toPrecision(digits)));

/** For an axis of large numbers: 10k, 1M. */
export function compact(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e12 || size < 1e4) return brief(value);
  const [unit, letter] = size >= 1e9 ? [1e9, 'G'] : size >= 1e6 ? [1e6, 'M'] : [1e3, 'k'];
  return `${brief(value / (unit as number))}${letter}`;
}

const longestLabel = 8;
/** A word where there is room for so many letters. */
export const shortened = (word: string, most: number): string =>
  word.length > most ? `${word.slice(0, most - 1)}…` : word;

/** What stands along a side of a map: every word or every second, third … so that no two run into each other, and `always`. */
export function labelsOf(
  words: readonly string[],
  most: number,
  always?: number,
): { at: number; text: string }[] {
  const every = Math.max(1, Math.ceil(words.length / most));
  return words
    .map((word, at) => ({ at, text: shortened(word, longestLabel) }))
    .filter(({ at }) => at % every === 0 || at === always);
}
