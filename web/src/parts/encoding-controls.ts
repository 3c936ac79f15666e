// SPDX-License-Identifier: Apache-2.0
// The controls of any encoding, drawn from its manifest entry: adding an encoding needs no line here.
import { box, h } from '../dom.ts';
import type { Problem } from '../engine.ts';
import type { EncodingInfo, FieldInfo, FieldValue } from '../model/manifest.ts';
import {
  effective,
  freeSizes,
  type Settings,
  sizeOf,
  standing,
  stands,
  untouched,
} from '../model/settings.ts';
import {
  ChoiceControl,
  type Control,
  inWords,
  ListControl,
  NumberControl,
  type NumberScale,
  SwitchControl,
} from './control.ts';

type Report = (settings: Settings, committed: boolean) => void;

/** A slider covers what people try; the exact field beside it takes everything the option allows. */
export function sliderOf(info: EncodingInfo, field: FieldInfo): NumberScale {
  const usual = Number(effective(info, field.name, untouched) ?? field.example) || 0;
  const least = field.min ?? Number.NEGATIVE_INFINITY;
  const most = field.max ?? Number.POSITIVE_INFINITY;
  const step = field.multipleOf ?? (field.type === 'integer' ? 1 : 0.01);
  if (field.logarithmic) {
    const centre = usual > 0 ? usual : 1;
    const reach = centre >= 1000 ? 1e4 : 250;
    return {
      low: Math.max(least > 0 ? least : centre / reach, centre / reach),
      high: Math.min(most, centre * reach),
      step: field.type === 'integer' ? step : 0,
      logarithmic: true,
    };
  }
  const high = Math.min(most, 2 ** Math.ceil(Math.log2(Math.max(4, Math.abs(usual) * 4))));
  const low = Math.max(least, least < 0 ? -high : 0);
  return {
    low: field.multipleOf ? Math.ceil(low / step) * step : low,
    high,
    step,
    logarithmic: false,
  };
}

/** Whole in full, but 1e15 and not a row of noughts. */
const limitText = (value: number | undefined): string | undefined =>
  value === undefined
    ? undefined
    : Math.abs(value) >= 1e7
      ? value.toExponential().replace('e+', 'e')
      : String(value);

function limits(field: FieldInfo): string {
  const [min, max] = [limitText(field.min), limitText(field.max)];
  if (
    field.type === 'choice' ||
    field.type === 'boolean' ||
    field.type === 'names' ||
    field.type === 'list' ||
    (min === undefined && max === undefined)
  )
    return '';
  const even = field.multipleOf === 2 ? ', even' : '';
  if (min === undefined) return ` At most ${max}${even}.`;
  if (field.exclusiveMin)
    return max === undefined ? ` Above ${min}${even}.` : ` Above ${min}, at most ${max}${even}.`;
  return max === undefined ? ` At least ${min}${even}.` : ` From ${min} to ${max}${even}.`;
}

/** All ways to take some of a few names, as text with commas between; the most first. */
function subsets([first, ...rest]: readonly string[]): string[] {
  if (first === undefined) return [''];
  const others = subsets(rest);
  return [...others.map((some) => (some === '' ? first : `${first},${some}`)), ...others];
}

export class EncodingControls {
  readonly root = box('controls');
  #info: EncodingInfo | undefined;
  #controls: { control: Control; show(settings: Settings): void }[] = [];

  /** What a change begins with is asked for, since two may come before the first is drawn. */
  constructor(
    private readonly current: () => Settings,
    private readonly report: Report,
  ) {}

  show(info: EncodingInfo, settings: Settings, problem: Problem | undefined): boolean {
    if (this.#info !== info) this.#build(info);
    for (const { control, show } of this.#controls) {
      show(settings);
      control.problem(
        problem && this.#concerns(problem, control.name) ? problem.message : undefined,
      );
    }
    return (
      problem !== undefined &&
      this.#controls.some(({ control }) => this.#concerns(problem, control.name))
    );
  }
  #concerns(problem: Problem, name: string): boolean {
    return problem.field === name || problem.field === `options.${name}`;
  }

