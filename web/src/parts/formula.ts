// SPDX-License-Identifier: Apache-2.0
// A formula as the build wrote it (web/formulas.ts): MathML for eyes, words for ears.
import { h } from '../dom.ts';

/** An element: its name, its attributes, and what is in it. */
export type Branch = readonly [string, Readonly<Record<string, string>>, ...(Branch | string)[]];
export interface Written {
  readonly spoken: string;
  /** A line may break between them. */
  readonly parts: readonly Branch[];
}

function built([name, attributes, ...children]: Branch): Element {
  const element = document.createElementNS('http://www.w3.org/1998/Math/MathML', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.map((child) => (typeof child === 'string' ? child : built(child))));
  return element;
}

/** The plain text where there is nothing else. */
export const formula = (plain: string, written: Written | undefined): HTMLElement =>
  h(
    'p',
    { class: 'formula', role: 'math', 'aria-label': written?.spoken ?? plain },
    ...(written ? written.parts.flatMap((part) => [built(part), ' ']) : [plain]),
  );
