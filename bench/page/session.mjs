// SPDX-License-Identifier: Apache-2.0
// What a visitor waits for, in the page itself: the first answer, sliders, maps, a pasted configuration, training.
import { median, percentile } from './serve.mjs';
import { tasksOf } from './tasks.mjs';

const ready = 'html[data-ready="true"]';
const opened = (lab) => `#${lab}:not(.lazy:not([data-loaded]))`;

async function visited(browser, address, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    serviceWorkers: 'block',
    ...options,
  });
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForSelector(ready);
  return { page, context };
}
async function toLab(page, lab) {
  await page.evaluate((id) => document.querySelector(`.bar-nav a[href="#${id}"]`).click(), lab);
  await page.waitForSelector(opened(lab));
  await page.waitForTimeout(400);
}

const firstAnswer = (page) =>
  page.evaluate(() => performance.getEntriesByName('first answer')[0].startTime);

/** From the start of the navigation to the answer of the first lab, without and with everything kept from before. */
export async function answers(browser, address, rounds) {
  const cold = [];
  const warm = [];
  for (let round = 0; round < rounds; round += 1) {
    const { page, context } = await visited(browser, address, { serviceWorkers: 'allow' });
    cold.push(await firstAnswer(page));
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    await page.reload();
    await page.waitForSelector(ready);
    warm.push(await firstAnswer(page));
    await context.close();
  }
  return { cold: median(cold), warm: median(warm) };
}

/**
 * From an input to the frame that shows the figure it changes, which need not be the first after it, and the same from the start of that
 * first one: a mouse's moves are handed over right before a frame, a key waits for one. A message sent in a frame comes once that is drawn.
 */
async function painted(page, selector, figure, move) {
  await page.evaluate(
    ({ selector, figure }) => {
      const field = document.querySelector(selector);
      const shown = document.querySelector(figure);
      shown.scrollIntoView({ block: 'center', behavior: 'instant' });
      const { bottom } = field.getBoundingClientRect();
      if (bottom > innerHeight) scrollBy({ top: bottom - innerHeight + 8, behavior: 'instant' });
      field.focus({ preventScroll: true });
      globalThis.painted = [];
      globalThis.watching?.abort();
      globalThis.watching = new AbortController();
      const { port1, port2 } = new MessageChannel();
      let start = 0;
      let begun = 0;
      let inFrame = false;
      let drawn = false;
      port1.onmessage = () => {
        inFrame = false;
        if (drawn && start) {
          const now = performance.now();
          painted.push({ input: now - start, frame: now - begun });
          start = begun = 0;
        }
      };
      const frame = () => {
        if (start) begun ||= performance.now();
        inFrame = true;
        port2.postMessage(0);
        if (start) requestAnimationFrame(frame);
      };
      // A figure that changes outside a frame is shown by the next one.
      const changed = () => {
        if (!start || drawn) return;
        if (inFrame) drawn = true;
        else requestAnimationFrame(() => (drawn = true));
      };
      // Cells of a map are put into its canvas, lines of a plot are paths of its drawing.
      const { prototype } = CanvasRenderingContext2D;
      const put = prototype.putImageData;
      prototype.putImageData = function (...args) {
        if (shown.contains(this.canvas)) changed();
        return put.apply(this, args);
      };
      new MutationObserver(changed).observe(shown, {
        subtree: true,
        childList: true,
        attributeFilter: ['d'],
      });
      field.addEventListener(
        'input',
        () => {
          // What a hand moves on to before it is answered waits from where it began.
          if (start) return;
          start = performance.now();
          drawn = false;
          requestAnimationFrame(frame);
        },
        { capture: true, signal: globalThis.watching.signal },
      );
    },
    { selector, figure },
  );
  await page.waitForTimeout(300);
  await move(page, selector);
  const times = await page.evaluate(() => globalThis.painted);
  return {
    input: median(times.map(({ input }) => input)),
    frame: median(times.map(({ frame }) => frame)),
  };
}
/** Fifteen keys, each answered and at rest before the next; to and fro, or on and on. */
async function byKeys(page, on = false) {
  for (let i = 0; i < 15; i += 1) {
    await page.keyboard.press(i % 2 && !on ? 'ArrowLeft' : 'ArrowRight');
    await page.waitForFunction((count) => painted.length > count, i);
    await page.waitForTimeout(150);
  }
}
/** As a hand drags: to and fro around the middle, a move in every frame. */
async function byHand(page, selector) {
  const track = await page.locator(selector).boundingBox();
  const [middle, y] = [track.x + track.width / 2, track.y + track.height / 2];
  await page.mouse.move(middle, y);
  await page.mouse.down();
  for (let i = 0; i < 120; i += 1) {
    await page.mouse.move(middle + (track.width / 8) * Math.sin(i / 9), y);
    await page.waitForTimeout(16);
  }
  await page.mouse.up();
  await page.waitForTimeout(1000);
}
/** A slider of the atlas, at several sizes of what it draws. */
export async function sliders(browser, address, table, curve) {
  const result = {};
  for (const [name, hash] of Object.entries({
    'map 512 × 128': `#v1&lab=atlas&enc=${table}&len=512&p.dim=128`,
    'map 4096 × 128': `#v1&lab=atlas&enc=${table}&len=4096&p.dim=128`,
    'decay of 8192': `#v1&lab=atlas&enc=${curve}&len=8192`,
  })) {
    const { page, context } = await visited(browser, address + hash);
    await page.waitForTimeout(500);
    const slider = '#atlas [data-field="base"] input[type="range"]';
    const figure = name.startsWith('map') ? '#atlas-map' : '#atlas-curve';
    result[name] = {
      keys: (await painted(page, slider, figure, (page) => byKeys(page))).input,
      hand: (await painted(page, slider, figure, byHand)).input,
    };
    await context.close();
  }
  return result;
}

