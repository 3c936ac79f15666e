// SPDX-License-Identifier: Apache-2.0
import { announce, h, toast } from '../dom.ts';

export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = h('a', { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export const saveJson = (name: string, value: object): void =>
  download(name, new Blob([JSON.stringify(value, null, 1)], { type: 'application/json' }));

/** Safari writes only while it handles the press: what is still being made is handed over as a promise. */
async function write(text: string | Promise<string>): Promise<void> {
  if (typeof text !== 'string' && typeof ClipboardItem === 'function')
    try {
      const made = text.then((one) => new Blob([one], { type: 'text/plain' }));
      return await navigator.clipboard.write([new ClipboardItem({ 'text/plain': made })]);
    } catch {
      // Some browsers take no promise, others plain text alone.
    }
  await navigator.clipboard.writeText(await text);
}

/** Copies, or shows the text to copy by hand where the browser forbids it. */
export async function copy(text: string | Promise<string>, what: string): Promise<void> {
  try {
    await write(text);
    announce(`${what} copied`);
    toast(`${what} copied.`);
  } catch {
    toast(`Copying is not allowed here. ${what}: ${await text}`);
  }
}

export interface Poster {
  readonly title: string;
  readonly lines: readonly string[];
  /** Draws the picture into a box of the poster. */
  draw(
    context: CanvasRenderingContext2D,
    x: number,
    y: number,
    width: number,
    height: number,
  ): void;
}

/** A picture that stands alone: title, figure, parameters and address, at twice the usual size. */
export function savePicture(name: string, poster: Poster): void {
  const style = getComputedStyle(document.documentElement);
  const body = getComputedStyle(document.body);
  const canvas = h('canvas');
  const [width, height, margin] = [2000, 1120, 72];
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.fillStyle = body.backgroundColor;
  context.fillRect(0, 0, width, height);
  context.fillStyle = body.color;
  context.font = `500 52px ${style.getPropertyValue('--serif')}`;
  context.fillText(poster.title, margin, margin + 40, width - 2 * margin);
  const below = 40 * poster.lines.length + 40;
  poster.draw(context, margin, margin + 80, width - 2 * margin, height - margin - 80 - below - 40);
  context.fillStyle = body.color;
  context.font = `28px ${style.getPropertyValue('--sans')}`;
  for (const [i, line] of poster.lines.entries())
    context.fillText(line, margin, height - below + 40 * i + 20, width - 2 * margin);
  canvas.toBlob((blob) => blob && download(name, blob), 'image/png');
}
