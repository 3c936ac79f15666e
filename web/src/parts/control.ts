// SPDX-License-Identifier: Apache-2.0
// Form controls with a name, an explanation, a way back to the default, and a place for an error.
import { box, h, setHidden, setText } from '../dom.ts';

let serial = 0;
function freshId(name: string): string {
  serial += 1;
  return `control-${name.replace(/[^\w-]/g, '-')}-${serial}`;
}

/** Splits an option's name into words, for people: rotaryDim → rotary dim. */
export const inWords = (name: string): string =>
  name.length === 1 ? name : name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();

export interface ControlText {
  readonly name: string;
  readonly doc: string;
}

/** The frame around an input: head with reset, doc, error. Inputs are described by both texts. */
export abstract class Control {
  readonly root: HTMLElement;
  protected readonly id: string;
  readonly #doc: HTMLElement;
  readonly #error: HTMLElement;
  readonly #reset: HTMLButtonElement;
  readonly #mark: HTMLElement;

  protected constructor(
    readonly name: string,
    text: ControlText,
    group: boolean,
    onReset: () => void,
    resettable = true,
  ) {
    this.id = freshId(name);
    this.#doc = h('p', { class: 'control-doc', id: `${this.id}-doc` }, text.doc);
    this.#error = h('p', { class: 'control-error', id: `${this.id}-error`, hidden: true });
    this.#mark = h('span', { class: 'control-default' }, 'default');
    this.#reset = h(
      'button',
      {
        type: 'button',
        class: 'quiet',
        hidden: true,
        'aria-label': `Reset ${text.name} to its default`,
        click: onReset,
      },
      'Reset',
    );
    const label = group
      ? h('span', { class: 'control-name', id: `${this.id}-name` }, text.name)
      : h('label', { for: this.id }, text.name);
    this.root = h(
      'div',
      {
        class: 'control',
        'data-field': name,
        ...(group ? { role: 'radiogroup', 'aria-labelledby': `${this.id}-name` } : {}),
      },
      box('control-head', label, ...(resettable ? [this.#mark, this.#reset] : [])),
    );
  }
  protected finish(...inputs: HTMLElement[]): void {
    this.root.append(...inputs, this.#doc, this.#error);
  }
  /** Attributes that tie an input to its texts. */
  protected described(): Record<string, string> {
    return { 'aria-describedby': `${this.#doc.id} ${this.#error.id}` };
  }
  protected standing(isDefault: boolean, mark = 'default'): void {
    setText(this.#mark, mark);
    setHidden(this.#mark, !isDefault);
    // A focused button that hides itself would drop the keyboard back to the top of the page.
    if (isDefault && document.activeElement === this.#reset)
      this.root.querySelector<HTMLElement>('input, select')?.focus();
    setHidden(this.#reset, isDefault);
  }
  problem(message: string | undefined): void {
    setHidden(this.#error, message === undefined);
    setText(this.#error, message ?? '');
    for (const input of this.root.querySelectorAll('input, select')) {
      if (message === undefined) input.removeAttribute('aria-invalid');
      else input.setAttribute('aria-invalid', 'true');
    }
  }
}

export type Change<T> = (value: T | undefined, committed: boolean) => void;

export interface NumberScale {
  readonly low: number;
  readonly high: number;
  readonly step: number;
  readonly logarithmic: boolean;
}

/** A slider for the hand and a field for the exact number. Numbers the library refuses are passed on: its message explains best. */
export class NumberControl extends Control {
  readonly #range: HTMLInputElement;
  readonly #exact: HTMLInputElement;

  constructor(
    name: string,
    text: ControlText,
    private readonly scale: NumberScale,
    private readonly change: Change<number>,
  ) {
    super(name, text, false, () => change(undefined, true));
    this.#exact = h('input', {
      type: 'number',
      id: this.id,
      class: 'exact',
      step: 'any',
      inputmode: 'decimal',
      ...this.described(),
      input: () => this.#typed(false),
      change: () => this.#typed(true),
    });
    this.#range = h('input', {
      type: 'range',
      min: 0,
      max: 1000,
      step: 1,
      'aria-label': `${text.name}, slider`,
      ...this.described(),
      input: () => change(this.#slid(), false),
      change: () => change(this.#slid(), true),
    });
    if (!scale.logarithmic && (scale.high - scale.low) / scale.step <= 2000) {
      this.#range.min = String(scale.low);
      this.#range.max = String(scale.high);
      this.#range.step = String(scale.step);
    }
    this.finish(box('number-row', this.#range, this.#exact));
  }
  get #direct(): boolean {
    return (
      Number(this.#range.max) !== 1000 ||
      Number(this.#range.min) !== 0 ||
      (this.scale.low === 0 && this.scale.high === 1000)
    );
  }
  #slid(): number {
    const raw = Number(this.#range.value);
    if (this.#direct) return raw;
    const { low, high, step, logarithmic } = this.scale;
    const share = raw / 1000;
    const value = logarithmic ? low * (high / low) ** share : low + share * (high - low);
    const rounded = Number(value.toPrecision(3));
    return step >= 1 ? Math.round(rounded / step) * step : rounded;
  }
  #typed(committed: boolean): void {
    const text = this.#exact.value.trim();
    if (text === '') {
      if (committed) this.change(undefined, true);
      return;
    }
    this.change(Number(text), committed);
  }
  show(value: number | undefined, isDefault: boolean, mark?: string): void {
    if (document.activeElement !== this.#exact || Number(this.#exact.value) !== value)
      this.#exact.value = value === undefined ? '' : String(value);
    if (value !== undefined && document.activeElement !== this.#range) {
      const { low, high, logarithmic } = this.scale;
      const share = logarithmic
        ? Math.log(value / low) / Math.log(high / low)
        : (value - low) / (high - low);
      this.#range.value = String(this.#direct ? value : Math.round(1000 * share));
    }
    this.#range.setAttribute('aria-valuetext', value === undefined ? 'not set' : String(value));
    this.standing(isDefault, mark);
  }
}

/** A few names side by side: one tab stop, arrows choose. */
export class ChoiceControl extends Control {
  readonly #inputs = new Map<string, HTMLInputElement>();

  constructor(
    name: string,
    text: ControlText,
    choices: readonly (readonly [string, string])[],
    change: Change<string>,
    resettable = true,
  ) {
    super(name, text, true, () => change(undefined, true), resettable);
    const row = box('segments');
    for (const [value, label] of choices) {
      const input = h('input', {
        type: 'radio',
        name: this.id,
        id: `${this.id}-${value}`,
        value,
        ...this.described(),
        change: () => change(value, true),
      });
      this.#inputs.set(value, input);
      row.append(input, h('label', { for: input.id }, label));
    }
    this.finish(row);
  }
  show(value: string, isDefault: boolean): void {
    const input = this.#inputs.get(value);
    if (input) input.checked = true;
    this.standing(isDefault);
  }
  enable(enabled: boolean): void {
    for (const input of this.#inputs.values()) input.disabled = !enabled;
  }
}

export class SwitchControl extends Control {
  readonly #input: HTMLInputElement;

  constructor(name: string, text: ControlText, change: Change<boolean>, resettable = true) {
    super(name, text, false, () => change(undefined, true), resettable);
    this.#input = h('input', {
      type: 'checkbox',
      id: this.id,
      ...this.described(),
      change: () => change(this.#input.checked, true),
    });
    this.root.classList.add('switch');
    this.root.querySelector('.control-head')?.prepend(this.#input);
    this.finish();
  }
  show(value: boolean, isDefault: boolean): void {
    this.#input.checked = value;
    this.standing(isDefault);
  }
  enable(enabled: boolean): void {
    this.#input.disabled = !enabled;
  }
}

/** Numbers separated by commas; empty means not given. */
export class ListControl extends Control {
  readonly #input: HTMLInputElement;

  constructor(
    name: string,
    text: ControlText,
    private readonly change: Change<readonly number[]>,
  ) {
    super(name, text, false, () => change(undefined, true));
    this.#input = h('input', {
      type: 'text',
      id: this.id,
      class: 'wide',
      inputmode: 'decimal',
      spellcheck: 'false',
      placeholder: 'derived',
      ...this.described(),
      change: () => this.#typed(),
    });
    this.finish(this.#input);
  }
  #typed(): void {
    const text = this.#input.value.trim();
    if (text === '') {
      this.change(undefined, true);
      return;
    }
    const numbers = text
      .split(/[\s,;]+/)
      .filter(Boolean)
      .map(Number);
    if (numbers.every(Number.isFinite)) this.change(numbers, true);
    else
      this.problem(`${this.name} must be numbers separated by commas, got “${text.slice(0, 40)}”`);
  }
  show(value: readonly number[] | undefined, isDefault: boolean): void {
    if (document.activeElement !== this.#input) this.#input.value = value?.join(', ') ?? '';
    this.standing(isDefault);
  }
}