/**
 * 256 words under 8 heads of 64: one encoding chosen anew, and both by the weight of a sink, by the soft cap, and by the seed, for which
 * all words are projected anew.
 */
export async function words(browser, address) {
  const text = Array.from({ length: 256 }, (_, i) => `w${i % 90}`).join('+');
  const { page, context } = await visited(
    browser,
    `${address}#v1&lab=words&heads=8&width=512&say=${text}`,
  );
  await page.waitForSelector(opened('words'));
  await page.waitForTimeout(1500);
  const last = '#words .words-maps figure:last-child .stage';
  const slider = (field) => `#words [data-field="${field}"] input[type="range"]`;
  const took = { one: await painted(page, '#words-b', last, (page) => byKeys(page, true)) };
  for (const field of ['sink', 'cap', 'seed'])
    took[field] = (await painted(page, slider(field), last, byHand)).input;
  await context.close();
  return took;
}

export async function verdict(browser, address, config) {
  const { page, context } = await visited(browser, `${address}#v1&lab=config`);
  await page.waitForSelector(opened('config'));
  const took = await page.evaluate(async (config) => {
    const field = document.querySelector('#config-text');
    const times = [];
    for (let i = 0; i < 9; i += 1) {
      const shown = document.querySelector('.doctor-verdict');
      const start = performance.now();
      field.value = JSON.stringify({ ...config, rope_theta: 10000 + i });
      const changed = new Promise((done) => {
        const watch = new MutationObserver(() => {
          watch.disconnect();
          requestAnimationFrame(() => setTimeout(done, 0));
        });
        watch.observe(shown.closest('.lab-body'), {
          childList: true,
          subtree: true,
          characterData: true,
        });
      });
      field.dispatchEvent(new Event('input', { bubbles: true }));
      await changed;
      times.push(performance.now() - start);
      await new Promise((done) => setTimeout(done, 300));
    }
    return times;
  }, config);
  await context.close();
  return median(took);
}

/** Tasks of the page above 50 ms while four decoders train, and what a step takes. */
export async function training(browser, address) {
  const { page, context } = await visited(browser, `${address}#v1&lab=train`);
  await page.waitForSelector(opened('train'));
  await page.waitForTimeout(1500);
  const tasks = await tasksOf(browser, page, () => trained(page));
  const result = await page.evaluate(() => ({
    long,
    steps: [...document.querySelectorAll('.pupils .number')].map((one) =>
      Number(/, (\d+) ms each/.exec(one.textContent)?.[1]),
    ),
  }));
  await context.close();
  return { ...result, longest: Math.max(0, ...tasks.map(({ took }) => took)) };
}
async function trained(page) {
  await page.evaluate(() => {
    globalThis.long = [];
    new PerformanceObserver((list) =>
      long.push(...list.getEntries().map(({ duration }) => duration)),
    ).observe({ type: 'longtask' });
    document.querySelector('#train-run').click();
  });
  await page.waitForSelector('#train-step:text-is("Done.")', { timeout: 180_000 });
}

