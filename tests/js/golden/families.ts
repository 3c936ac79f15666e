// SPDX-License-Identifier: Apache-2.0
/**
 * Every family of reference cases by the prefix of its files: what tests it, or why nothing does yet.
 * The longest prefix that fits counts. A case that fits none fails the suite.
 */

import { runAttention } from './attention.ts';
import { runAlibiBias, runAlibiSlopes, runShaw, runT5Bias, runT5Buckets } from './biases.ts';
import type { GoldenCase } from './cases.ts';
import {
  runCope,
  runDebertaAttention,
  runDebertaBuckets,
  runTransformerXl,
  runXlnetShift,
} from './content-terms.ts';
import { runPositionIds, runSinusoidal } from './embeddings.ts';
import { runRealLayer } from './model-layers.ts';
import { runOnnxRotary, runOrtRotary, runRopeApply, runRopeFrequencies } from './rotations.ts';
import { runFire, runForgetting, runKerple } from './score-biases.ts';
import { runDecomposed, runSwin, runSwinV2 } from './windows.ts';

export type Family = { run: (one: GoldenCase) => void } | { notYet: string };

const notYet = (reason: string): Family => ({ notYet: reason });
const otherRope = notYet('RoPE scalings beyond linear come later');

export const families: Readonly<Record<string, Family>> = {
  alibi_bias_: { run: runAlibiBias },
  alibi_slopes_: { run: runAlibiSlopes },
  attn_: { run: runAttention },
  cope_: { run: runCope },
  deberta_attention_: { run: runDebertaAttention },
  deberta_log_bucket_: { run: runDebertaBuckets },
  decomposed_rel_pos_: { run: runDecomposed },
  fire_: { run: runFire },
  forgetting_bias_: { run: runForgetting },
  kerple_: { run: runKerple },
  onnx_rotary_: { run: runOnnxRotary },
  ort_rotary_: { run: runOrtRotary },
  position_ids_: { run: runPositionIds },
  real_stories260k_layer: { run: runRealLayer },
  real_stories260k_logits: notYet('the whole model is run by model.test.ts'),
  rope_apply_: { run: runRopeApply },
  rope_freqs_default_: { run: runRopeFrequencies },
  rope_freqs_linear_: { run: runRopeFrequencies },
  rope_freqs_partial_: { run: runRopeFrequencies },
  shaw_: { run: runShaw },
  sinusoidal_: { run: runSinusoidal },
  swin_v1_: { run: runSwin },
  swin_v2_: { run: runSwinV2 },
  t5_bias_: { run: runT5Bias },
  t5_bucket_: { run: runT5Buckets },
  transformer_xl_: { run: runTransformerXl },
  xlnet_: { run: runXlnetShift },

  rope_freqs_: otherRope,
  rope_xtransformers_: otherRope,
  yarnrepo_: otherRope,
  giraffe_: otherRope,
  ntk_mixed_: otherRope,
  xpos_: notYet('xPos comes later'),
  mrope_: notYet('positions with several axes come later'),
  rope2d_: notYet('positions with several axes come later'),
  sinusoidal2d_: notYet('positions with several axes come later'),
  pope_: notYet('polar position embedding comes later'),
  leaky_rerope_: notYet('position remapping comes later'),
  rerope_: notYet('position remapping comes later'),
  selfextend_: notYet('position remapping comes later'),
  onnx_attention_: notYet('the ONNX operators come later'),
  onnx_flexattention: notYet('the ONNX operators come later'),
  onnx_linear_: notYet('linear attention comes later'),
  ort_: notYet('the onnxruntime operators come later'),
};

export function familyOf(name: string): string | undefined {
  return Object.keys(families)
    .filter((prefix) => name.startsWith(prefix))
    .sort((a, b) => b.length - a.length)[0];
}
