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
