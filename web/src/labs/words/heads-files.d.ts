// SPDX-License-Identifier: Apache-2.0
interface ImportMeta {
  /** Vite's: all files of a pattern, by their paths. */
  glob<T>(
    pattern: string,
    options: { query: string; import: 'default'; eager: true },
  ): Record<string, T>;
}
