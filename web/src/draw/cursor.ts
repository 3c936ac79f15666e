// SPDX-License-Identifier: Apache-2.0

/** A place in a grid of numbers, shared by every figure that shows the grid. */
export class Cursor {
  column = 0;
  row = 0;
  /** Shown at all; figures hide it when nobody points. */
  active = false;
  /** Pinned: the pointer no longer moves it. */
  pinned = false;
  /** Moves now without anybody having asked where it is. */
  quiet = false;
  #columns = 1;
  #rows = 1;
  readonly #listeners: (() => void)[] = [];

  subscribe(listener: () => void): void {
    this.#listeners.push(listener);
  }
  /** New bounds for new data; quiet, since whoever brings data redraws anyway. */
  fit(columns: number, rows: number): void {
    this.#columns = columns;
    this.#rows = rows;
    this.column = Math.max(0, Math.min(columns - 1, this.column));
    this.row = Math.max(0, Math.min(rows - 1, this.row));
  }
  moveTo(column: number, row = this.row): void {
    this.column = Math.max(0, Math.min(this.#columns - 1, column));
    this.row = Math.max(0, Math.min(this.#rows - 1, row));
    this.active = true;
    this.#tell();
  }
  /** Along with a tone, which says where it is. */
  glide(column: number): void {
    this.quiet = true;
    this.moveTo(column);
    this.quiet = false;
  }
  pin(pinned: boolean): void {
    this.pinned = pinned;
    this.active ||= pinned;
    this.#tell();
  }
  hide(): void {
    if (!this.active && !this.pinned) return;
    this.active = false;
    this.pinned = false;
    this.#tell();
  }
  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The columns in view. Zooming keeps the cursor where it is on the screen's axis, as far as the ends allow. */
export class Window {
  from = 0;
  count = 1;
  #columns = 1;

  fit(columns: number): void {
    if (columns !== this.#columns) {
      this.#columns = columns;
      this.from = 0;
      this.count = columns;
    }
  }
  get whole(): boolean {
    return this.count >= this.#columns;
  }
  zoom(factor: number, around: number): void {
    const count = Math.round(
      Math.max(Math.min(16, this.#columns), Math.min(this.#columns, this.count / factor)),
    );
    const share = (around - this.from) / this.count;
    this.count = count;
    this.#place(Math.round(around - share * count));
  }
  reveal(column: number): boolean {
    const before = this.from;
    if (column < this.from) this.#place(column);
    else if (column >= this.from + this.count) this.#place(column - this.count + 1);
    return this.from !== before;
  }
  #place(from: number): void {
    this.from = Math.max(0, Math.min(this.#columns - this.count, from));
  }
}
