// SPDX-License-Identifier: Apache-2.0
import { Cursor } from '../draw/cursor.ts';

/** Of every figure of the atlas; one that loads later joins it. */
export const atlasCursor = new Cursor();
