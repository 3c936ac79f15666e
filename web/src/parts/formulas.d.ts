// SPDX-License-Identifier: Apache-2.0
// Of every encoding by its id; the build writes them (web/formulas.ts).
declare module '*?written' {
  const all: Readonly<Record<string, import('./formula.ts').Written>>;
  export default all;
}
