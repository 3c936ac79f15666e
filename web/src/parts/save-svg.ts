// SPDX-License-Identifier: Apache-2.0
// A figure of curves as a file that stands alone: its own colours, title, parameters and address written in.
import { svg } from '../dom.ts';
import type { Stage } from '../draw/stage.ts';
import { download } from './save.ts';

const copied = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-linejoin',
  'font-family',
  'font-size',
  'font-weight',
  'text-anchor',
  'opacity',
] as const;

/** The classes mean nothing outside the page, so every element takes along what they made of it. */
function styled(original: Element): SVGElement {
  const clone = original.cloneNode(true) as SVGElement;
  const [from, to] = [
    [original, ...original.querySelectorAll('*')],
    [clone, ...clone.querySelectorAll('*')],
  ] as [Element[], SVGElement[]];
  to.forEach((element, i) => {
    const style = getComputedStyle(from[i] as Element);
    for (const name of copied) {
      const value = style.getPropertyValue(name);
      if (value) element.setAttribute(name, value);
    }
    element.removeAttribute('class');
    element.removeAttribute('style');
  });
  return clone;
}

interface Text {
  readonly title: string;
  readonly lines: readonly string[];
}

function drawing(
  stage: Stage,
  { title, lines }: Text,
): { text: string; width: number; height: number } {
  const body = getComputedStyle(document.body);
  const { clientWidth: inner, clientHeight: tall } = stage.root;
  const width = inner + 48;
  const height = tall + 84 + 18 * lines.length;
  const line = (text: string, y: number, size: number): SVGElement =>
    svg(
      'text',
      { x: 24, y, 'font-size': size, 'font-family': 'sans-serif', fill: body.color },
      text,
    );
  const figure = styled(stage.overlay);
  for (const [name, value] of Object.entries({ x: 24, y: 52, width: inner, height: tall }))
    figure.setAttribute(name, String(value));
  const whole = svg(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}` },
    svg('rect', { width, height, fill: body.backgroundColor }),
    line(title, 34, 20),
    figure,
    ...lines.map((text, i) => line(text, tall + 78 + 18 * i, 12)),
  );
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

export function saveSvg(name: string, stage: Stage, text: Text): void {
  download(name, new Blob([drawing(stage, text).text], { type: 'image/svg+xml' }));
}

/** The same at twice its size in pixels. */
export async function savePng(name: string, stage: Stage, text: Text): Promise<void> {
  const drawn = drawing(stage, text);
  const address = URL.createObjectURL(new Blob([drawn.text], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = 2 * drawn.width;
    canvas.height = 2 * drawn.height;
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
    if (blob) download(name, blob);
  } finally {
    URL.revokeObjectURL(address);
  }
}
