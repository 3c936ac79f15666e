// SPDX-License-Identifier: Apache-2.0
// The report on one configuration.

import { explain } from 'posenc';

const codes = { bold: [1, 22], dim: [2, 22], yellow: [33, 39] };

export function report(model, { json, colour, length }) {
  const explained = explain(model, length === undefined ? {} : { length });
  if (json) return `${JSON.stringify({ ...model.toJSON(), explained }, null, 2)}\n`;
  const style = (name, text) =>
    colour ? `\u001b[${codes[name][0]}m${text}\u001b[${codes[name][1]}m` : text;
  const lines = [style('bold', printable(explained.verdict))];
  for (const { type, count, lines: said } of explained.kinds) {
    if (explained.kinds.length > 1)
      lines.push(style('bold', `${type}${count === undefined ? '' : `, ${count} layers`}`));
    // The verdict has the method of the only kind already.
    const rest = explained.kinds.length === 1 ? said.slice(1) : said;
    lines.push(...rest.map((line) => `  ${printable(line)}`));
  }
  for (const { code, severity, path, message } of model.warnings)
    lines.push(
      style(
        severity === 'warning' ? 'yellow' : 'dim',
        `${severity === 'warning' ? 'warning' : 'note'} ${code} ${printable(path)}: ${printable(message)}`,
      ),
    );
  return `${lines.join('\n')}\n`;
}

/** What comes from a file must not move the cursor of a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
export const printable = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '');
