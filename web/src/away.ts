// SPDX-License-Identifier: Apache-2.0
// A lab out of reach of the screen is neither styled nor laid out nor painted: with all labs open that was half of every frame. It
// keeps its room, and can still be found, printed and reached by Tab.

const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries)
      target.classList.toggle('away', !isIntersecting);
  },
  { rootMargin: '50% 0px' },
);

/** From when the whole lab is there. In reach it is as if nothing had been done: what skips its content clips it, too. */
export const restAway = (lab: Element): void => observer.observe(lab);
