// SPDX-License-Identifier: Apache-2.0
// The same numbers as the figure, in a real table; a window on it, since thousands of rows help nobody.
import { box, h, renew, setText } from '../dom.ts';
import type { Cursor } from '../draw/cursor.ts';
import { exact } from '../draw/scale.ts';

export interface TableData {
  readonly caption: string;
  readonly lines: number;
  readonly lineName: string;
  lineText(line: number): string;
  readonly columns: readonly string[];
  cell(line: number, column: number): number;
}

const height = 12;
const width = 6;

export class NumberTable {
  readonly toggle: HTMLButtonElement;
  readonly root: HTMLElement;
  readonly #caption = h('caption');
  readonly #head = h('thead');
  readonly #body = h('tbody');
  readonly #range = h('p', { class: 'control-doc' });
  #data: TableData | undefined;
  #line = 0;
  #column = 0;

  constructor(
    id: string,
    private readonly cursor: Cursor,
  ) {
    this.toggle = h(
      'button',
      {
        type: 'button',
        'aria-expanded': 'false',
        'aria-controls': id,
        click: () => this.#open(this.root.hidden),
      },
      'Table',
    );
    const step = (text: string, lines: number, columns: number) =>
      h('button', { type: 'button', click: () => this.#move(lines, columns) }, text);
    this.root = h(
      'div',
      { class: 'numbers', id, hidden: true },
      h(
        'div',
        {
          class: 'numbers-scroll',
          tabindex: 0,
          role: 'region',
          'aria-label': 'Table of the figure’s numbers. Enter goes to single ones.',
        },
        h('table', {}, this.#caption, this.#head, this.#body),
      ),
      box(
        'button-row',
        step('Earlier rows', -height, 0),
        step('Later rows', height, 0),
        step('Columns left', 0, -width),
        step('Columns right', 0, width),
      ),
      this.#range,
    );
    cursor.subscribe(() => {
      if (!cursor.active || this.root.hidden) return;
      if (cursor.column < this.#line || cursor.column >= this.#line + height)
        this.#line = cursor.column - (height >> 1);
      this.#draw();
    });
  }
  show(data: TableData): void {
    this.#data = data;
    this.#draw();
  }
  #open(open: boolean): void {
    this.root.hidden = !open;
    this.toggle.setAttribute('aria-expanded', String(open));
    if (open) this.#line = this.cursor.column - (height >> 1);
    this.#draw();
  }
  #move(lines: number, columns: number): void {
    this.#line += lines;
    this.#column += columns;
    this.#draw();
  }
  #draw(): void {
    const data = this.#data;
    if (!data || this.root.hidden) return;
    this.#line = Math.max(0, Math.min(data.lines - height, this.#line));
    this.#column = Math.max(0, Math.min(data.columns.length - width, this.#column));
    const lines = Array.from({ length: Math.min(height, data.lines) }, (_, i) => this.#line + i);
    const columns = Array.from(
      { length: Math.min(width, data.columns.length) },
      (_, i) => this.#column + i,
    );
    setText(this.#caption, data.caption);
    renew(
      this.#head,
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, data.lineName),
        ...columns.map((column) => h('th', { scope: 'col' }, data.columns[column] ?? '')),
      ),
    );
    renew(
      this.#body,
      ...lines.map((line) =>
        h(
          'tr',
          line === this.cursor.column && this.cursor.active ? { class: 'here' } : {},
          h('th', { scope: 'row' }, data.lineText(line)),
          ...columns.map((column) => {
            const value = data.cell(line, column);
            return h('td', { 'data-value': String(value) }, exact(value));
          }),
        ),
      ),
    );
    setText(
      this.#range,
      `Rows ${data.lineText(lines[0] ?? 0)} to ${data.lineText(lines.at(-1) ?? 0)} of ${data.lines}, columns ${this.#column + 1} to ${this.#column + columns.length} of ${data.columns.length}.`,
    );
  }
}

/** Comma-separated text with full precision; lines that start with # say what the numbers are. */
export function csvOf(data: TableData, remarks: readonly string[]): string {
  const quoted = (text: string): string =>
    /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  const lines = remarks.map((remark) => `# ${remark}`);
  lines.push([data.lineName, ...data.columns].map(quoted).join(','));
  for (let line = 0; line < data.lines; line += 1)
    lines.push(
      [
        data.lineText(line).replace('−', '-'),
        ...data.columns.map((_, column) => String(data.cell(line, column))),
      ].join(','),
    );
  return `${lines.join('\n')}\n`;
}

/** What lines are called: numbers where all of them are, to the letter; 007 is a word. */
function lineNames({ lines, lineText }: TableData): readonly (string | number)[] {
  const texts = Array.from({ length: lines }, (_, line) => lineText(line).replace('−', '-'));
  return texts.every((text) => String(Number(text)) === text) ? texts.map(Number) : texts;
}

/** The same as one object for each line, with the columns by their names. */
export const jsonOf = (table: TableData, title: string, remarks: readonly string[]): object => ({
  title,
  remarks,
  rows: lineNames(table).map((name, line) =>
    Object.fromEntries([
      [table.lineName, name],
      ...table.columns.map((column, i) => [column, table.cell(line, i)]),
    ]),
  ),
});
