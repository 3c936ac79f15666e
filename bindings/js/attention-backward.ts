// SPDX-License-Identifier: Apache-2.0
/** `attentionBackward`: the gradients of what went into `attention`, from that of its output. */

import { Arena, type Slot } from './arena.js';
import { nowhere, place, type Question, readInPlace, readQuestion } from './attention.js';
import { type AttentionOptions, ofForward, readOptions, where } from './attention-options.js';
import { mismatch } from './attention-shapes.js';
import type { Engine } from './engine.js';
import { retold, shapeText, text } from './errors.js';
import { gradientTargets } from './gradients.js';
import { attentionFields } from './raw.js';
import { captureTarget, freshTarget, type OutRules, type Target } from './target.js';
import { capture } from './tensor.js';
import type { Tensor } from './types.js';
import { boolean, or, record, sameShape, unknownOption } from './validate.js';

export interface BackwardOptions
  extends Omit<AttentionOptions, 'weights' | 'logSumExp' | 'out' | 'append'> {
  /** Also return the gradient of a mask of floats, in its shape. @default false */
  maskGradient?: boolean;
  /** Where gradients go. */
  out?: { dq?: Tensor; dk?: Tensor; dv?: Tensor };
}

export interface AttentionGradients {
  readonly dq: Tensor;
  readonly dk: Tensor;
  readonly dv: Tensor;
  /** [H], where sinks were given. */
  readonly dSinks?: Tensor;
  /** Of the weights of `qNorm` and `kNorm`, where they were given. */
  readonly dQNorm?: Tensor;
  readonly dKNorm?: Tensor;
  readonly dMask?: Tensor;
  /** For each encoding the gradients of its learned options, by name and in their shapes. */
  readonly encodings: readonly EncodingGradients[];
}
export type EncodingGradients = Readonly<Record<string, Tensor>>;

const results = ['dq', 'dk', 'dv'] as const;

export function attentionBackward(
  engine: Engine,
  tensors: readonly unknown[],
  options: unknown,
): AttentionGradients {
  try {
    return compute(engine, tensors, options);
  } catch (error) {
    throw retold(error, where, 'attentionBackward');
  }
}

function compute(
  engine: Engine,
  tensors: readonly unknown[],
  options: unknown,
): AttentionGradients {
  engine.requireUsable();
  const given = readOptions(options, [...ofForward, 'maskGradient', 'out']);
  const own = given as ReadonlyMap<string, unknown>;
  const [q, k, v, output, logSumExp, gradOutput] = tensors;
  const question = readQuestion(engine, [q, k, v], given);
  const { shapes, sources } = question;
  const forward = [
    readAs(engine, 'output', output, shapes.output),
    readAs(engine, 'logSumExp', logSumExp, shapes.rows),
    readAs(engine, 'gradOutput', gradOutput, shapes.output),
  ];
  const maskShape = readMaskShape(question, own.get('maskGradient'));
  const out = record(where, 'out', own.get('out'));
  for (const name of out.keys())
    if (!(results as readonly string[]).includes(name))
      throw unknownOption(where, `out.${name}`, results);
  const taken: OutRules['sources'][number][] = [...readInPlace(question), ...forward];
  const targets = results.map((name, i) => {
    const rules = { sources: taken, field: `out.${name}` };
    const target = captureTarget(engine, where, out.get(name), sources[i].shape, rules);
    if (target.extent !== undefined) taken.push({ extent: target.extent });
    return target;
  });
  const { sinks, qNorm, kNorm } = question.scores.shapes;
  const extras = [sinks, qNorm, kNorm, maskShape].map(
    (shape) => shape && freshTarget(where, shape),
  );
  const tables = question.encodings.map((one) => gradientTargets(where, one));

  const arena = new Arena(engine);
  const placed = place(arena, question, false);
  const [outputAt, sumsAt, gradientAt] = forward.map((source) => arena.input(source));
  const [dq, dk, dv] = targets.map((target) => {
    arena.requires(() => target.recheck());
    return arena.output(target);
  });
  const zeros = (target: Target | undefined): Slot =>
    target === undefined ? nowhere : arena.zeros(target);
  const extraSlots = extras.map(zeros);
  const [dSinks, dQNorm, dKNorm, dMask] = extraSlots;
  const slots = tables.flatMap((list) => list.map(({ target }) => zeros(target)));
  const addresses = arena.bytes(slots.length * 4, (at) => {
    for (const [i, { address }] of slots.entries()) engine.u32[at / 4 + i] = address;
  });
  return arena.run(where, () => {
    engine.pass(attentionFields, placed(outputAt, nowhere, sumsAt));
    engine.check(where, (raw) =>
      raw.attentionBackward(
        gradientAt.address,
        dq.address,
        dk.address,
        dv.address,
        dSinks.address,
        dQNorm.address,
        dKNorm.address,
        dMask.address,
        addresses.address,
        slots.length,
      ),
    );
    const finish = (target: Target, { address }: Slot) => target.finish(engine, address);
    const [gq, gk, gv] = targets.map((target, i) => finish(target, [dq, dk, dv][i]));
    const named = (['dSinks', 'dQNorm', 'dKNorm', 'dMask'] as const).flatMap((name, i) => {
      const target = extras[i];
      return target === undefined ? [] : [[name, finish(target, extraSlots[i])] as const];
    });
    let at = 0;
    const encodings = tables.map((list) =>
      Object.fromEntries(
        list.flatMap(({ name, target }) => {
          const slot = slots[at++];
          return target === undefined ? [] : [[name, finish(target, slot)] as const];
        }),
      ),
    );
    return { dq: gq, dk: gk, dv: gv, ...Object.fromEntries(named), encodings };
  });
}

/** What `attention` gave, or the gradient of it. */
function readAs(engine: Engine, field: string, value: unknown, shape: readonly number[]) {
  const source = capture(engine, where, field, value);
  if (!sameShape(source.shape, shape))
    throw mismatch(
      'SHAPE_MISMATCH',
      field,
      `of shape ${shapeText(shape)}`,
      text(shapeText(source.shape)),
    );
  return source;
}

function readMaskShape({ mask }: Question, wanted: unknown): readonly number[] | undefined {
  if (!boolean(where, 'maskGradient', or(wanted, false))) return undefined;
  if (mask?.isFloat === true) return mask.shape;
  throw mismatch(
    'OPTION_NOT_APPLICABLE',
    'maskGradient',
    'left out: only a mask of floats has a gradient',
    wanted,
  );
}
