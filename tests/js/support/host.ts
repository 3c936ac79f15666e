// SPDX-License-Identifier: Apache-2.0
/** Where a test runs. */

export const inNode = typeof process === 'object' && process.versions?.node !== undefined;
