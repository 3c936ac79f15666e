// SPDX-License-Identifier: Apache-2.0
// The reading as a program, and as one with PyTorch for those who would rather not believe this page.
import type { KindRead } from './read.ts';

const dense = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return JSON.stringify(text);
  }
};

export function readingCode(text: string, one: KindRead, lenient: boolean): string {
  const gguf = /"general\.architecture"/.test(text);
  const call = gguf
    ? 'fromGGUF(config)'
    : `fromConfig(config${lenient ? ', { lenient: true }' : ''})`;
  const { kind, length, turning } = one;
  const plan = turning
    ? `const { inverseFrequencies, attentionFactor } = pe.encoding(id, options).plan(${length ?? ''});
console.log(attentionFactor, inverseFrequencies);
`
    : '';
  return `import { ${gguf ? 'fromGGUF' : 'fromConfig'}, load } from 'posenc';

const config = ${dense(text)};
const model = ${call};
for (const { code, path, message } of model.warnings) console.log(code, path, message);

const pe = await load();
const { id, options } = model.kinds.get(${JSON.stringify(kind.type)}).encoding;
console.log(id, options);
${plan}`;
}

export function torchCode(text: string, { turning, length }: KindRead): string {
  const ours = turning ? [...turning.frequencies].join(', ') : '';
  return `# pip install torch transformers; compares this page's frequencies with those of transformers.
import json, torch
from transformers import AutoConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

config = json.loads(r'''${dense(text).replaceAll("'", '\\u0027')}''')
config = AutoConfig.for_model(config.pop("model_type"), **config)
scaling = getattr(config, "rope_scaling", None) or {}
kind = scaling.get("rope_type", scaling.get("type", "default"))
theirs, factor = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=${length ?? 'None'})

ours = torch.tensor([${ours}], dtype=torch.float64)
print("largest relative difference", ((theirs.double() - ours).abs() / ours).max().item())
print("attention factor", factor, "here", ${turning?.attentionFactor ?? 'None'})
`;
}
