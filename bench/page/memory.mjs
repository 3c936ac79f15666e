// SPDX-License-Identifier: Apache-2.0
// What the page holds in memory: after a visit of every lab, and while somebody goes on using it.
const labs = ['order', 'atlas', 'beyond', 'words', 'config', 'bench', 'train', 'use'];

/** Bytes of objects, of what the browser holds for them, and of buffers, the module's memory among them; after collecting garbage. */
async function held(client) {
  for (let i = 0; i < 3; i += 1) await client.send('HeapProfiler.collectGarbage');
  const {
    usedSize,
    embedderHeapUsedSize = 0,
    backingStorageSize = 0,
  } = await client.send('Runtime.getHeapUsage');
  return usedSize + embedderHeapUsedSize + backingStorageSize;
}

/** Bytes by whose they are: of the page (its objects and buffers), code that the engine compiled, and what the browser keeps beside it. */
async function heap(client) {
  const chunks = [];
  const take = ({ chunk }) => chunks.push(chunk);
  client.on('HeapProfiler.addHeapSnapshotChunk', take);
  await client.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  client.off('HeapProfiler.addHeapSnapshotChunk', take);
  const { snapshot, nodes, strings } = JSON.parse(chunks.join(''));
  const fields = snapshot.meta.node_fields;
  const [type, name, size] = ['type', 'name', 'self_size'].map((one) => fields.indexOf(one));
  const types = snapshot.meta.node_types[type];
  const sums = { page: 0, code: 0, browser: 0 };
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = types[nodes[at + type]];
    const called = strings[nodes[at + name]];
    const whose =
      kind === 'code'
        ? 'code'
        : ['native', 'hidden', 'synthetic'].includes(kind) && !called.endsWith('ArrayBufferData')
          ? 'browser'
          : 'page';
    sums[whose] += nodes[at + size];
  }
  return sums;
}

async function visit(page, lab) {
  await page.evaluate((id) => document.querySelector(`.bar-nav a[href="#${id}"]`).click(), lab);
  await page.waitForSelector(`#${lab}:not(.lazy:not([data-loaded]))`);
  await page.waitForTimeout(300);
}

/** The option of this number, counted round. */
const choose = (page, selector, number, first = 0) =>
  page.evaluate(
    ({ selector, number, first }) => {
      const select = document.querySelector(selector);
      select.selectedIndex = first + (number % (select.options.length - first));
      select.dispatchEvent(new Event('change', { bubbles: true }));
    },
    { selector, number, first },
  );
const encoding = (page, number) => choose(page, '#encoding', number);
const configuration = (page, number) => choose(page, '#config-choice', number, 1);

/** Every encoding and every configuration once: what belongs to one of them is made when it is first chosen. */
async function meet(page) {
  const all = await page.evaluate(() =>
    ['#encoding', '#config-choice'].map((id) => document.querySelector(id).options.length),
  );
  for (const lab of ['order', 'words', 'atlas']) {
    await visit(page, lab);
    for (let i = 0; i < all[0]; i += 1) {
      await encoding(page, i);
      await page.waitForTimeout(250);
    }
  }
  await visit(page, 'config');
  for (let i = 0; i < all[1]; i += 1) {
    await configuration(page, i);
    await page.waitForTimeout(250);
  }
}

/** One turn of use: words in other orders, another encoding and length, another seed and configuration. */
async function use(page, turn) {
  const press = async (selector, key) => {
    await page.locator(selector).first().press(key);
    await page.waitForTimeout(60);
  };
  await visit(page, 'order');
  for (let i = 0; i < 4; i += 1)
    await page.locator('#order-body .button-row button.primary').click();
  await visit(page, 'atlas');
  await encoding(page, turn);
  await page.waitForTimeout(100);
  for (let i = 0; i < 4; i += 1)
    await press(
      '#atlas [data-field="length"] input[type="range"]',
      i % 2 ? 'ArrowLeft' : 'ArrowRight',
    );
  await visit(page, 'beyond');
  for (const key of ['ArrowRight', 'ArrowLeft']) await press('#beyond input[type="range"]', key);
  await visit(page, 'words');
  for (const key of ['ArrowRight', 'ArrowLeft'])
    await press('#words [data-field="seed"] input[type="range"]', key);
  await visit(page, 'config');
  await configuration(page, turn);
  await visit(page, 'use');
}

/**
 * MB after every lab was opened; over so many minutes of use after everything was met once its slope in MB an hour, and bytes by whose they
 * are over the last three quarters.
 */
export async function memory(browser, address, minutes, say) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    serviceWorkers: 'block',
  });
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForSelector('html[data-ready="true"]');
  const client = await context.newCDPSession(page);
  for (const lab of labs) await visit(page, lab);
  const after = await held(client);
  if (minutes > 0) await meet(page);
  const points = [];
  let before;
  const begun = performance.now();
  for (let turn = 0; minutes > 0; turn += 1) {
    await use(page, turn);
    const at = (performance.now() - begun) / 60_000;
    // What is made once, tables of colours or rows of a list, is made in the first turns.
    if (turn % 4 === 3) {
      points.push([at, (await held(client)) / 1e6]);
      say(`${at.toFixed(1)} min: ${points.at(-1)[1].toFixed(1)} MB`);
    }
    if (at >= minutes / 4) before ??= await heap(client);
    if (at >= minutes) break;
  }
  const grown = before && minus(await heap(client), before);
  await context.close();
  const slope = slopeOf(points.slice(Math.ceil(points.length / 4)));
  return { after: after / 1e6, points, slope, grown };
}

const minus = (now, before) =>
  Object.fromEntries(Object.entries(now).map(([name, size]) => [name, size - before[name]]));

/** Least squares, in MB an hour. */
function slopeOf(points) {
  if (points.length < 3) return undefined;
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(([at]) => at), mean(([, size]) => size)];
  const over = points.reduce((sum, [at, size]) => sum + (at - x) * (size - y), 0);
  const under = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  return (60 * over) / under;
}
