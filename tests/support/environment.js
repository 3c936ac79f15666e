// SPDX-License-Identifier: Apache-2.0
// Emscripten hides the environment from a program; GoogleTest reads from it which share of the tests to run.
Module.preRun = () => {
  for (const [name, value] of Object.entries(process.env))
    if (name.startsWith('GTEST_')) ENV[name] = value;
};
