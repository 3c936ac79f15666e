// SPDX-License-Identifier: Apache-2.0
// A button that lets a curve be heard. Nothing sounds, or is loaded for it, before it is pressed.
import { announce, h, setText, toast } from '../dom.ts';
import { brief } from '../draw/scale.ts';
import { motionless } from '../motion.ts';
import type { Heard } from './sound.ts';

interface Sounding {
  readonly button: HTMLElement;
  /** Ends the tone early; there is none while its player is fetched. */
  end?: () => void;
}

let serial = 0;
/** Whichever was pressed last: two curves at once would be noise. */
let sounding: Sounding | undefined;

function over(one: Sounding): void {
  if (sounding === one) sounding = undefined;
  setText(one.button, 'Listen');
}

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
  async function press(): Promise<void> {
    const before = sounding;
    if (before) {
      over(before);
      before.end?.();
    }
    if (before?.button === button) return;
    const curve = heard();
    if (!curve) return;
    const own: Sounding = { button };
    sounding = own;
    setText(button, 'Silence');
    try {
      const { play, toneOf } = await import('./sound.ts');
      // Meanwhile this one was silenced, or another pressed.
      if (sounding !== own) return;
      const tone = toneOf(curve);
      own.end = play(tone, motionless.matches ? undefined : follow, (early) => {
        if (early) return;
        over(own);
        // After the tone, since a voice over it would hide it.
        announce(`${curve.name}: from ${brief(tone.low)} to ${brief(tone.high)}`);
      });
    } catch {
      if (sounding !== own) return;
      over(own);
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
