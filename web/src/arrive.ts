// SPDX-License-Identifier: Apache-2.0
// Holds the place that was gone to. Labs that load on the way would move it off: by up to eight screens at the first jump to a late lab.

let held = new AbortController();

/** Longer than a smooth scroll and the loading of what it passes. */
const longest = 4000;

/** Keeps `target` where a link put it while the page grows or shrinks, until the visitor does something or goes elsewhere. */
export function arrive(target: Element): void {
  leave();
  held = new AbortController();
  const { signal } = held;
  let height = document.body.clientHeight;
  const watch = new ResizeObserver(() => {
    const now = document.body.clientHeight;
    if (now !== height) target.scrollIntoView({ behavior: 'instant' });
    height = now;
  });
  watch.observe(document.body);
  signal.addEventListener('abort', () => watch.disconnect());
  for (const kind of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
    addEventListener(kind, leave, { signal, passive: true, capture: true });
  setTimeout(() => {
    if (signal === held.signal) leave();
  }, longest);
}

export const leave = (): void => held.abort();
