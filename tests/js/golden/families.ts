// SPDX-License-Identifier: Apache-2.0
/**
 * Every family of reference cases by the prefix of its files: what tests it, or why nothing does yet.
 * The longest prefix that fits counts. A case that fits none fails the suite.
 */

import { runAttention } from './attention.ts';
import {
  runDinov3,
  runLlama4Vision,
  runLucidrains,
  runMrope,
  runMropePositions,
  runPixtral,
  runQwenVision,
  runRopeVit,
} from './axes.ts';
import { runAlibiBias, runAlibiSlopes, runShaw, runT5Bias, runT5Buckets } from './biases.ts';
import type { GoldenCase } from './cases.ts';
import {
  runCope,
  runDebertaAttention,
  runDebertaBuckets,
  runTransformerXl,
  runXlnetShift,
} from './content-terms.ts';
import { runPositionIds, runSinusoidal, runSinusoidal2d } from './embeddings.ts';
import { runRealLayer } from './model-layers.ts';
import { runOnnxAttention, runOrtAttention } from './operators.ts';
import { runPope } from './polar.ts';
import { runRemap } from './remaps.ts';
import {
  runGiraffe,
  runNtkMixed,
  runRopeFrequencies,
  runScaledRopeApply,
  runXpos,
  runXTransformersNtk,
  runYarnRepository,
} from './rotary-plans.ts';
import { runOnnxRotary, runOrtRotary, runRopeApply } from './rotations.ts';
import { runFire, runForgetting, runKerple } from './score-biases.ts';
import { runDecomposed, runSwin, runSwinV2 } from './windows.ts';

export type Family = { run: (one: GoldenCase) => void } | { notYet: string };

const notYet = (reason: string): Family => ({ notYet: reason });

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
  rope_apply_deepseek_interleave_: { run: runScaledRopeApply },
  rope_apply_half_yarn_: { run: runScaledRopeApply },
  rope_apply_interleaved_meta_llama31_: { run: runScaledRopeApply },
  rope_freqs_: { run: runRopeFrequencies },
  rope_xtransformers_ntk_: { run: runXTransformersNtk },
  rope_xtransformers_xpos_: { run: runXpos },
  shaw_: { run: runShaw },
  sinusoidal_: { run: runSinusoidal },
  swin_v1_: { run: runSwin },
  swin_v2_: { run: runSwinV2 },
  t5_bias_: { run: runT5Bias },
  t5_bucket_: { run: runT5Buckets },
  transformer_xl_: { run: runTransformerXl },
  xlnet_: { run: runXlnetShift },

  yarnrepo_: { run: runYarnRepository },
  giraffe_: { run: runGiraffe },
  ntk_mixed_: { run: runNtkMixed },
  xpos_: { run: runXpos },
  mrope_: { run: runMrope },
  mrope_positions_: { run: runMropePositions },
  rope2d_dinov3_: { run: runDinov3 },
  rope2d_llama4_vision_: { run: runLlama4Vision },
  rope2d_lucidrains_: { run: runLucidrains },
  rope2d_pixtral_: { run: runPixtral },
  rope2d_qwen2vl_vision_: { run: runQwenVision },
  rope2d_ropevit_: { run: runRopeVit },
  sinusoidal2d_: { run: runSinusoidal2d },
  pope_: { run: runPope },
  leaky_rerope_: { run: runRemap },
  rerope_: { run: runRemap },
  selfextend_: { run: runRemap },
  onnx_attention_: { run: runOnnxAttention },
  onnx_flexattention: { run: runOnnxAttention },
  onnx_linear_: notYet(
    'linear attention has no softmax and no positions: not what this library is',
  ),
  ort_: { run: runOrtAttention },
};

export function familyOf(name: string): string | undefined {
  return Object.keys(families)
    .filter((prefix) => name.startsWith(prefix))
    .sort((a, b) => b.length - a.length)[0];
}
