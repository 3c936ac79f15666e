// SPDX-License-Identifier: Apache-2.0
/** Small configurations, and what must be said about one. */

import { type ConfigOptions, fromConfig, type PosencErrorCode } from 'posenc';
import { expect } from 'vitest';
import { caught } from '../support/failure.ts';

export const base = { model_type: 'llama', head_dim: 64, max_position_embeddings: 4096 };
export const yarn = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 1024 };
export const llama3 = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 512,
};
export const scaling = (rope_scaling: unknown, more: object = {}) => ({
  ...base,
  ...more,
  rope_scaling,
});

export function warnings(config: object, options?: ConfigOptions) {
  return fromConfig(config, options).warnings;
}
export function only(code: string, config: object, options?: ConfigOptions) {
  const found = warnings(config, options).filter((one) => one.code === code);
  expect(found.length, `${code} in ${JSON.stringify(warnings(config, options))}`).toBeGreaterThan(
    0,
  );
  return found[0];
}
export const codes = (config: object, options?: ConfigOptions) =>
  warnings(config, options).map(({ code }) => code);

export function refused(
  config: object | string,
  code: PosencErrorCode,
  path: string,
  warning?: string,
) {
  const error = caught(() => fromConfig(config));
  expect([error.kind, error.code, error.details.path], error.message).toEqual([
    'config',
    code,
    path,
  ]);
  if (warning !== undefined) expect(error.details.warning).toBe(warning);
  expect(error.message).toContain('fromConfig');
  expect(error.message.length).toBeLessThanOrEqual(200);
  return error;
}
