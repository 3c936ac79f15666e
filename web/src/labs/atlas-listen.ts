// SPDX-License-Identifier: Apache-2.0
// The curve of the atlas as a tone.
import type { Picture } from '../compute/picture.ts';
import { listenButton } from '../parts/listen.ts';
import { atlasCursor } from './atlas-cursor.ts';

export const atlasListen = (shown: () => Picture | undefined): readonly HTMLElement[] =>
  listenButton(
    () => {
      const picture = shown();
      const curve = picture?.curves[picture.perRow ? atlasCursor.row : 0];
      if (!curve) return undefined;
      const places = Float64Array.from(curve.values, (_, i) => i);
      return { name: curve.name, values: curve.values, places, logarithmic: false };
    },
    (column) => atlasCursor.glide(column),
  );
