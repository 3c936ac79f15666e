// SPDX-License-Identifier: Apache-2.0
// Runs the programs that the page writes, against the package as built.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { root } from './page-server.ts';

/** Inside the project, where the name of the package leads to its own exports. */
export const programs = `${root}build/page/code`;

function written(name: string, program: string): string {
  mkdirSync(programs, { recursive: true });
  const file = `${programs}/${name}.mjs`;
  writeFileSync(file, program);
  return file;
}

/** The lines that a program prints. */
export function run(name: string, program: string): string[] {
  const file = written(name, program);
  return execFileSync(process.execPath, [file], { encoding: 'utf8' }).trim().split('\n');
}

/** The same of many. One process for all: to start Node for each took most of the time. */
export function runAll(all: ReadonlyMap<string, string>): (name: string) => string[] {
  for (const [name, program] of all) written(name, program);
  const said: Record<string, string[] | string> = JSON.parse(
    run(
      // Test files run side by side.
      `all-${all.keys().next().value}`,
      `const said = {};
const print = console.log;
for (const name of ${JSON.stringify([...all.keys()])}) {
  const lines = [];
  console.log = (line) => lines.push(line);
  said[name] = await import(\`./\${name}.mjs\`).then(() => lines, String);
}
print(JSON.stringify(said));
`,
    ).join(),
  );
  return (name) => {
    const lines = said[name];
    if (!Array.isArray(lines)) throw new Error(`${name}: ${lines}`);
    return lines;
  };
}
