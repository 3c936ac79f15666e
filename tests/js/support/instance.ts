// SPDX-License-Identifier: Apache-2.0
/** The shared instance, and the answer it must always give. */

import {
  type EmbedMethods,
  type Encoding,
  type EncodingId,
  load,
  type Posenc,
  type RotateMethods,
  type ScoreMethods,
} from 'posenc';
import { expect } from 'vitest';

export const pe = await load();

export { inNode } from './host.ts';

/** An encoding by an id that is only known when the test runs. */
export function anyEncoding(from: Posenc, id: string, options: object = {}) {
  const create = from.encoding as unknown as (id: EncodingId, options: object) => AnyEncoding;
  return create.call(from, id as EncodingId, options);
}

export type AnyEncoding = Encoding & EmbedMethods & RotateMethods & ScoreMethods;

/** RoPE of [1, 2, 3, 4] at position 1, computed by hand in float64 and rounded. */
export function expectGoldenAnswer(from: Posenc): void {
  const rope = from.encoding('rope', { headDim: 4 });
  const { data } = rope.rotate({ data: Float32Array.of(1, 2, 3, 4), shape: [1, 4] }, [1]);
  rope.dispose();
  expect([...data].map((x) => x.toFixed(5))).toEqual(['-1.98411', '1.95990', '2.46238', '4.01980']);
}
