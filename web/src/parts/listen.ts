// SPDX-License-Identifier: Apache-2.0
// A button that lets a curve be heard. Nothing sounds, or is loaded for it, before it is pressed.
import { announce, h, setText, toast } from '../dom.ts';
import { brief } from '../draw/scale.ts';
import type { Heard } from './sound.ts';

let serial = 0;
/** Of whichever button is playing: two curves at once would be noise. */
let stop: (() => void) | undefined;

/** `heard` is what is on screen; `follow` moves the cursor along, where motion is welcome. */
export function listenButton(
  heard: () => Heard | undefined,
  follow: (column: number) => void,
): readonly HTMLElement[] {
  serial += 1;
  const id = `listen-${serial}`;
  const button = h(
    'button',
    { type: 'button', 'aria-describedby': id, click: () => void press() },
    'Listen',
  );
  let mine: (() => void) | undefined;
  async function press(): Promise<void> {
    const playing = mine;
    stop?.();
    if (playing) return;
    const curve = heard();
    if (!curve) return;
    try {
      const { play, toneOf } = await import('./sound.ts');
      const tone = toneOf(curve);
      const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
      mine = play(tone, still ? undefined : follow, (early) => {
        mine = undefined;
        stop = undefined;
        setText(button, 'Listen');
        // After the tone, since a voice over it would hide it.
        if (!early) announce(`${curve.name}: from ${brief(tone.low)} to ${brief(tone.high)}`);
      });
      stop = mine;
      setText(button, 'Silence');
    } catch {
      toast('This browser gives no sound to pages.');
    }
  }
  return [
    button,
    h(
      'span',
      { id, hidden: true },
      'Plays the curve under the cursor in two seconds, from left to right: a higher tone is a higher value, no tone is no value.',
    ),
  ];
}
