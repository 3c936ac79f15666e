// SPDX-License-Identifier: Apache-2.0
/** SHA-256 of what the package computes, in hexadecimal, and of how many encodings. */
export function digest(
  engine: unknown,
  encodings: unknown,
): Promise<{ readonly made: number; readonly hash: string }>;
