// SPDX-License-Identifier: Apache-2.0
// What a scaling does to the rotations of a model beyond the length it was trained for. Frequencies come from the package's
// plans; what follows from them by geometry is reckoned here.
import { type Encoding, type Engine, withEncoding } from '../engine.ts';
import { type EncodingInfo, type FieldInfo, startingEncoding } from '../model/manifest.ts';
import { optionsOf, type Settings } from '../model/settings.ts';

export interface Setup {
  readonly headDim: number;
  readonly base: number;
  readonly trained: number;
  readonly target: number;
  /** Lists that the visitor gave, by the name of their option. */
  readonly lists: Readonly<Record<string, readonly number[]>>;
}

const has = (info: EncodingInfo, name: string): boolean =>
  info.fields.some((field) => field.name === name);

/** Everything that turns along one axis by a base; the ones that are told how far to stretch come first. */
export function methodsOf(manifest: readonly EncodingInfo[]): EncodingInfo[] {
  const plain = startingEncoding(manifest);
  const found = manifest.filter(
    (info) =>
      info.axes === 1 &&
      info.sites.length === 1 &&
      info.sites[0] === 'rotate' &&
      has(info, 'base') &&
      has(info, 'headDim'),
  );
  const rank = (info: EncodingInfo): number => (info === plain ? 0 : stretches(info) ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b));
}
/** Whether an encoding has to be told by how much the context grows. */
export const stretches = (info: EncodingInfo): boolean =>
  info.fields.some((field) => field.name === 'factor' && field.required);

const least = (value: number, low: number): number => Math.max(low, Math.round(value));

/** What people would set these options to for this trained length and this target, by name. */
function suggested(field: FieldInfo, setup: Setup): unknown {
  const { trained, target, headDim, base, lists } = setup;
  const factor = target / trained;
  // Near tokens keep their distance over a quarter of what was trained, as the papers' examples do.
  const near = least(trained / 4, 2);
  const group = Math.max(1, Math.ceil((target - near) / Math.max(1, trained - near)));
  const known: Record<string, unknown> = {
    headDim,
    base,
    originalLength: trained,
    trainedLength: trained,
    window: Math.max(group, Math.floor(near / group) * group),
    group,
    chunk: least(trained * 0.75, 2),
    local: least(trained / 16, 1),
  };
  if (field.name in lists && field.type === 'list') return lists[field.name];
  if (field.name === 'factor') return field.required ? factor : undefined;
  // One number stands for the whole list: within the trained length nothing changes, beyond it all pairs slow alike.
  if (field.type === 'list' && field.required) return field.example === 1 ? undefined : factor;
  return known[field.name];
}

export function settingsFor(info: EncodingInfo, setup: Setup): Settings {
  const fields: Record<string, never> = {};
  for (const field of info.fields) {
    const value = suggested(field, setup);
    if (value !== undefined) fields[field.name] = value as never;
  }
  return { fields, sizes: {}, included: [] };
}

export interface Method {
  readonly info: EncodingInfo;
  readonly settings: Settings;
  /** Per pair; shorter or other pairs than the plain ones have none to compare with. */
  readonly frequencies: Float64Array;
  readonly ratios: Float64Array;
  readonly logits: number;
  /** Share of the pairs that meet, at each of the lengths, an angle they never turned to in training. */
  readonly unseen: Float64Array;
  readonly unseenAtTarget: number;
  /** Of the eight fastest pairs: the least turning between neighbours, against the original. */
  readonly resolution: number;
  /** Per distance: the size of the sum of all pairs for equal vectors, over their number. */
  readonly envelope: Float64Array;
  /** Per distance: the one that attention acts as if it were, where a method moves distances. */
  readonly distances: Float64Array | undefined;
}
export interface Failure {
  readonly info: EncodingInfo;
  readonly message: string;
}
export interface Beyond {
  readonly plain: Float64Array;
  readonly lengths: Float64Array;
  /** Distances on a logarithmic axis, and on an even one for where distances go. */
  readonly deltas: Float64Array;
  readonly steps: Float64Array;
  readonly methods: readonly Method[];
  readonly failures: readonly Failure[];
}

const fastest = 8;
const turn = 2 * Math.PI;
/** A pair that comes to its last angle of training again within rounding has not met a new one. */
const rounding = 1e-9;

/** Whole numbers from 1 on, evenly spread on a logarithmic axis, with `end` among them. */
export function spreadOut(start: number, end: number, count: number): Float64Array {
  const found = new Set<number>();
  for (let i = 0; i < count; i += 1)
    found.add(Math.round(start * (end / start) ** (i / Math.max(1, count - 1))));
  found.add(end);
  return Float64Array.from([...found].sort((a, b) => a - b));
}

function unseenShare(
  plain: Float64Array,
  frequencies: Float64Array,
  trained: number,
  length: number,
): number {
  let met = 0;
  frequencies.forEach((f, i) => {
    const seen = (plain[i] as number) * trained;
    if (seen < turn && f * length > seen * (1 + rounding)) met += 1;
  });
  return met / frequencies.length;
}

/** The sum of all pairs ripples from token to token; its mean over distances within a tenth shows where it tends. */
const neighbours = Float64Array.from({ length: 8 }, (_, i) => 0.9 + (0.2 * i) / 7);

function envelopeOf(frequencies: Float64Array, distances: Float64Array): Float64Array {
  return distances.map((distance) => {
    let total = 0;
    for (const factor of neighbours) {
      let real = 0;
      let imaginary = 0;
      for (const f of frequencies) {
        const angle = f * distance * factor;
        real += Math.cos(angle);
        imaginary += Math.sin(angle);
      }
      total += Math.hypot(real, imaginary);
    }
    return total / neighbours.length / frequencies.length;
  });
}

