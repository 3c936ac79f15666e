// SPDX-License-Identifier: Apache-2.0
/** `attention`: its options against what it supports, its tensors against each other, one crossing. */

import { Arena, type Slot } from './arena.js';
import { type AttentionResult, type Given, readOptions, where } from './attention-options.js';
import { encodingsOverPast, type PastTokens, readPast, shapesOverPast } from './attention-past.js';
import { type Rules, readRules } from './attention-rules.js';
import { readScores, type Scores } from './attention-scores.js';
import { checkHeads, mismatch, readShapes, type Shapes } from './attention-shapes.js';
import { type Past, pastOf, unchanged } from './cache-past.js';
import type { Engine } from './engine.js';
import { encodingOf, type Held, requireLive } from './handles.js';
import { isArray } from './intrinsics.js';
import { captureMask, type Mask } from './mask.js';
import { type CapturedPositions, capturePositions } from './positions.js';
import { attentionFields, type RawAttention } from './raw.js';
import { captureTarget, freshTarget } from './target.js';
import { capture, type Source } from './tensor.js';
import { boolean, choice, or, reading, sizeOf } from './validate.js';

export function attention(
  engine: Engine,
  q: unknown,
  k: unknown,
  v: unknown,
  options: unknown,
): AttentionResult {
  engine.requireUsable();
  const past = pastOf(engine, where, k);
  const given = readOptions(past === undefined ? options : v);
  return compute(engine, readQuestion(engine, [q, k, v], given, past), given);
}

/** What is asked, forward and backward alike; over a cache only forward. */
export function readQuestion(
  engine: Engine,
  [q, k, v]: readonly unknown[],
  given: Given,
  past?: Past,
): Question {
  const layout = choice(where, 'layout', or(given.get('layout'), 'bhnd'), ['bhnd', 'bnhd']);
  const asked = readEncodings(engine, given.get('encoding'));
  if (past === undefined && given.get('append') !== undefined)
    throw mismatch('OPTION_NOT_APPLICABLE', 'append', 'left out without a cache', undefined);
  const tokens = past === undefined ? undefined : readPast(engine, past, given, layout);
  const encodings = tokens === undefined ? (asked ?? []) : encodingsOverPast(tokens, asked);
  const tensors = tokens === undefined ? [q, k, v] : [q];
  const sources = tensors.map((one, i) => capture(engine, where, 'qkv'[i], one));
  const shapes =
    tokens === undefined ? readShapes(sources, layout) : shapesOverPast(sources[0], tokens, layout);
  checkHeads(shapes);
  const scores = readScores(engine, given, shapes);
  const rules = readRules(given, shapes);
  const places = readPositions(given, encodings, shapes, tokens);
  const mask = captureMask(engine, given.get('mask'), shapes);
  return {
    tokens,
    sources: tokens === undefined ? sources : [...sources, ...tokens.sources],
    shapes,
    encodings,
    mask,
    places,
    layout: layout === 'bnhd' ? 1 : 0,
    scores,
    rules,
  };
}

function readEncodings(engine: Engine, given: unknown): readonly Held[] | undefined {
  if (given === undefined) return undefined;
  if (!isArray(given)) return [encodingOf(engine, where, 'encoding', given)];
  // Not map(), which steps over holes.
  return reading(where, 'encoding', given, () =>
    Array.from({ length: given.length }, (_, i) =>
      encodingOf(engine, where, `encoding[${i}]`, given[i]),
    ),
  );
}

interface Places {
  axes: number;
  query?: CapturedPositions;
  key?: CapturedPositions;
}

function readPositions(
  given: Given,
  encodings: readonly Held[],
  shapes: Shapes,
  tokens: PastTokens | undefined,
): Places {
  const axes = Math.max(1, ...encodings.map(({ info }) => info.axes));
  const integer = encodings.some(({ info }) => info.positions !== 'real');
  // A query over a cache stands where the token in its place does.
  const countable =
    tokens !== undefined || encodings.every(({ info }) => info.axes === 1 || info.textAxes);
  const read = (field: 'queryPositions' | 'keyPositions', rows: number) => {
    const value = given.get(field);
    if (value === undefined && countable) return undefined;
    if (value === undefined)
      throw mismatch('MISSING_OPTION', field, `given for ${axes} axes`, undefined);
    return capturePositions(where, field, value, { axes, integer, rows, batch: shapes.batch });
  };
  const query = read('queryPositions', shapes.queries);
  const key = tokens === undefined ? read('keyPositions', shapes.keys) : tokens.positions;
  return { axes, ...(query && { query }), ...(key && { key }) };
}

export interface Question {
  tokens: PastTokens | undefined;
  sources: readonly Source[];
  shapes: Shapes;
  encodings: readonly Held[];
  mask: Mask | undefined;
  places: Places;
  layout: number;
  scores: Scores;
  rules: Rules;
}

