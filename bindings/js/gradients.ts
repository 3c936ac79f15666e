// SPDX-License-Identifier: Apache-2.0
/** Which options of an encoding have a gradient, and where each of them goes. */

import type { Held } from './handles.js';
import { freshTarget, type Target } from './target.js';

/** In the order in which the core asks for them; without a target where an option was left out. */
export function gradientTargets(
  where: string,
  { info, options }: Held,
  acts = info.sites.some((site) => site !== 'embed'),
): readonly { name: string; target: Target | undefined }[] {
  return info.gradients.map((name) => {
    const table = options.tables.get(name);
    const value = options.values.get(name);
    const list = value instanceof Float64Array ? [value.length] : undefined;
    const number = info.fields.some((field) => field.name === name && field.type === 'number');
    const shape = table?.shape ?? list ?? (number ? [] : undefined);
    const target = acts && shape !== undefined ? freshTarget(where, shape) : undefined;
    return { name, target };
  });
}
