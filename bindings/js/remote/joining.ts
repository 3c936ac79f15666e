// SPDX-License-Identifier: Apache-2.0
/**
 * The results of parts, put together as they come: what arrives first is copied while others still compute. Into a tensor of the
 * user's only at the end, so that a call that fails leaves it as it was.
 */

import type { Tensor } from '../types.js';
import { requireWritable } from './results.js';
import { join, place } from './slices.js';
import type { Run } from './split-options.js';
import type { Out } from './wire.js';

export interface Joining {
  add(part: number, result: unknown): void;
  /** When all have come. */
  finish(where: string): unknown;
}

/** One tensor, in `runs` along an axis of `of` entries, or of some multiple of both. */
export function joinTensor(runs: readonly Run[], of: number, axis: number, out?: Out): Joining {
  if (out !== undefined) {
    const parts: Tensor[] = [];
    return {
      add(part, result) {
        parts[part] = result as Tensor;
      },
      finish(where) {
        join(parts, axis, requireWritable(where, out).data);
        return out.tensor;
      },
    };
  }
  let whole: Tensor | undefined;
  return {
    add(part, result) {
      const { shape, data } = result as Tensor;
      const { from, count } = runs[part];
      const each = shape[axis] / count;
      whole ??= room(shape, axis, each * of);
      place(whole, axis, each * from, { shape, data });
    },
    finish: () => whole,
  };
}

function room(like: readonly number[], axis: number, extent: number): Tensor {
  const shape = like.map((one, i) => (i === axis ? extent : one));
  return { data: new Float32Array(shape.reduce((all, one) => all * one, 1)), shape };
}

/** Several tensors by name. */
export function joinNamed(tensor: (name: string) => Joining): Joining {
  const all = new Map<string, Joining>();
  return {
    add(part, results) {
      for (const [name, result] of Object.entries(results as Record<string, Tensor>)) {
        const joining = all.get(name) ?? tensor(name);
        all.set(name, joining);
        joining.add(part, result);
      }
    },
    finish: (where) =>
      Object.fromEntries([...all].map(([name, joining]) => [name, joining.finish(where)])),
  };
}
