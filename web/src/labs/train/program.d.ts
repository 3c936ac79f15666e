// SPDX-License-Identifier: Apache-2.0
// A module as the text of a program, which the build makes of it (web/program.ts).
declare module '*?program' {
  const text: string;
  export default text;
}
