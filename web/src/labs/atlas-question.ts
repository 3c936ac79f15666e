// SPDX-License-Identifier: Apache-2.0
// What the atlas asks before it draws beyond the usual length.
import { type Picture, pictureOf } from '../compute/picture.ts';
import { exact, grouped } from '../draw/scale.ts';
import { type Engine, manifest } from '../engine.ts';
import { tokensWithin } from '../model/places.ts';
import { infoOf, type Store } from '../model/state.ts';
import { Guess } from '../parts/guess.ts';

/** A distance that the usual length does not show. */
const far = 4096;

export function atlasQuestion(
  engine: Engine,
  store: Store,
  shown: () => Picture | undefined,
): Guess {
  const info = () => infoOf(manifest, store.get());
  const fits = (): boolean => {
    const { length, settings } = store.get();
    return length <= far && tokensWithin(info(), settings, far + 1) > far && !info().remapsDistance;
  };
  return new Guess({
    ask: () =>
      fits()
        ? `The curve below ends early. At distance ${grouped(far)}, will that of ${info().title} lie above ${shown()?.baseline ?? 0}?`
        : undefined,
    choices: ['Above', 'Not above'],
    answer: () => {
      const { settings, head } = store.get();
      const picture = pictureOf(engine, info(), settings, far + 1, { head });
      const value = picture.curves[0]?.values[far - picture.first] ?? Number.NaN;
      store.set({ length: far + 1 });
      return {
        right: Number(!(value > picture.baseline)),
        text: `${picture.curveName} at ${grouped(far)}: ${exact(value)}.`,
      };
    },
  });
}
