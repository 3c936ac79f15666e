// SPDX-License-Identifier: Apache-2.0
/** What must compile of `posenc/worker` and what must not. Never run: the type checker is the test. */

import type { EncodingInfo, RotationPlan, Tensor } from 'posenc';
import { load, type RemoteCache, type RemoteEncoding, type RemoteTensor } from 'posenc/worker';

const { signal } = new AbortController();
const pe = await load({ workers: 2, build: 'relaxed', fresh: true });
declare const tensor: Tensor;

const rope: RemoteEncoding<'rope'> = await pe.encoding('rope', { headDim: 64, signal });
const none = await pe.encoding('none');
const turned: Tensor = await rope.rotate(tensor, { start: 3 }, { role: 'key', transfer: true });
const plan: RotationPlan = await rope.plan(9, { signal });
const id: 'rope' = rope.id;
const cache: RemoteCache = await pe.cache({ heads: 2, headDim: 4, capacity: 8, encoding: [rope] });
const owned: RemoteTensor = await pe.tensor([2], [1, 2], { beside: cache });
const length: number = cache.length;
const fork: RemoteCache = await cache.fork();
const { output } = await pe.attention(tensor, cache, { append: { k: tensor, v: tensor }, signal });
const { weights } = await pe.attention(owned, tensor, tensor, {
  encoding: [rope, none],
  transfer: true,
});
const { data }: Tensor = await owned.read();
const infos: readonly EncodingInfo[] = pe.encodings;
const bytes: number = (await pe.info.memory()).bytes;
using held = await pe.encoding('alibi', { heads: 2 });
const bias: Tensor = await held.bias([0], [1]);
rope.dispose();

// @ts-expect-error ALiBi rotates nothing
held.rotate(tensor);
// @ts-expect-error the memory of a worker cannot be looked into
owned.data.length;
// @ts-expect-error a signal is no number
pe.attention(tensor, tensor, tensor, { signal: 3 });
// @ts-expect-error no such option
pe.attention(tensor, tensor, tensor, { signl: signal });
// @ts-expect-error how many is a number
load({ workers: '2' });

export const used = [turned, plan, id, length, fork, output, weights, data, infos, bytes, bias];
