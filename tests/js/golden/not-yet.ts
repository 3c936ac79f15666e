// SPDX-License-Identifier: Apache-2.0
/** Cases of tested families that need what this version does not have, each with what it needs. */

import type { GoldenCase } from './cases.ts';

const byName: Record<string, string> = {
  attn_chunked_4: 'chunked attention comes later, and the case carries no mask',
  attn_streaming_llm_2_3: 'the key/value cache comes later',
  attn_backward_sinks: 'attention sinks come later',
  attn_backward_window: 'windows come later, and the case carries no mask',
};

export function reasonToSkip({ case: name, params, inputs, expected }: GoldenCase) {
  if (name in byName) return byName[name];
  if (inputs.sinks != null) return 'attention sinks come later';
  if (params.softcap > 0) return 'the soft cap comes later';
  if ('window_left' in params) return 'windows come later, and the case carries no mask';
  if (params.sliding_window != null && expected.mask == null)
    return 'windows come later, and the case carries no mask';
  return undefined;
}
