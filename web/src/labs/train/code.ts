// SPDX-License-Identifier: Apache-2.0
// The training on screen as a program: the modules the page trains with, and what it trained.
import type { Who } from '../../train/protocol.ts';
import type { Setup } from '../../train/run.ts';

/** Prints, for each decoder, the lengths it was asked about, how many answers were asked for and how many were right. */
export const trainCode = (
  program: string,
  { task, longest, steps }: Setup,
  who: readonly Who[],
): string => `import { encodings, load } from 'posenc';

${program}
const pe = await load();
const setup = ${JSON.stringify({ task, longest, steps })};
for (const [id, seed] of ${JSON.stringify(who.map(({ id, seed }) => [id, seed]))}) {
  const info = encodings.find((one) => one.id === id);
  const run = new Run(pe, info, { ...setup, seed });
  let exam;
  while (!run.finished) exam = run.advance() ?? exam;
  run.dispose();
  const [lengths, asked] = [examLengths(setup.longest), askedAt(setup.task, setup.longest)];
  console.log(JSON.stringify({ id, seed, lengths, asked, ...exam }));
}
`;