export const nowhere: Slot = { address: 0 };

/** What the call reads where it lies, and so must not be written to. */
export function readInPlace({ sources, mask, scores }: Question): readonly Source[] {
  return [...sources, ...scores.sources, ...(mask?.source === undefined ? [] : [mask.source])];
}

const none = new Float64Array(0);

function compute(engine: Engine, question: Question, given: Given): AttentionResult {
  const { shapes, tokens } = question;
  const wants = (name: 'weights' | 'logSumExp') => boolean(where, name, or(given.get(name), false));
  const [wantsWeights, wantsLogSumExp] = [wants('weights'), wants('logSumExp')];
  const output = captureTarget(engine, where, given.get('out'), shapes.output, {
    sources: readInPlace(question),
  });
  const weights = wantsWeights ? freshTarget(where, shapes.weights) : undefined;
  const logSumExp = wantsLogSumExp ? freshTarget(where, shapes.rows) : undefined;
  const arena = new Arena(engine);
  const out = arena.output(output);
  const weightsAt = weights === undefined ? nowhere : arena.output(weights);
  const logSumExpAt = logSumExp === undefined ? nowhere : arena.output(logSumExp);
  // An empty output needs no positions, of which a made-up shape has very many.
  const idle =
    tokens === undefined &&
    sizeOf(shapes.output) === 0 &&
    weights === undefined &&
    logSumExp === undefined;
  const placed = place(arena, question, idle);
  return arena.run(where, () => {
    engine.pass(attentionFields, placed(out, weightsAt, logSumExpAt));
    engine.check(where, (raw) => raw.attention());
    return {
      output: output.finish(engine, out.address),
      ...(weights && { weights: weights.finish(engine, weightsAt.address) }),
      ...(logSumExp && { logSumExp: logSumExp.finish(engine, logSumExpAt.address) }),
    };
  });
}

/**
 * Puts all that a question reads where the call finds it. What comes back looks at the mask's values,
 * so it is for inside the run and before the crossing.
 */
export function place(
  arena: Arena,
  question: Question,
  idle: boolean,
): (out: Slot, weights: Slot, logSumExp: Slot) => RawAttention {
  const { shapes, sources, places, mask, encodings, layout, tokens } = question;
  const [q, k = nowhere, v = nowhere] = sources.map((source) => arena.input(source));
  const positions = (given: CapturedPositions | undefined) =>
    given === undefined ? nowhere : arena.doubles(idle ? none : given.values);
  const [queryAt, keyAt] = [positions(places.query), positions(places.key)];
  const maskAt = mask === undefined ? nowhere : mask.place(arena);
  arena.requires(() => {
    for (const one of encodings) requireLive(where, one);
  });
  if (tokens !== undefined) arena.requires(unchanged(where, tokens.past, tokens.changes));
  const { sinks, qNormWeight, kNormWeight } = question.scores.place(arena);
  const { sequences, ...rules } = question.rules;
  const sequencesAt = arena.words(sequences);
  const handles = arena.words(encodings.map(({ handle }) => handle));
  return (out, weights, logSumExp) => {
    mask?.check(maskAt.address);
    return {
      q: q.address,
      k: k.address,
      v: v.address,
      out: out.address,
      weights: weights.address,
      logSumExp: logSumExp.address,
      cache: tokens?.past.handle ?? 0,
      held: tokens?.stored ?? 0,
      batch: shapes.batch,
      heads: shapes.heads,
      kvHeads: shapes.kvHeads,
      queries: shapes.queries,
      keys: tokens?.count ?? shapes.keys,
      headDim: shapes.headDim,
      valueDim: shapes.valueDim,
      layout,
      ...question.scores.numbers,
      sinks: sinks.address,
      qNormWeight: qNormWeight.address,
      kNormWeight: kNormWeight.address,
      ...rules,
      sequences: sequences.length === 0 ? 0 : sequencesAt.address,
      sequenceCount: sequences.length / 7,
      queryPositions: queryAt.address,
      keyPositions: keyAt.address,
      queryPositionRows: places.query?.batch ?? 1,
      keyPositionRows: places.key?.batch ?? 1,
      axes: places.axes,
      mask: maskAt.address,
      maskIsFloat: mask?.isFloat ?? false,
      maskBatchStride: mask?.strides[0] ?? 0,
      maskHeadStride: mask?.strides[1] ?? 0,
      maskRowStride: mask?.strides[2] ?? 0,
      maskColumnStride: mask?.strides[3] ?? 0,
      encodings: encodings.length === 0 ? 0 : handles.address,
      encodingCount: encodings.length,
    };
  };
}
