// SPDX-License-Identifier: Apache-2.0
// publint and arethetypeswrong on the packed package. It is ESM only, so the second is asked for that.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'build/package');
mkdirSync(folder, { recursive: true });
const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root });
const tarball = join(folder, JSON.parse(packed)[0].filename);

const tool = (name, ...args) =>
  execFileSync(process.execPath, [join(root, 'node_modules', name), ...args], { stdio: 'inherit' });
tool('publint/src/cli.js', 'run', tarball, '--strict');
tool('@arethetypeswrong/cli/dist/index.js', tarball, '--profile', 'esm-only');
