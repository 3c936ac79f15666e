// SPDX-License-Identifier: Apache-2.0
// What each lab that is open offers as a program, for the last lab to show in every form.
import type { LabId } from '../model/labs.ts';

export interface Program {
  /** A module that imports the package by its name and prints the numbers on screen. */
  module(): string;
  /** The same check by other means, where there is one. */
  torch?(): string;
}

const offered = new Map<LabId, Program>();

export function offer(lab: LabId, module: () => string, torch?: () => string): void {
  offered.set(lab, { module, ...(torch ? { torch } : {}) });
}
export const programOf = (lab: LabId): Program | undefined => offered.get(lab);
