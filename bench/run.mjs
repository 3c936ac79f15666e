#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Times the built package, kernel by kernel, beside plain JavaScript and, where it is installed, onnxruntime-web.
//   node bench/run.mjs [--only REGEX] [--modes resident,e2e] [--rounds 7] [--json FILE]
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { loaded } from './contender.mjs';
import * as copy from './copy.mjs';
import * as decode from './decode.mjs';
import { inTurns } from './lib/measure.mjs';
import { onnxRuntime, plainJavaScript } from './lib/peers.mjs';
import { tensors } from './lib/tensors.mjs';
import * as prefill from './prefill.mjs';
import * as rope from './rope.mjs';
import * as sinusoid from './sinusoid.mjs';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '.' },
    modes: { type: 'string', default: 'resident,e2e' },
    rounds: { type: 'string', default: '7' },
    json: { type: 'string' },
  },
});
const only = new RegExp(values.only);
const pe = await loaded();
const ours = {
  who: 'posenc',
  version: pe.info.version,
  variants: () => [pe.info.build],
  prepare: (kernel, w, _variant, mode) => kernel.posenc(pe, w, tensors(pe, mode)),
};
// The native one first: both share a table of back ends, where the other would take its name.
const native = await onnxRuntime('onnxruntime-node');
const contenders = [ours, await onnxRuntime('onnxruntime-web'), native, plainJavaScript].filter(
  (c) => c !== undefined,
);
const results = [];

async function compare(kernel, w, mode) {
  const entries = [];
  for (const contender of contenders)
    for (const variant of contender.variants(kernel, w, mode)) {
      const made = await contender.prepare(kernel, w, variant, mode);
      await made.run();
      const out = made.output();
      const { who, version } = contender;
      const err = out === undefined ? null : kernel.error(w, out);
      entries.push({ made, who, version, variant, err });
    }
  const times = await inTurns(
    entries.map(({ made }) => made.run),
    { rounds: Number(values.rounds) },
  );
  for (const [i, { made, ...entry }] of entries.entries()) {
    const result = {
      w: w.id,
      mode,
      ...entry,
      ...times[i],
      ok: entry.err === null || entry.err <= 2e-3,
    };
    results.push(result);
    const ratio = times[i].ms / times[0].ms;
    console.log(
      `  ${mode.padEnd(9)}${entry.who.padEnd(10)}${entry.variant.padEnd(22)}${times[i].ms.toFixed(3).padStart(10)} ms` +
        ` (min ${times[i].min.toFixed(3)})  x ${ratio.toFixed(2)}${result.ok ? '' : `  wrong by ${entry.err}`}`,
    );
    await made.dispose?.();
  }
}

for (const kernel of [rope, prefill, decode, sinusoid, copy])
  for (const workload of kernel.workloads.filter(({ id }) => only.test(id))) {
    console.log(workload.id);
    const w = { ...workload, inputs: workload.make() };
    for (const mode of values.modes.split(',')) await compare(kernel, w, mode);
  }

if (values.json) {
  mkdirSync(dirname(values.json), { recursive: true });
  writeFileSync(values.json, JSON.stringify({ results }, null, 1));
}
process.exit(0); // onnxruntime-web keeps its worker
