#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// What every encoding adds to causal attention 12 x 1024 x 64: its time beside that of no encoding, in turns.
//   node bench/scores.mjs [--only REGEX] [--json FILE]
import { loaded } from './contender.mjs';
import { normal } from './lib/inputs.mjs';
import { inTurns } from './lib/measure.mjs';
import { filterAndFile, save } from './lib/results.mjs';

const [H, S, D] = [12, 1024, 64];
const side = 32; // positions of two axes are those of a picture of 32 x 32 patches
const given = { heads: H, headDim: D, window: [side, side], size: [side, side] };
const offsets = 2 * side - 1;
const free = {
  S,
  offsets: offsets * offsets,
  rowOffsets: offsets,
  columnOffsets: offsets,
  rows: S,
  valueDim: D,
};

/** Options of any encoding, from what it says of itself. */
export function optionsOf(info) {
  const options = {};
  for (const field of info.fields)
    if (field.name in given) options[field.name] = given[field.name];
    else if (field.required && field.example !== undefined) options[field.name] = field.example;
  // Of a list the example is one number of it.
  for (const { name, length } of info.fields)
    if (options[name] !== undefined && !(name in given) && typeof length === 'object')
      options[name] = Array(length.times * options[length.option] + length.plus).fill(
        options[name],
      );
  // An option that is left to the table's shape decides it here.
  const option = (name) => {
    options[name] ??= defaultOf(info, name) ?? 256;
    return options[name];
  };
  const extent = (part) =>
    typeof part === 'number'
      ? part
      : 'free' in part
        ? (free[part.free] ?? part.example)
        : part.times * option(part.option) + part.plus;
  for (const table of info.tables)
    if (table.required || table.usual) {
      const shape = table.shape.map(extent);
      const size = shape.reduce((n, d) => n * d, 1);
      const data = normal(size, size, table.deviation);
      // Logarithms of gates, and they are below 1.
      if (info.id === 'forgetting') for (let i = 0; i < size; i++) data[i] = -Math.abs(data[i]);
      options[table.name] = { data, shape };
    }
  return options;
}
const defaultOf = (info, name) => info.fields.find((field) => field.name === name)?.default;

function positionsOf({ axes }) {
  if (axes === 1) return {};
  const places = [0, 1].map((axis) =>
    Array.from({ length: S }, (_, i) => (axis === 0 ? Math.floor(i / side) : i % side)),
  );
  const all = Array.from({ length: axes }, (_, axis) => places[axis] ?? places[1]);
  return { queryPositions: all, keyPositions: all };
}

const { only, json } = filterAndFile();
const pe = await loaded();
const [q, k, v] = [1, 2, 3].map((seed) => pe.tensor([H, S, D], normal(H * S * D, seed)));
const out = pe.tensor([H, S, D]);
const results = [];
for (const info of pe.encodings) {
  const acts = info.sites.some((site) => site === 'score' || site === 'value');
  if (!acts || !only.test(info.id)) continue;
  const encoding = pe.encoding(info.id, optionsOf(info));
  const options = { causal: true, out, encoding, ...positionsOf(info) };
  const [bare, with_] = await inTurns(
    [
      () => void pe.attention(q, k, v, { causal: true, out }),
      () => void pe.attention(q, k, v, options),
    ],
    { rounds: 5 },
  );
  const ratio = with_.min / bare.min;
  const limit = info.contentFree ? 1.35 : 2.2;
  results.push({ id: info.id, contentFree: info.contentFree, ms: with_.ms, ratio, limit });
  console.log(
    `${info.id.padEnd(18)}${with_.ms.toFixed(1).padStart(8)} ms  x ${ratio.toFixed(2)} of no encoding` +
      `, at most ${limit}${ratio > limit ? ': missed' : ''}`,
  );
  encoding.dispose();
}
save(json, { scores: results });
