// SPDX-License-Identifier: Apache-2.0
// "Copy as code" has to be code: every program the page offers runs in Node against the package as built.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { encodings } from '../../dist/index.node.js';
import type { Picture } from '../../web/src/compute/picture.ts';
import { actsAt, type EncodingInfo } from '../../web/src/model/manifest.ts';
import { fitted, untouched } from '../../web/src/model/settings.ts';
import { atlasCode, orderCode } from '../../web/src/parts/code.ts';

// Inside the project, where the name of the package leads to its own exports.
const folder = fileURLToPath(new URL('../../build/page/code', import.meta.url));
mkdirSync(folder, { recursive: true });

function run(name: string, program: string): string {
  const file = `${folder}/${name}.mjs`;
  writeFileSync(file, program);
  return execFileSync(process.execPath, [file], { encoding: 'utf8' });
}

/** What the code needs to know of the picture on screen, without drawing one. */
function pictureFor(info: EncodingInfo): Picture {
  const bias = actsAt(info, 'score') && info.contentFree;
  const absolute = actsAt(info, 'embed', 'rotate');
  return {
    columns: absolute ? 8 : 15,
    rows: 8,
    first: absolute ? 0 : -7,
    cells: new Float32Array(),
    columnName: absolute ? 'position' : 'distance',
    rowName: actsAt(info, 'embed') ? 'dimension' : actsAt(info, 'rotate') ? 'pair' : 'head',
    cellName: '',
    curves: [],
    perRow: bias,
    baseline: 0,
    curveName: '',
    definitions: [],
  };
}

describe.each(encodings as unknown as readonly EncodingInfo[])('the code for $id', (info) => {
  it('of the atlas runs', () => {
    const printed = run(`atlas-${info.id}`, atlasCode(info, untouched, pictureFor(info)));
    expect(printed).toMatch(/\d/);
    expect(printed).not.toMatch(/NaN|undefined/);
  });

  it('of the first lab runs', () => {
    const layer = { heads: 4, headDim: 4, width: 16 };
    const words = ['dog', 'bites', '"man"'];
    const program = orderCode(
      words,
      info.sites.length ? info : undefined,
      fitted(info, layer),
      true,
    );
    expect(run(`order-${info.id}`, program)).not.toMatch(/NaN|undefined/);
  });
});

describe('the code for rotations', () => {
  it('prints the agreement the page draws', () => {
    const info = (encodings as unknown as readonly EncodingInfo[]).find((one) => one.id === 'rope');
    const printed = run(
      'agreement',
      atlasCode(info as EncodingInfo, untouched, pictureFor(info as EncodingInfo)),
    );
    const numbers = (printed.match(/-?\d+\.\d+/g) ?? []).map(Number);
    const mean = (distance: number): number =>
      Array.from({ length: 32 }, (_, i) => Math.cos(distance * 10000 ** (-i / 32))).reduce(
        (a, b) => a + b,
      ) / 32;
    expect(numbers.slice(-7).map((value, i) => Math.abs(value - mean(i + 1)) < 1e-6)).toEqual(
      Array(7).fill(true),
    );
  });
});
