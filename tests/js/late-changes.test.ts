// SPDX-License-Identifier: Apache-2.0
/** User code that runs while arguments are read must not change what was read before it. */

import { load, readSafetensors, type Tensor } from 'posenc';
import { describe, expect, it } from 'vitest';
import { pe } from './support/instance.ts';

const numbers = (count: number) => Float32Array.from({ length: count }, (_, i) => (i % 7) / 7);
const tensor = () => ({ data: numbers(24), shape: [1, 6, 4] });

/** An `out` whose reading runs `action`. */
function outThat(action: () => void): Tensor {
  return {
    shape: [1, 6, 4],
    get data() {
      action();
      return new Float32Array(24);
    },
  };
}

function codeOf(action: () => unknown): unknown {
  try {
    action();
  } catch (thrown) {
    return (thrown as { code?: unknown }).code;
  }
  return 'none';
}

describe('reading the last argument', () => {
  it('may dispose of an owned tensor: the call refuses it', () => {
    const { live } = pe.info.memory();
    const q = pe.tensor([1, 6, 4], numbers(24));
    const out = outThat(() => q.dispose());
    expect(codeOf(() => pe.attention(q, tensor(), tensor(), { out }))).toBe('DISPOSED');
    expect(pe.info.memory().live).toBe(live);
  });

  it('may dispose of the encoding: the call refuses it', () => {
    const encoding = pe.encoding('rope', { headDim: 4 });
    const out = outThat(() => encoding.dispose());
    const attend = () => pe.attention(tensor(), tensor(), tensor(), { encoding, out });
    expect(codeOf(attend)).toBe('DISPOSED');
    const other = pe.encoding('rope', { headDim: 4 });
    const rotate = () => other.rotate(tensor(), undefined, { out: outThat(() => other.dispose()) });
    expect(codeOf(rotate)).toBe('DISPOSED');
  });

  it('may transfer the memory of an earlier one: the call refuses it', () => {
    const q = tensor();
    const out = outThat(() => structuredClone(q.data.buffer, { transfer: [q.data.buffer] }));
    expect(codeOf(() => pe.attention(q, tensor(), tensor(), { out }))).toBe('DETACHED');
  });
});

describe('holes and detached memory', () => {
  const rope = pe.encoding('rope', { headDim: 4 });
  it('a hole among encodings is refused and the instance lives', () => {
    const encoding = [rope];
    encoding.length = 2;
    expect(codeOf(() => pe.attention(tensor(), tensor(), tensor(), { encoding }))).toBe(
      'WRONG_TYPE',
    );
    expect(pe.attention(tensor(), tensor(), tensor()).output.shape).toEqual([1, 6, 4]);
  });

  it('a hole among axes is refused', () => {
    const mrope = pe.encoding('mrope', { headDim: 8, sections: [2, 1, 1] });
    const axes = [[0], [0], [0]];
    delete axes[1];
    const x = { data: new Float32Array(8), shape: [1, 1, 1, 8] };
    expect(codeOf(() => mrope.rotate(x, axes as never))).toBe('WRONG_TYPE');
  });

  it('a scale that float32 does not hold is refused', () => {
    for (const scale of [1e39, -1e39, 1e-46, 0])
      expect(codeOf(() => pe.attention(tensor(), tensor(), tensor(), { scale }))).toBe(
        'OUT_OF_RANGE',
      );
  });

  it('bytes that were transferred are refused', async () => {
    const bytes = new Uint8Array(8);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    expect(codeOf(() => readSafetensors(bytes))).toBe('DETACHED');
    const loading = load({ bytes, fresh: true }).catch(({ code }) => code);
    expect(await loading).toBe('DETACHED');
  });
});

describe('far offsets and hidden values', () => {
  it('a query as far as its offset may be sees every key', () => {
    const far = pe.attention(tensor(), tensor(), tensor(), {
      causal: true,
      queryOffset: 2 ** 31 - 1,
    });
    const open = pe.attention(tensor(), tensor(), tensor());
    expect(far.output.data).toEqual(open.output.data);
  });

  it('a value that the mask hides changes no bit', () => {
    const shape = [1, 6];
    const mask = { data: Uint8Array.of(1, 1, 0, 1, 1, 1), shape };
    const clean = pe.attention(tensor(), tensor(), tensor(), { mask });
    const v = tensor();
    v.data[2 * 4 + 1] = Number.NaN;
    const spoilt = pe.attention(tensor(), tensor(), v, { mask });
    expect(spoilt.output.data).toEqual(clean.output.data);
  });
});
