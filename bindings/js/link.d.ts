// SPDX-License-Identifier: Apache-2.0
/** The short names that the linker made up for what the module imports and exports; build.mjs reads them from the glue. */
export const link: {
  /** The module that everything is imported from. */
  readonly from: string;
  readonly imports: Readonly<Record<string, string>>;
  readonly memory: string;
  readonly table: string;
  /** Runs the constructors of static objects. */
  readonly start: string;
};