/** Small heads, one fast pair and one so slow that its angle tells the distance up to the target. */
const probeDim = 4;
const strength = 16;

/**
 * The distance attention acts upon for each true one. A query and keys a quarter turn apart in the slow pair score the sine of its
 * angle, and the logarithms of the weights give that back. Undefined where the scores are those of the rotated vectors.
 */
function distanceMap(
  engine: Engine,
  info: EncodingInfo,
  setup: Setup,
  deltas: Float64Array,
): Float64Array | undefined {
  const base = (2 * setup.target) ** 2;
  const settings = settingsFor(info, { ...setup, headDim: probeDim, base, lists: {} });
  const places = Float64Array.from([0, ...deltas], (delta) => setup.target - 1 - delta);
  const query = Float64Array.of(setup.target - 1);
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    const { inverseFrequencies, layout, growth } = encoding.plan(setup.target);
    const slow = inverseFrequencies[1];
    if (growth > 0 || slow === undefined || slow <= 0) return undefined;
    const [first, second] = layout === 'half' ? [1, 3] : [2, 3];
    const q = new Float32Array(probeDim);
    q[second] = strength;
    const k = new Float32Array(places.length * probeDim);
    for (let i = 0; i < places.length; i += 1) k[i * probeDim + first] = 1;
    const tensors = {
      q: { shape: [1, 1, probeDim], data: q },
      k: { shape: [1, places.length, probeDim], data: k },
    };
    const { weights } = engine.attention(tensors.q, tensors.k, tensors.k, {
      encoding,
      weights: true,
      scale: 1,
      queryPositions: query,
      keyPositions: places,
    });
    const logs = Float64Array.from(weights?.data ?? [], Math.log);
    const scores = logs.map((log) => log - (logs[0] as number));
    if (agrees(encoding, tensors, query, places, scores)) return undefined;
    const sign = Math.sign(scores.at(-1) as number) || 1;
    return scores
      .slice(1)
      .map((score) => Math.asin(Math.max(-1, Math.min(1, (sign * score) / strength))) / slow);
  });
}

type Tensors = Record<'q' | 'k', { shape: number[]; data: Float32Array }>;
function agrees(
  encoding: Encoding,
  { q, k }: Tensors,
  query: Float64Array,
  places: Float64Array,
  scores: Float64Array,
): boolean {
  const turnedQuery = encoding.rotate(q, query, { role: 'query' }).data;
  const turnedKeys = encoding.rotate(k, places, { role: 'key' }).data;
  const dot = (row: number): number =>
    turnedQuery.reduce(
      (sum, value, i) => sum + value * (turnedKeys[row * probeDim + i] as number),
      0,
    );
  const start = dot(0);
  return scores.every((score, row) => Math.abs(dot(row) - start - score) < strength * 1e-3);
}

function methodOf(
  engine: Engine,
  info: EncodingInfo,
  setup: Setup,
  plain: Float64Array,
  lengths: Float64Array,
  deltas: Float64Array,
  steps: Float64Array,
): Method {
  const settings = settingsFor(info, setup);
  const moved = distanceMap(engine, info, setup, Float64Array.of(...deltas, ...steps));
  const distances = moved?.subarray(deltas.length);
  return withEncoding(engine, info.id, optionsOf(info, settings), (encoding) => {
    const plan = encoding.plan(setup.target);
    const frequencies = plan.inverseFrequencies;
    const comparable = frequencies.length === plain.length;
    const ratios = comparable
      ? frequencies.map((f, i) => f / (plain[i] as number))
      : new Float64Array(plain.length).fill(Number.NaN);
    const at = (length: number): Float64Array =>
      plan.lengthPolicy === 'static' ? frequencies : encoding.plan(length).inverseFrequencies;
    const share = (length: number): number =>
      comparable ? unseenShare(plain, at(length), setup.trained, length) : Number.NaN;
    return {
      info,
      settings,
      frequencies,
      ratios,
      logits: plan.attentionFactor ** 2 * plan.logitScale,
      unseen: lengths.map(share),
      unseenAtTarget: distances ? Number.NaN : share(setup.target),
      resolution: Math.min(...ratios.subarray(0, fastest)),
      envelope: envelopeOf(frequencies, moved?.subarray(0, deltas.length) ?? deltas),
      distances,
    };
  });
}

/** Samples on the two axes of distance. */
const [onLog, evenly] = [128, 600];

/** Method by method. */
export function* beyondInParts(
  engine: Engine,
  manifest: readonly EncodingInfo[],
  chosen: readonly EncodingInfo[],
  setup: Setup,
): Generator<void, Beyond> {
  const reference = startingEncoding(manifest);
  const plain = withEncoding(
    engine,
    reference.id,
    optionsOf(reference, settingsFor(reference, setup)),
    (encoding) => Float64Array.from(encoding.plan().inverseFrequencies),
  );
  const lengths = spreadOut(setup.trained, Math.max(2 ** 20, setup.target), 97);
  const deltas = spreadOut(1, setup.target - 1, onLog);
  const far = setup.target - 1;
  const count = Math.min(far, evenly);
  const steps = Float64Array.from({ length: count }, (_, i) => Math.round((far * (i + 1)) / count));
  const methods: Method[] = [];
  const failures: Failure[] = [];
  for (const info of chosen) {
    try {
      methods.push(methodOf(engine, info, setup, plain, lengths, deltas, steps));
    } catch (error) {
      failures.push({ info, message: error instanceof Error ? error.message : String(error) });
    }
    yield;
  }
  return { plain, lengths, deltas, steps, methods, failures };
}

export function beyond(...asked: Parameters<typeof beyondInParts>): Beyond {
  const parts = beyondInParts(...asked);
  for (let part = parts.next(); ; part = parts.next()) if (part.done) return part.value;
}
