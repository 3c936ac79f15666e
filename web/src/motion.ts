// SPDX-License-Identifier: Apache-2.0

/** Whether motion is unwelcome, by `matches`. Asked for once: Chromium keeps every query that it was ever asked. */
export const motionless = matchMedia('(prefers-reduced-motion: reduce)');