/** What each interaction takes: the median of several walks, since one of them waits for whatever else the machine does. */
export async function interactions(browser, address, rounds) {
  const walks = [];
  for (let round = 0; round < rounds; round += 1) walks.push(await walk(browser, address));
  const each = walks[0].map(({ name }, i) => ({
    name,
    duration: median(walks.map((one) => one[i].duration)),
  }));
  return {
    made: each.length,
    p95: percentile(
      each.map(({ duration }) => duration),
      0.95,
    ),
    most: each.sort((a, b) => b.duration - a.duration).slice(0, 8),
  };
}

/** The longest answer to each step of a walk through the labs with the processor slowed down four times. */
async function walk(browser, address) {
  const { page, context } = await visited(browser, address);
  await page.evaluate(() => {
    // Those below the threshold of the browser took at most 16 ms.
    globalThis.took = [];
    new PerformanceObserver((list) => {
      for (const { interactionId, duration } of list.getEntries())
        if (interactionId && took.length) took.push(Math.max(took.pop(), duration));
    }).observe({ type: 'event', durationThreshold: 16 });
  });
  const client = await context.newCDPSession(page);
  const names = [];
  const settle = () => page.waitForTimeout(1000);
  const act = async (name, action) => {
    names.push(name);
    await page.evaluate(() => took.push(16));
    await action();
    await settle();
  };
  /** A hand brings a control with what it changes into the middle before it uses it. */
  const reach = async (control) => {
    await control.evaluate((one) => one.scrollIntoView({ block: 'center', behavior: 'instant' }));
    await settle();
  };
  const first = (selector) => page.locator(selector).first();
  const click = async (selector) => {
    const control = first(selector);
    await reach(control);
    // A mouse is there before it presses, and what it passed over has been drawn. The driver's own click would look for what it hits.
    await control.hover();
    await settle();
    await act(selector, async () => {
      await page.mouse.down();
      await page.mouse.up();
    });
  };
  const key = async (name, control, key) => {
    // The focus is an interaction of its own, as the pointer's way is.
    await control.evaluate((field) => field.focus({ preventScroll: true }));
    await reach(control);
    await act(`${name} ${key}`, () => page.keyboard.press(key));
  };
  // From before the labs are opened: what they found out about a fast machine says nothing of a slow one.
  await client.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  // Every lab first: the walk is about answers to a hand, not about files on their way.
  for (const lab of ['atlas', 'beyond', 'words', 'config', 'bench', 'train', 'use', 'order'])
    await toLab(page, lab);
  await page.evaluate(() => scrollTo(0, 0));
  await settle();
  await click('#order-body .button-row button.primary');
  await click('#order-body .button-row button.primary');
  await click('#order-body .button-row button:has-text("Swap two")');
  await click('#order-body input[value="causal"] + label');
  await act('typing', () => page.locator('#sentence').press('End'));
  for (const letter of ' now')
    await act('typing', () => page.keyboard.press(letter === ' ' ? 'Space' : letter));
  await click('#order-body [data-field="head"] .segments label:nth-of-type(3)');
  for (let i = 0; i < 4; i += 1)
    await key('length', first('#atlas [data-field="length"] input[type="range"]'), 'ArrowRight');
  for (let i = 0; i < 4; i += 1) await key('map', first('#atlas-map'), 'ArrowRight');
  await click('#atlas button:has-text("Zoom in")');
  await click('#atlas .gallery-item:nth-of-type(12) label');
  await click('#atlas .gallery-item:nth-of-type(5) label');
  await click('#atlas button[aria-controls="atlas-numbers"]');
  // An arrow can be too little to be seen, and what shows no new frame is counted up to the next one.
  for (const field of await page.locator('#beyond input[type="range"]').all())
    for (const name of ['PageUp', 'PageDown']) await key('beyond', field, name);
  await click('#words-body .words-bar button.primary');
  await key('sharpness', first('#words [data-field="sharp"] input[type="range"]'), 'ArrowRight');
  await key('sharpness', first('#words [data-field="sharp"] input[type="range"]'), 'ArrowLeft');
  await click('#words-body .heads .head-item:nth-of-type(2) label');
  await key('other configuration', first('#config-choice'), 'ArrowDown');
  await click('#theme');
  await click('#theme');
  await settle();
  const durations = await page.evaluate(() => took);
  await context.close();
  return names.map((name, i) => ({ name, duration: durations[i] }));
}
