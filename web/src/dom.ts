// SPDX-License-Identifier: Apache-2.0

type Attributes = Record<string, string | number | boolean | EventListener | undefined>;
type Child = Node | string;

function apply(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
}

/** Builds an element. Functions are listeners; text is only ever set as text, so nothing a visitor types becomes markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  // The address holds the state: what browsers keep of fields besides overwrites it at a reload, and takes 1 ms at every step of the
  // history.
  if (['input', 'select', 'textarea'].includes(tag)) element.setAttribute('autocomplete', 'off');
  apply(element, attributes);
  element.append(...children);
  return element;
}

/** The element most needed: a div with a class. */
export const box = (className: string, ...children: Child[]): HTMLDivElement =>
  h('div', { class: className }, ...children);

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  apply(element, attributes);
  element.append(...children);
  return element;
}

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * Shows `children` in place of what is there, changing only what differs: words put in anew are measured and laid out anew, 2 ms for the
 * axes of one figure. For what has no listeners, since those stay with what was there.
 */
export function renew(parent: Element, ...children: Child[]): void {
  let there = parent.firstChild;
  for (const child of children) {
    const next = typeof child === 'string' ? document.createTextNode(child) : child;
    if (!there) {
      parent.append(next);
      continue;
    }
    const after = there.nextSibling;
    if (!there.isEqualNode(next)) amend(there, next);
    there = after;
  }
  while (there) {
    const after = there.nextSibling;
    there.remove();
    there = after;
  }
}
const isElement = (node: Node): node is Element => node.nodeType === Node.ELEMENT_NODE;
function amend(there: ChildNode, next: Node): void {
  if (there.nodeName !== next.nodeName) there.replaceWith(next);
  else if (isElement(there) && isElement(next)) {
    for (const name of next.getAttributeNames()) {
      const value = next.getAttribute(name) ?? '';
      if (there.getAttribute(name) === value) continue;
      // The page's policy takes a style as a property only.
      if (name === 'style') (there as HTMLElement).style.cssText = value;
      else there.setAttribute(name, value);
    }
    for (const name of there.getAttributeNames())
      if (!next.hasAttribute(name)) there.removeAttribute(name);
    renew(there, ...next.childNodes);
  } else if (there.nodeValue !== next.nodeValue) there.nodeValue = next.nodeValue;
}

/** Changes text only when it differs, so that live regions stay quiet and selections survive. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** The same for whether it is shown: set again, an attribute has the browser look for styles again. */
export function setHidden(element: HTMLElement, hidden: boolean): void {
  if (element.hidden !== hidden) element.hidden = hidden;
}

let announced = 0;
let pending = 0;
/** Speaks through the polite live region, at most twice a second; the last message wins. */
export function announce(text: string): void {
  const speak = (): void => {
    announced = performance.now();
    pending = 0;
    setText(byId('live'), text);
  };
  if (pending) clearTimeout(pending);
  pending = window.setTimeout(speak, Math.max(0, 500 - (performance.now() - announced)));
}

function raise(text: string, ...buttons: HTMLButtonElement[]): HTMLElement {
  const item = h(
    'div',
    { class: 'toast' },
    h('span', {}, text),
    ...buttons,
    h('button', { type: 'button', click: () => item.remove() }, 'Close'),
  );
  byId('toasts').append(item);
  return item;
}

export function toast(text: string): void {
  const item = raise(text);
  setTimeout(() => item.remove(), 12000);
}

/** Stays until it is taken, closed or removed. */
export function offer(text: string, name: string, take: () => void): HTMLElement {
  return raise(text, h('button', { type: 'button', class: 'primary', click: take }, name));
}
