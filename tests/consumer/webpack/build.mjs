// SPDX-License-Identifier: Apache-2.0
// webpack without a configuration of its own: WEBPACK names the module, the folder is where this runs. Sizes have a budget in
// tools/size-budget.json; webpack's advice to split what is above 244 KiB before compression is about scripts.
const { default: webpack } = await import(process.env.WEBPACK);
const path = `${process.cwd()}/bundle`;
const bundler = webpack({
  mode: 'production',
  entry: './main.js',
  output: { path, filename: 'main.js', publicPath: 'auto' },
  performance: { hints: false },
});
bundler.run((error, stats) => {
  const problems = error ? [error.message] : stats.toJson().errors.concat(stats.toJson().warnings);
  for (const problem of problems) console.error(problem.message ?? problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
});
