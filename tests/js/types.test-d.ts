// SPDX-License-Identifier: Apache-2.0
/** What must compile and what must not. Never run: the type checker is the test. */

import {
  type Encoding,
  type EncodingId,
  encodings,
  load,
  PosencError,
  type PosencErrorCode,
  type RotationPlan,
  type Tensor,
} from 'posenc';

const pe = await load({ build: 'auto', fresh: true });
declare const tensor: Tensor;
declare const any: Encoding;

const rope = pe.encoding('rope', { headDim: 64, layout: 'half' });
const turned: Tensor = rope.rotate(
  tensor,
  { start: 3 },
  { role: 'key', inverse: true, out: tensor },
);
const plan: RotationPlan = rope.plan(4096);
const id: 'rope' = rope.id;

const learned = pe.encoding('learned', { table: tensor, pastEnd: 'clamp' });
const rows: Tensor = learned.embed(learned.table([0, 1]), BigInt64Array.of(0n, 1n));
const bias: Tensor = pe.encoding('alibi', { heads: 8, slopes: [1, 2] }).bias([0], [0, 1]);
const none = pe.encoding('none');
const shaw = pe.encoding('shaw', { headDim: 4, maxDistance: 2, keyTable: tensor });

rope.rotate({ data: Int32Array.of(1), shape: [1, 1] });
// @ts-expect-error BigInts are no numbers
rope.rotate({ data: BigInt64Array.of(1n), shape: [1, 1] });
const { output, weights } = pe.attention(tensor, { data: [1], dims: [1, 1, 1] }, tensor, {
  encoding: [rope, pe.encoding('alibi', { heads: 8 })],
  mask: { data: new Uint8Array(1), shape: [1] },
  weights: true,
});
const maybe: Tensor | undefined = weights;
{
  using owned = pe.tensor([2, 3], new Float64Array(6));
  pe.attention(owned, owned, owned, { out: owned, encoding: none });
}

// @ts-expect-error headDim is missing
pe.encoding('rope', {});
// @ts-expect-error so are all options
pe.encoding('rope');
// @ts-expect-error a misspelt option
pe.encoding('rope', { headDim: 4, basse: 1 });
// @ts-expect-error an option of another encoding
pe.encoding('rope', { headDim: 4, heads: 2 });
// @ts-expect-error a string for a number
pe.encoding('rope', { headDim: '4' });
// @ts-expect-error no such layout
pe.encoding('rope', { headDim: 4, layout: 'halves' });
// @ts-expect-error no such encoding
pe.encoding('roep', { headDim: 4 });
// @ts-expect-error ALiBi rotates nothing
pe.encoding('alibi', { heads: 2 }).rotate(tensor);
// @ts-expect-error RoPE adds nothing to embeddings
rope.table([0]);
// @ts-expect-error Shaw's scores depend on q and k
shaw.bias([0], [0]);
// @ts-expect-error nothing at all can be asked of an encoding that is not known
any.rotate(tensor);
// @ts-expect-error a window has two sides
pe.attention(tensor, tensor, tensor, { window: 3 });
// @ts-expect-error log-n has no factor
pe.attention(tensor, tensor, tensor, { queryScale: { kind: 'logn', length: 9, factor: 1 } });
// @ts-expect-error positions are numbers
rope.rotate(tensor, ['0']);
// @ts-expect-error results are read-only
output.shape = [1];

const ids: readonly EncodingId[] = encodings.map((one) => one.id);
const code: PosencErrorCode = new PosencError({ code: 'SHAPE_MISMATCH', message: '' }).code;
// @ts-expect-error no such code
const wrong: PosencErrorCode = 'SHAPE_MISSMATCH';

export const used = [turned, plan, id, rows, bias, maybe, ids, code, wrong, output];
