// SPDX-License-Identifier: Apache-2.0
// The address bar as storage: #v1&key=value&…, readable, defaults left out, unknown keys kept.
import { fallbacks, type KeyName, keyNames, readKey, type Values, writeKey } from './keys.ts';
import { isLab } from './labs.ts';
import type { EncodingInfo, FieldInfo, FieldValue } from './manifest.ts';
import { freeSizes, stands } from './settings.ts';
import { initialState, isMoved, lengths, type State, wordsOf } from './state.ts';

export interface Reading {
  readonly state: State;
  /** One sentence per value that could not be used. */
  readonly problems: readonly string[];
}

/** The key of a packed link, which stands alone in its address: no state has it. */
export const packedKey = 'z';

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/%20/g, '+').replace(/%2C/g, ',').replace(/%3A/g, ':');
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
  } catch {
    return text;
  }
}

export function readField(field: FieldInfo, text: string): FieldValue | undefined {
  if (field.type === 'choice') return field.choices?.includes(text) ? text : undefined;
  if (field.type === 'boolean') return text === '1' ? true : text === '0' ? false : undefined;
  if (field.type === 'names') {
    const names = text === '' ? [] : text.split(',');
    return names.every((name) => field.choices?.includes(name)) ? names : undefined;
  }
  if (field.type === 'list') {
    const items = text.split(',').map((item) => (item.trim() === '' ? Number.NaN : Number(item)));
    return items.every(Number.isFinite) ? items : undefined;
  }
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value) || (field.type === 'integer' && !Number.isInteger(value)))
    return undefined;
  return value;
}
export const writeField = (value: FieldValue): string =>
  typeof value === 'boolean'
    ? value
      ? '1'
      : '0'
    : Array.isArray(value)
      ? value.join(',')
      : String(value);

const whole = (text: string, least: number, most: number): number | undefined => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
};
const flag = (text: string): boolean | undefined =>
  text === '1' ? true : text === '0' ? false : undefined;

function readOrder(text: string): number[] | undefined {
  const order = text.split('.').map((part) => whole(part, 0, 999) ?? -1);
  return order.every((_, place) => order.includes(place)) ? order : undefined;
}

/** Reads an address. Never fails: what cannot be used becomes a sentence, and its default stays. */
export function readAddress(hash: string, manifest: readonly EncodingInfo[]): Reading {
  const initial = initialState(manifest);
  const problems: string[] = [];
  const [version, ...parts] = hash.replace(/^#/, '').split('&');
  if (version !== 'v1') {
    // A bare name is a link to a heading of the page, not a state.
    if (version && parts.length)
      problems.push(`The address starts with “${version}”, which this page does not read.`);
    return { state: initial, problems };
  }
  const pairs = parts.filter(Boolean).map((part): [string, string] => {
    const at = part.indexOf('=');
    return at < 0 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
  });
  const named = new Map(pairs);
  const wanted = named.get('enc');
  const info = manifest.find((entry) => entry.id === (wanted ?? initial.encoding));

  const state: { -readonly [K in keyof State]: State[K] } = { ...initial };
  const fields: Record<string, FieldValue> = {};
  const sizes: Record<string, number> = {};
  const included: string[] = [];
  const unknown: [string, string][] = [];
  const values: Partial<Record<KeyName, Values[KeyName]>> = {};

  for (const [key, text] of named) {
    const take = <K extends keyof State>(name: K, value: State[K] | undefined): void => {
      if (value === undefined)
        problems.push(`“${text.slice(0, 40)}” is no value for ${key}; the default is used.`);
      else state[name] = value;
    };
    if (key === packedKey)
      problems.push('A packed link within a link is not opened; what stands beside it is.');
    else if (key === 'enc') take('encoding', info?.id);
    else if (key === 'lab') take('lab', isLab(text) ? text : undefined);
    else if (key === 'pos') take('placed', flag(text));
    else if (key === 'mask')
      take('causal', text === 'causal' ? true : text === 'open' ? false : undefined);
    else if (key === 'canon') take('canonical', flag(text));
    else if (key === 'text') take('text', wordsOf(text).length ? text : undefined);
    else if (key === 'order') take('order', readOrder(text));
    else if (key === 'token') take('token', whole(text, 0, 63));
    else if (key === 'head') take('head', text === 'mean' ? -1 : whole(text, 0, 1023));
    else if (key === 'len') take('length', whole(text, lengths.least, lengths.most));
    else if (key === 'log') take('logarithmic', flag(text));
    else if ((keyNames as string[]).includes(key)) {
      const value = readKey(key as KeyName, text);
      if (value === undefined)
        problems.push(`“${text.slice(0, 40)}” is no value for ${key}; the default is used.`);
      else values[key as KeyName] = value;
    } else if (info && key.startsWith('p.')) {
      const field = info.fields.find((candidate) => candidate.name === key.slice(2));
      const value = field && readField(field, text);
      if (!field) unknown.push([key, text]);
      else if (value === undefined)
        problems.push(`“${text.slice(0, 40)}” is no value for ${field.name}; the default is used.`);
      else if (!stands(field, value)) fields[field.name] = value;
    } else if (info && key.startsWith('n.')) {
      const size = freeSizes(info).find((candidate) => candidate.name === key.slice(2));
      const value = whole(text, 1, 1 << 20);
      if (!size) unknown.push([key, text]);
      else if (value === undefined)
        problems.push(`“${text.slice(0, 40)}” is no number of ${size.name}; the default is used.`);
      else sizes[size.name] = value;
    } else if (
      info &&
      key.startsWith('t.') &&
      info.tables.some((table) => !table.required && !table.usual && table.name === key.slice(2))
    ) {
      if (text === '1') included.push(key.slice(2));
    } else unknown.push([key, text]);
  }
  if (state.order.length && state.order.length !== wordsOf(state.text).length) {
    problems.push('The order does not fit the sentence; the words stand as typed.');
    state.order = [];
  }
  state.token = Math.min(state.token, wordsOf(state.text).length - 1);
  const settings = { fields, sizes, included };
  return {
    state: { ...state, settings, values: { ...fallbacks, ...values } as Values, unknown },
    problems,
  };
}

export function writeAddress(state: State, manifest: readonly EncodingInfo[]): string {
  const initial = initialState(manifest);
  const pairs: [string, string][] = [];
  const add = (key: string, differs: boolean, text: string): void => {
    if (differs) pairs.push([key, text]);
  };
  add('lab', state.lab !== initial.lab, state.lab);
  add('enc', state.encoding !== initial.encoding, state.encoding);
  add('pos', state.placed, '1');
  add('mask', state.causal, 'causal');
  add('canon', state.canonical, '1');
  add('text', state.text !== initial.text, state.text);
  add('order', isMoved(state.order), state.order.join('.'));
  add('token', state.token !== initial.token, String(state.token));
  add('head', state.head >= 0, String(state.head));
  add('len', state.length !== initial.length, String(state.length));
  add('log', state.logarithmic, '1');
  for (const name of keyNames) {
    const text = writeKey(name, state.values);
    add(name, text !== writeKey(name, fallbacks), text);
  }
  for (const [name, value] of Object.entries(state.settings.fields))
    pairs.push([`p.${name}`, writeField(value)]);
  for (const [name, value] of Object.entries(state.settings.sizes))
    pairs.push([`n.${name}`, String(value)]);
  for (const name of state.settings.included) pairs.push([`t.${name}`, '1']);
  pairs.push(...state.unknown.map(([key, text]): [string, string] => [key, text]));
  return `#${['v1', ...pairs.map(([key, text]) => `${encode(key)}=${encode(text)}`)].join('&')}`;
}
