// SPDX-License-Identifier: Apache-2.0
// Colour tables from a formula in OKLCh, where equal steps of lightness look equal.

const transfer = (linear: number): number =>
  linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;

/** OKLCh to 8-bit sRGB; what lies outside the gamut loses chroma, not hue. */
export function oklch(lightness: number, chroma: number, hue: number): [number, number, number] {
  const angle = (hue * Math.PI) / 180;
  for (let kept = 1; ; kept -= 0.05) {
    const a = Math.max(0, kept) * chroma * Math.cos(angle);
    const b = Math.max(0, kept) * chroma * Math.sin(angle);
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const channels = [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
    if (kept <= 0 || channels.every((channel) => channel >= -0.0005 && channel <= 1.0005))
      return channels.map((channel) =>
        Math.round(255 * Math.min(1, Math.max(0, transfer(Math.max(0, channel))))),
      ) as [number, number, number];
  }
}

/** 256 colours as one 32-bit word each, in the byte order of canvas pixels. */
export type ColourTable = Uint32Array;
function table(colourAt: (t: number) => [number, number, number]): ColourTable {
  const bytes = new Uint8ClampedArray(1024);
  for (let i = 0; i < 256; i += 1) bytes.set([...colourAt(i / 255), 255], 4 * i);
  return new Uint32Array(bytes.buffer);
}

/** One table for each theme, made when it is first asked for: a map that is drawn again asks every time. */
function forThemes(colourAt: (t: number, dark: boolean) => [number, number, number]) {
  const made: [light?: ColourTable, dark?: ColourTable] = [];
  return (dark: boolean): ColourTable => {
    const which = dark ? 1 : 0;
    made[which] ??= table((t) => colourAt(t, dark));
    return made[which];
  };
}

/** Blue below zero, orange above, the page itself at zero. */
export const diverging = forThemes((t, dark) => {
  const side = 2 * t - 1;
  const strength = Math.abs(side);
  const lightness = dark ? 0.24 + 0.52 * strength : 0.97 - 0.38 * strength;
  return oklch(lightness, 0.155 * strength ** 0.8, side < 0 ? 250 : 55);
});

/** From the page to full strength, lightness in equal steps. */
export const sequential = forThemes((t, dark) =>
  oklch(
    dark ? 0.22 + 0.68 * t : 0.97 - 0.62 * t,
    0.015 + 0.085 * Math.sin(Math.PI * (0.02 + 0.83 * t)),
    175 + 45 * (dark ? 1 - t : t),
  ),
);

/** Relative luminance and contrast as WCAG defines them. */
export function contrast(first: readonly number[], second: readonly number[]): number {
  const luminance = (rgb: readonly number[]): number => {
    const [r, g, b] = rgb.map((channel) => {
      const c = channel / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    }) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [light, dark] = [luminance(first), luminance(second)].sort((x, y) => y - x) as [
    number,
    number,
  ];
  return (light + 0.05) / (dark + 0.05);
}
