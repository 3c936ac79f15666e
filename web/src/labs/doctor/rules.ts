// SPDX-License-Identifier: Apache-2.0
// What to do about each warning of the readers of configurations, and where it was met in the wild.

interface Thread {
  readonly text: string;
  readonly url: string;
}
export interface Rule {
  readonly what: string;
  readonly fix: string;
  readonly source?: Thread;
}
const thread = (text: string, url: string): Thread => ({ text, url });
const transformers = (number: number): Thread =>
  thread(`transformers ${number}`, `https://github.com/huggingface/transformers/issues/${number}`);

export const rules: Readonly<Record<string, Rule>> = {
  W01: {
    what: 'A factor of attention under a name that this reader does not know',
    fix: 'Rename it to attention_factor if the value is meant to count; otherwise delete it.',
    source: thread('DeepSeek-R1 684', 'https://github.com/deepseek-ai/DeepSeek-R1/issues/684'),
  },
  W02: {
    what: 'The old key type, alone or beside rope_type',
    fix: 'Keep one dictionary and in it rope_type alone.',
    source: transformers(32916),
  },
  W03: {
    what: 'The base stands where some readers do not look',
    fix: 'Write rope_theta both at the root and in the dictionary, with the same value.',
    source: thread('DeepSpeed 8345', 'https://github.com/deepspeedai/DeepSpeed/pull/8345'),
  },
  W04: {
    what: 'The scaling is a number or a list',
    fix: 'Make it an object with rope_type and factor, or null for none.',
    source: transformers(32167),
  },
  W05: {
    what: 'Sections of three axes, with a type that names them',
    fix: 'Write rope_type "default" and keep mrope_section.',
    source: transformers(33753),
  },
  W06: {
    what: 'Parameters for each type of layer, and one is missing',
    fix: 'Give every type in layer_types an entry of its own.',
    source: transformers(39847),
  },
  W07: {
    what: 'The original length is missing, and readers fall back to different ones',
    fix: 'Write original_max_position_embeddings into the dictionary.',
  },
  W08: {
    what: 'Factor, original length and maximal length do not multiply',
    fix: 'Find the one of the three that is a leftover of another model.',
  },
  W09: {
    what: 'A factor that scales nothing, or the wrong way',
    fix: 'Remove the scaling where the factor is 1; below 1 it shortens the context.',
  },
  W10: {
    what: 'A list of divisors of the wrong length',
    fix: 'Give one divisor for each rotated pair of channels.',
  },
  W11: {
    what: 'The width of a head is not what the other numbers say',
    fix: 'Give head_dim, and make the reader take it instead of dividing; a rotary width is even and at most that.',
  },
  W12: {
    what: 'A key that no reader knows',
    fix: 'Correct its spelling, or delete it: as it stands, the default is in force.',
    source: thread('sglang 2943', 'https://github.com/sgl-project/sglang/issues/2943'),
  },
  W13: {
    what: 'Frequencies that depend on the length',
    fix: 'Cache keys before they are rotated, or fix the length from the first token on.',
  },
  W14: {
    what: 'Pairs that never complete a turn in training',
    fix: 'Know them: beyond the trained length exactly these pairs meet angles they never saw.',
  },
  W15: {
    what: 'Positions too large for angles in float32',
    fix: 'Compute angles in float64 and round the cosine and sine once.',
  },
  W16: { what: 'A number in quotation marks', fix: 'Write it without them.' },
  W17: {
    what: 'A base far below any known one',
    fix: 'Compare with the model this one was made from.',
  },
  W18: {
    what: 'A model of unknown type',
    fix: 'Set model_type, and check which channels the model pairs.',
  },
  W19: {
    what: 'Divisors stored as a tensor of the file',
    fix: 'Drop the file itself here, so that the tensor can be read too.',
  },
};
