// SPDX-License-Identifier: Apache-2.0
/** The labs, in the order of the page; each is the id of its section. */
export const labs = [
  'order',
  'atlas',
  'beyond',
  'words',
  'config',
  'bench',
  'train',
  'use',
] as const;
export type LabId = (typeof labs)[number];
export const isLab = (id: string): id is LabId => (labs as readonly string[]).includes(id);
