// SPDX-License-Identifier: Apache-2.0
/** A trained model, run with our rotation and attention in every layer. */

import { describe, expect, it } from 'vitest';
import { readCheckpoint } from '../../examples/generate/checkpoint.mjs';
import { golden } from './golden/cases.ts';
import { readFile } from './model/file.ts';
import { run } from './model/llama2c.ts';
import { pe } from './support/instance.ts';
import { expectClose } from './support/numbers.ts';

const file = await readFile('stories260K.bin');
const logits = golden('real_stories260k_logits');

describe.skipIf(file === undefined || logits === undefined)(
  `a trained model of 260 thousand parameters${file ? '' : ', skipped: the model file is not here'}`,
  () => {
    if (file === undefined || logits === undefined) {
      it('matches the reference', () => {});
      return;
    }
    const model = readCheckpoint(file);
    const { inputs, expected, tolerance, params } = logits;
    const result = run(pe, model, inputs.tokens);

    it('is read as the reference describes it', () => {
      expect([model.dim, model.hidden, model.layers, model.heads, model.kvHeads]).toEqual([
        params.dim,
        params.hidden_dim,
        params.n_layers,
        params.n_heads,
        params.n_kv_heads,
      ]);
    });

    it('matches the logits', () => {
      const got = inputs.logit_positions.flatMap((t: number) => [...result.logits[t]]);
      expectClose(got, expected.logits_f64.data, tolerance.f32, 'logits');
    });

    it('chooses the same token at every position', () => {
      const best = result.logits.map((row) => row.indexOf(Math.max(...row)));
      expect(best).toEqual(expected.argmax_every_position);
    });

    for (const layer of [0, 3]) {
      const one = golden(`real_stories260k_layer${layer}_attention`);
      it.skipIf(one === undefined)(`has the activations of layer ${layer}`, () => {
        if (one === undefined) return;
        const trace = result.trace[layer];
        const close = { rtol: 1e-4, atol: 1e-4 };
        for (const name of ['q', 'k', 'v'] as const) {
          const { data } = one.inputs[name];
          expectClose(trace[name].data.subarray(0, data.length), data, close, name);
        }
        const { data } = one.expected.out;
        expectClose(trace.out.data.subarray(0, data.length), data, close, 'out');
      });
    }
  },
);
