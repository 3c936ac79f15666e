// SPDX-License-Identifier: Apache-2.0
/** The command, run as a user runs it. Needs processes, so these run in Node alone. */

import { explain, fromConfig } from 'posenc';
import { describe, expect, it } from 'vitest';
import { fixture, fixtures } from './config/fixtures.ts';
import { type Entry, ggufBytes, llamaEntries } from './support/gguf.ts';
import { inNode } from './support/instance.ts';

interface Outcome {
  code: number;
  out: string;
  err: string;
}

async function posenc(words: string[], input?: string | Uint8Array): Promise<Outcome> {
  const { spawn } = await import('node:child_process');
  const root = new URL('../../', import.meta.url);
  const child = spawn(process.execPath, ['bindings/cli/posenc.mjs', ...words], { cwd: root });
  const [out, err]: string[][] = [[], []];
  child.stdout.on('data', (part) => out.push(String(part)));
  child.stderr.on('data', (part) => err.push(String(part)));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const code = await new Promise<number>((resolve) =>
    child.on('close', (code) => resolve(code ?? -1)),
  );
  return { code, out: out.join(''), err: err.join('') };
}

const config = (name: string) => `tests/fixtures/configs/${name}.json`;

describe.skipIf(!inNode)('posenc explain (in browsers, skipped: a program for Node)', () => {
  it('prints the verdict and no more than it must', async () => {
    const { code, out, err } = await posenc(['explain', config('llama-3.1-8b')]);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('rope-llama3, base 500,000, factor 8, from 8,192 tokens');
    expect(out).toContain('29 kept, 6 blended, 29 slowed ×8');
    expect(out).not.toContain('\u001b');
    expect(out.split('\n').length).toBeLessThan(10);
  });

  it('looks at a length', async () => {
    const { out } = await posenc(['explain', config('llama-2-7b'), '--length=131072']);
    expect(out).toContain('at 131,072 tokens: 32 times what it was trained for');
    expect(out).toContain('W15');
    const table = await posenc(['explain', config('gpt2'), '--length', '2048']);
    expect(table.out).toContain('refused: the table ends at 1,024');
  });

  it('reads standard input, and one type of layer', async () => {
    const { code, out } = await posenc(
      ['explain', '-', '--layer-type', 'sliding_attention'],
      JSON.stringify(fixture('gemma-3-4b')),
    );
    expect(code).toBe(0);
    expect(out).toContain('base 10,000');
  });

  it('prints JSON with the origin of everything', async () => {
    const { out } = await posenc(['explain', config('gpt-oss-20b'), '--json']);
    const report = JSON.parse(out);
    expect(report.kinds.map(({ encoding }: { encoding: { id: string } }) => encoding.id)).toEqual([
      'rope-yarn',
      'rope-yarn',
    ]);
    expect(report.provenance.base).toBe('given');
    expect(report.explained.kinds[0].pairs).toEqual({ kept: 9, blended: 9, stretched: 14 });
  });

  it('compares two, and says by its code whether they differ', async () => {
    const differ = await posenc([
      'explain',
      config('qwen2.5-7b'),
      '--diff',
      config('qwen2.5-7b-yarn'),
    ]);
    expect(differ.code).toBe(1);
    expect(differ.out).toContain('attentionFactor: 1 | 1.1386294');
    const same = await posenc(['explain', config('gpt2'), '--diff', config('gpt2')]);
    expect([same.code, same.out]).toEqual([0, 'no difference in effect\n']);
  });

  it('--strict makes warnings of the configuration count, but not notes', async () => {
    expect((await posenc(['explain', config('qwen2.5-7b-yarn'), '--strict'])).code).toBe(1);
    expect((await posenc(['explain', config('llama-2-7b'), '--strict'])).code).toBe(0);
  });

  it('reads the head of a GGUF file, however it comes', async () => {
    const bytes = ggufBytes(llamaEntries, [{ name: 'rope_freqs.weight', dims: [64] }]);
    const piped = await posenc(['explain', '-'], bytes);
    expect(piped.code).toBe(0);
    expect(piped.out).toContain('pairs interleaved');
    expect(piped.out).toContain('W19 rope_freqs.weight');

    const { mkdtempSync, rmSync, writeFileSync } = await import('node:fs');
    const { tmpdir } = await import('node:os');
    const folder = mkdtempSync(`${tmpdir()}/posenc-`);
    try {
      // Larger than the first read, with a vocabulary in the head.
      const words: Entry = ['x.words', 'string', 'a'.repeat(1_500_000)];
      const long = [...llamaEntries, words];
      writeFileSync(`${folder}/model.gguf`, ggufBytes(long, [], 2));
      expect((await posenc(['explain', `${folder}/model.gguf`])).out).toContain('base 500,000');
      writeFileSync(`${folder}/cut.gguf`, bytes.subarray(0, 60));
      expect(await posenc(['explain', `${folder}/cut.gguf`])).toMatchObject({ code: 2, out: '' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('ends with 2 and one line for what cannot be read', async () => {
    const cases: [string[], string?][] = [
      [[]],
      [['explain']],
      [['explain', 'a', 'b']],
      [['frobnicate', 'x']],
      [['explain', config('gpt2'), '--wrong']],
      [['explain', config('gpt2'), '--length', 'x']],
      [['explain', config('gpt2'), '--length']],
      [['explain', config('gpt2'), '--layer-type', 'x']],
      [['explain', 'there/is/no/such.json']],
      [['explain', 'tests']],
      [['explain', '-'], '{'],
      [['explain', '-'], ''],
      [
        ['explain', '-'],
        '{"model_type":"llama","head_dim":64,"rope_scaling":{"rope_type":"x\\u001b[2J"}}',
      ],
    ];
    for (const [words, input] of cases) {
      const { code, err } = await posenc(words, input);
      expect(code, words.join(' ')).toBe(2);
      if (words.length > 0) expect(err).toMatch(/^posenc: .+\n/);
      expect(err).not.toContain('\u001b');
      expect(err).not.toContain('    at ');
    }
  });

  it('--help', async () => {
    const { code, out } = await posenc(['--help']);
    expect(code).toBe(0);
    for (const word of ['--length', '--json', '--diff', '--strict', 'Exit codes'])
      expect(out).toContain(word);
    expect(await posenc(['explain', '--help'])).toMatchObject({ code: 0, out });
  });

  it('every published configuration has the report that was checked by hand', async () => {
    const reports = [...fixtures.keys()].sort().map((name) => {
      const model = fromConfig(fixture(name));
      const { verdict, kinds } = explain(model);
      const said = kinds.flatMap(({ type, lines }) => [
        ...(kinds.length === 1 ? [] : [`  ${type}`]),
        ...lines.slice(kinds.length === 1 ? 1 : 0).map((line) => `    ${line}`),
      ]);
      const warned = model.warnings.map(
        ({ code, severity, path, message }) => `    ${severity} ${code} ${path}: ${message}`,
      );
      return [`${name}: ${verdict}`, ...said, ...warned].join('\n');
    });
    await expect(`${reports.join('\n\n')}\n`).toMatchFileSnapshot('../fixtures/explain.txt');
  });

  it('docs/which-encoding.md is current', async () => {
    const { execFileSync } = await import('node:child_process');
    const root = new URL('../../', import.meta.url);
    execFileSync(process.execPath, ['tools/which-encoding.mjs', '--check'], { cwd: root });
  });
});
