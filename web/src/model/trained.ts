// SPDX-License-Identifier: Apache-2.0
// The length a model was trained for, where an encoding has an option that says so.
import type { EncodingInfo } from './manifest.ts';
import { effective, type Settings } from './settings.ts';

/** Options that mean it, by their name in the manifest. */
const names = ['originalLength', 'trainedLength'];

export function trainedLength(info: EncodingInfo, settings: Settings): number | undefined {
  const field = info.fields.find(({ name }) => names.includes(name));
  const value = field && effective(info, field.name, settings);
  return typeof value === 'number' ? value : undefined;
}
