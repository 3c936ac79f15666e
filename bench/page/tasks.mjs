// SPDX-License-Identifier: Apache-2.0
// The page's tasks by the processor time they take, which other programs on the machine do not lengthen as they do time by the clock.

/** Processor time in ms of the tasks of the page's thread while `action` runs, and by the clock when each began after the first paint. */
export async function tasksOf(browser, page, action) {
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'loading'] });
  await action();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const own = traceEvents.filter(({ pid, tid }) => threads.has(`${pid} ${tid}`));
  const painted = Math.min(
    ...own.filter(({ name }) => name === 'firstContentfulPaint').map(({ ts }) => ts),
  );
  return own
    .filter(({ ph, name, tdur }) => ph === 'X' && /RunTask$/.test(name) && tdur > 1000)
    .map(({ ts, tdur }) => ({ took: tdur / 1000, after: (ts - painted) / 1000 }));
}

/** What Lighthouse calls blocking, of a phone four times slower: the parts above 50 ms of the tasks after the first paint. */
export async function blocking(browser, address) {
  const context = await browser.newContext({
    viewport: { width: 412, height: 823 },
    serviceWorkers: 'block',
  });
  const page = await context.newPage();
  const tasks = await tasksOf(browser, page, async () => {
    await page.goto(address);
    await page.waitForSelector('html[data-ready="true"]');
    await page.waitForTimeout(2000);
  });
  await context.close();
  const slowed = tasks.filter(({ after }) => after > 0).map(({ took }) => 4 * took);
  return {
    blocked: slowed.reduce((sum, took) => sum + Math.max(0, took - 50), 0),
    longest: Math.max(0, ...slowed),
  };
}
