// SPDX-License-Identifier: Apache-2.0
/** Errors of configurations: of kind `config` whatever their code, and with the path of the key. */

import { type Fault, fault, type PosencError, type PosencErrorCode } from '../errors.js';

export type ConfigFault = Omit<Fault, 'where' | 'kind' | 'field'> & {
  where?: string;
  path: string;
};

export function configFault(
  code: PosencErrorCode,
  { path, where = 'fromConfig', more, ...rest }: ConfigFault,
): PosencError {
  // A path can hold keys of the user's, which may be long or unprintable.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  const clean = path.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '');
  const field = clean.length > 80 ? `${clean.slice(0, 79)}…` : clean;
  return fault(code, { ...rest, where, field, kind: 'config', more: { path: field, ...more } });
}
