// SPDX-License-Identifier: Apache-2.0
/// <reference types="vite/client" />
// The configurations that come with the page: those the readers are tested with, and one of a model that many were misled by.
import misread from './deepseek-r1-0528-qwen3-8b.json?raw';

export interface Preset {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

const files = import.meta.glob<string>('../../../../tests/fixtures/configs/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
});

function preset(id: string, text: string): Preset {
  const name: unknown = (JSON.parse(text) as Record<string, unknown>)._name_or_path;
  return { id, title: typeof name === 'string' ? name : id, text };
}

const usual = preset('deepseek-r1-0528-qwen3-8b', misread);
export const presets: readonly Preset[] = [
  usual,
  ...Object.entries(files)
    .map(([path, text]) => preset(path.replace(/^.*\/|\.json$/g, ''), text))
    .sort((a, b) => a.title.toLowerCase().localeCompare(b.title.toLowerCase(), 'en')),
];
export const usualPreset = usual;
