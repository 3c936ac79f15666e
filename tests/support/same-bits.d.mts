// SPDX-License-Identifier: Apache-2.0
import type { Posenc, Tensor } from 'posenc';

export const committed: string;
export function results(pe: Posenc): Generator<[name: string, result: Tensor]>;
export function digest(pe: Posenc): Promise<{ readonly made: number; readonly hash: string }>;