  #build(info: EncodingInfo): void {
    this.#info = info;
    this.#controls = [
      ...info.fields.map((field) => this.#field(info, field)),
      ...freeSizes(info).map((size) => {
        const scale: NumberScale = {
          low: 1,
          high: Math.max(1024, size.example * 4),
          step: 1,
          logarithmic: true,
        };
        const text = {
          name: inWords(size.name),
          doc: 'Size of the table below; filled with repeatable random numbers.',
        };
        const control = new NumberControl(size.name, text, scale, (value, committed) =>
          this.#resize(size.name, value === size.example ? undefined : value, committed),
        );
        return {
          control,
          show: (settings: Settings) =>
            control.show(sizeOf(size, settings), settings.sizes[size.name] === undefined),
        };
      }),
      ...info.tables
        .filter((table) => !table.required && !table.usual)
        .map((table) => {
          const control = new SwitchControl(
            table.name,
            { name: `with ${inWords(table.name)}`, doc: table.doc },
            (value) => this.#include(table.name, value ?? false),
          );
          return {
            control,
            show: (settings: Settings) =>
              control.show(
                settings.included.includes(table.name),
                !settings.included.includes(table.name),
              ),
          };
        }),
    ];
    this.root.replaceChildren(...this.#controls.map(({ control }) => control.root));
    if (!this.#controls.length)
      this.root.append(
        h('p', { class: 'control-doc' }, 'Nothing to set: this one has no parameters.'),
      );
  }

  #field(
    info: EncodingInfo,
    field: FieldInfo,
  ): { control: Control; show(settings: Settings): void } {
    const text = { name: inWords(field.name), doc: field.doc + limits(field) };
    const set = (value: FieldValue | undefined, committed: boolean): void =>
      this.#change(field, value, committed);
    const isDefault = (settings: Settings): boolean => settings.fields[field.name] === undefined;
    const current = (settings: Settings): FieldValue | undefined =>
      effective(info, field.name, settings);
    if (field.type === 'choice') {
      const control = new ChoiceControl(
        field.name,
        text,
        (field.choices ?? []).map((choice) => [choice, choice] as const),
        set,
      );
      return {
        control,
        show: (settings) => control.show(String(current(settings) ?? ''), isDefault(settings)),
      };
    }
    if (field.type === 'names') {
      const control = new ChoiceControl(
        field.name,
        text,
        subsets(field.choices ?? []).map((some) => [some, some.replaceAll(',', ' + ') || 'none']),
        (some, committed) => set(some === '' ? [] : some?.split(','), committed),
      );
      return {
        control,
        show: (settings) => control.show(String(current(settings) ?? ''), isDefault(settings)),
      };
    }
    if (field.type === 'boolean') {
      const control = new SwitchControl(field.name, text, set);
      return {
        control,
        show: (settings) => control.show(current(settings) === true, isDefault(settings)),
      };
    }
    if (field.type === 'list') {
      const control = new ListControl(field.name, text, set);
      return {
        control,
        show: (settings) =>
          control.show(current(settings) as readonly number[] | undefined, isDefault(settings)),
      };
    }
    const control = new NumberControl(field.name, text, sliderOf(info, field), set);
    const mark = field.defaultFrom
      ? `follows ${inWords(field.defaultFrom)}`
      : standing(field) === undefined
        ? 'derived'
        : 'default';
    return {
      control,
      show: (settings) =>
        control.show(current(settings) as number | undefined, isDefault(settings), mark),
    };
  }

  #change(field: FieldInfo, value: FieldValue | undefined, committed: boolean): void {
    const settings = this.current();
    const { [field.name]: _, ...others } = settings.fields;
    const kept =
      value === undefined || stands(field, value) ? others : { ...others, [field.name]: value };
    this.report({ ...settings, fields: kept }, committed);
  }
  #resize(name: string, value: number | undefined, committed: boolean): void {
    const settings = this.current();
    const { [name]: _, ...others } = settings.sizes;
    this.report(
      { ...settings, sizes: value === undefined ? others : { ...others, [name]: value } },
      committed,
    );
  }
  #include(name: string, included: boolean): void {
    const settings = this.current();
    const others = settings.included.filter((other) => other !== name);
    this.report({ ...settings, included: included ? [...others, name] : others }, true);
  }
}
