// SPDX-License-Identifier: Apache-2.0
// What every figure shares: one tab stop, a cursor moved by keys or pointer, a label in words, and redrawing when its size changes.
import { h, svg } from '../dom.ts';
import { drawing, type Redraw } from '../view.ts';
import type { Cursor } from './cursor.ts';

export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}
export interface Steps {
  /** Rows a Page key jumps. */
  readonly page?: number;
  zoom?(factor: number): void;
  choose?(): void;
}

export class Stage {
  readonly root: HTMLElement;
  readonly overlay: SVGSVGElement;
  readonly frame: Frame = { left: 0, top: 0, width: 1, height: 1 };
  readonly redraw: Redraw;

  constructor(
    private readonly cursor: Cursor,
    className: string,
    draw: () => void,
    /** Cell under a point of the frame, in shares of its width and height. */
    private readonly cellAt: (x: number, y: number) => { column: number; row?: number },
    private readonly lastCell: () => { column: number; row: number },
    private readonly steps: Steps = {},
  ) {
    this.overlay = svg('svg', { class: 'overlay', 'aria-hidden': 'true' });
    this.root = h(
      'div',
      {
        class: `stage ${className}`,
        tabindex: 0,
        role: 'img',
        'aria-label': 'Figure, still empty',
      },
      this.overlay,
    );
    this.redraw = drawing(this.root, () => {
      if (this.size.width > 0) draw();
    });
    new ResizeObserver(() => {
      this.#measure();
      this.redraw();
    }).observe(this.root);
    this.root.addEventListener('keydown', (event) => this.#key(event));
    this.root.addEventListener('focus', () => {
      if (this.root.matches(':focus-visible') && !cursor.active) cursor.moveTo(cursor.column);
    });
    this.root.addEventListener('blur', () => {
      this.#mode(false);
      if (!cursor.pinned) cursor.hide();
    });
    this.root.addEventListener('pointermove', (event) => this.#point(event));
    this.root.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      const wasPinned = cursor.pinned;
      cursor.pinned = false;
      if (!this.#point(event)) return;
      if (steps.choose) steps.choose();
      else cursor.pin(!wasPinned);
    });
    this.root.addEventListener('pointerleave', () => {
      if (!cursor.pinned && document.activeElement !== this.root) cursor.hide();
    });
  }

  #size = { width: 0, height: 0 };
  /** Asked for once and told by the browser from then on: asked after every change, it lays the whole page out each time. */
  get size(): { readonly width: number; readonly height: number } {
    if (this.#size.width === 0) this.#measure();
    return this.#size;
  }
  #measure(): void {
    this.#size = { width: this.root.clientWidth, height: this.root.clientHeight };
  }

  describe(label: string): void {
    this.root.setAttribute('aria-label', label);
  }

  /** Application role only while the cursor is in use, so that reading keys work everywhere else. */
  #mode(inUse: boolean): void {
    this.root.setAttribute('role', inUse ? 'application' : 'img');
    if (inUse) this.root.setAttribute('aria-roledescription', 'figure with a cursor');
    else this.root.removeAttribute('aria-roledescription');
  }

  #point(event: PointerEvent): boolean {
    if (this.cursor.pinned) return false;
    const box = this.root.getBoundingClientRect();
    const x = (event.clientX - box.left - this.frame.left) / this.frame.width;
    const y = (event.clientY - box.top - this.frame.top) / this.frame.height;
    if (x < 0 || x >= 1 || y < 0 || y >= 1) return false;
    const cell = this.cellAt(x, y);
    this.cursor.moveTo(cell.column, cell.row);
    return true;
  }

  #key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { cursor } = this;
    const step = event.shiftKey ? 10 : 1;
    const last = this.lastCell();
    const page = this.steps.page ?? 8;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => cursor.moveTo(cursor.column - step),
      ArrowRight: () => cursor.moveTo(cursor.column + step),
      ArrowUp: () => cursor.moveTo(cursor.column, cursor.row - step),
      ArrowDown: () => cursor.moveTo(cursor.column, cursor.row + step),
      Home: () => cursor.moveTo(0),
      End: () => cursor.moveTo(last.column),
      PageUp: () => cursor.moveTo(cursor.column, cursor.row - page),
      PageDown: () => cursor.moveTo(cursor.column, cursor.row + page),
      '+': () => this.steps.zoom?.(2),
      '=': () => this.steps.zoom?.(2),
      '-': () => this.steps.zoom?.(0.5),
      Enter: () => (this.steps.choose ? this.steps.choose() : cursor.pin(!cursor.pinned)),
      Escape: () => {
        this.#mode(false);
        cursor.hide();
      },
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    if (event.key !== 'Escape') this.#mode(true);
    move();
  }
}
