// SPDX-License-Identifier: Apache-2.0
// What the package is measured by: peer's time / our time, at least so much. `except` leaves out variants of a peer.

const causal = (S) => `W2.attn.h12.s${S}.d64.causal`;
const grouped = 'W2.attn.h32kv8.s1024.d128.causal';
const rope = (shape, layout) => `W1.rope.${shape}.${layout}`;
const decode = (L) => `W3.decode.h32kv8.L${L}.d128`;
const [large, small] = ['h32.s2048.d128', 'h12.s512.d64'];

export const targets = [
  ...[512, 1024, 2048].flatMap((S) =>
    ['resident', 'e2e'].map((mode) => ({
      name: `causal 12 × ${S} × 64`,
      w: causal(S),
      mode,
      least: 2.6,
      relaxed: 3.3,
    })),
  ),
  { name: 'full 12 × 1024 × 64', w: 'W2.attn.h12.s1024.d64.full', least: 1.25, relaxed: 1.6 },
  { name: 'grouped 32/8 × 1024 × 128 causal', w: grouped, least: 2.5, relaxed: 3.2 },
  { name: 'the same, rotated', w: `${grouped}+rope`, least: 2.5, relaxed: 3.2 },
  { name: 'grouped, its GQA operator', w: grouped, only: /^GQA|GroupQuery/, least: 20 },
  { name: 'ALiBi 12 × 1024 × 64', w: 'W4.attn.h12.s1024.d64.alibi', least: 2.5, relaxed: 3.3 },
  { name: 'T5 12 × 1024 × 64, full', w: 'W4.attn.h12.s1024.d64.t5', least: 1.25, relaxed: 1.6 },
  ...[
    [512, 3],
    [2048, 4.5],
    [8192, 4.5],
  ].map(([L, least]) => ({ name: `decode 32/8 × 128, L = ${L}`, w: decode(L), least })),
  ...[
    [512, 5],
    [2048, 9],
    [8192, 14],
  ].map(([L, least]) => ({
    name: `decode over our cache, theirs handed over, L = ${L}`,
    w: decode(L),
    mode: 'e2e',
    only: /^(GQA|GroupQueryAttention|onnx23\.Attention)$/,
    least,
  })),
  ...[
    ['half, 32 × 2048 × 128', rope(large, 'half'), 6, 3],
    ['half, 12 × 512 × 64', rope(small, 'half'), 15, 6],
    ['interleaved, 32 × 2048 × 128', rope(large, 'interleaved'), 4, 3],
    ['interleaved, 12 × 512 × 64', rope(small, 'interleaved'), 8, 6],
  ].flatMap(([name, w, least, plain]) => [
    { name: `rope ${name}`, w, least },
    { name: `rope ${name}`, w, least: plain, peer: 'js-plain' },
  ]),
  { name: 'sinusoids built, 8192 × 1024', w: 'W5.sinusoid.build.s8192.d1024', least: 6 },
  { name: 'a table added, 8192 × 1024', w: 'W5.sinusoid.add.s8192.d1024', least: 1 },
].map((target) => ({ mode: 'resident', peer: 'ort-web', ...target }));

export const memoryTargets = {
  most: { w: causal(2048), megabytes: 32 },
  growth: { from: causal(1024), to: causal(2048), most: 2.05 },
};
export const accuracy = 1e-6;
