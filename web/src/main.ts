// SPDX-License-Identifier: Apache-2.0
import { arrive, leave } from './arrive.ts';
import { restAway } from './away.ts';
import { fillBar, followLabs, themeButton } from './bar.ts';
import { byId, toast } from './dom.ts';
import { manifest, problemOf, start } from './engine.ts';
import { OrderLab } from './labs/order.ts';
import { LazyLabs } from './lazy.ts';
import { readAddress, writeAddress } from './model/address.ts';
import { isLab } from './model/labs.ts';
import { isPacked, opened } from './model/link.ts';
import { type State, Store } from './model/state.ts';
import { motionless } from './motion.ts';
import { keep } from './offline/register.ts';
import { copyNumbers } from './parts/copy-number.ts';
import { questionSwitch } from './parts/guess.ts';
import { followKeys, keyButtons } from './parts/keys.ts';
import { spellOnPaper } from './parts/print.ts';
import { pause } from './pause.ts';

function missingFeature(): string | undefined {
  if (typeof WebAssembly !== 'object') return 'WebAssembly';
  // The smallest module that uses a 128-bit vector.
  const simd = new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253,
    15, 253, 98, 11,
  ]);
  return WebAssembly.validate(simd) ? undefined : 'WebAssembly SIMD';
}

function explain(text: string): void {
  const notice = byId('notice');
  // What was drawn ahead is all there will be, whatever was asked for.
  const ahead = byId('order-body').ariaBusy === 'true';
  notice.textContent = ahead ? `${text} Figures show the default state of each lab.` : text;
  notice.hidden = false;
  byId('order-body').ariaBusy = null;
  const { dataset } = document.documentElement;
  dataset.ready = 'false';
  delete dataset.own;
}

/** How often the visitor has gone somewhere: a lab that took its time does not call back who has gone on since. */
let journeys = 0;

/** A link of the bar goes to a lab and says so in the state; a plain anchor would wipe the state from the address. */
async function goTo(id: string, store: Store, lazy: LazyLabs): Promise<void> {
  journeys += 1;
  const journey = journeys;
  if (isLab(id)) store.set({ lab: id });
  const behavior = motionless.matches ? 'auto' : 'smooth';
  byId(id).scrollIntoView({ behavior });
  // What loads on the way moves the place that was asked for.
  await lazy.open(id);
  if (journey !== journeys) return;
  byId(id).scrollIntoView({ behavior });
  arrive(byId(id));
  // Who came by keyboard goes on from there, not from the bar.
  document.getElementById(`${id}-title`)?.focus({ preventScroll: true });
}

/** One lab alone, for a lecture's slides: ?embed=words. The rest of the page is not there for anyone. */
function embedded(): string | undefined {
  const id = new URLSearchParams(location.search).get('embed') ?? '';
  if (!isLab(id)) return undefined;
  document.documentElement.dataset.embed = id;
  for (const part of document.querySelectorAll<HTMLElement>('.bar, .hero, .foot, .skip, .lab'))
    part.hidden = part.id !== id;
  return id;
}

/**
 * The address of the bar as the page writes it; a link that was packed to be short is replaced there. Undefined where the visitor
 * has gone elsewhere meanwhile.
 */
async function unpacked(): Promise<string | undefined> {
  const asked = location.hash;
  const { hash, problems } = await opened(asked);
  if (location.hash !== asked) return undefined;
  problems.forEach(toast);
  if (hash !== location.hash) history.replaceState(null, '', hash);
  return hash;
}

function connect(store: Store, lazy: LazyLabs): void {
  store.onCommit = (state: State): void => {
    const address = writeAddress(state, manifest);
    if (address !== location.hash) history.pushState(null, '', address);
  };
  let unpacking = '';
  const take = (hash: string): void => {
    const { state, problems } = readAddress(hash, manifest);
    problems.forEach(toast);
    journeys += 1;
    leave();
    store.set(state, false);
  };
  const follow = (): void => {
    // Two events tell of the same link, and the first has begun to unpack it.
    if (unpacking && location.hash === unpacking) return;
    unpacking = isPacked(location.hash) ? location.hash : '';
    if (!unpacking) take(location.hash);
    else
      void unpacked().then((hash) => {
        unpacking = '';
        if (hash !== undefined) take(hash);
      });
  };
  addEventListener('popstate', follow);
  addEventListener('hashchange', () => {
    if (location.hash.startsWith('#v1') && location.hash !== writeAddress(store.get(), manifest))
      follow();
  });
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.bar-nav a, .skip, .wordmark'))
    link.addEventListener('click', (event) => {
      event.preventDefault();
      void goTo(link.hash.slice(1), store, lazy);
      if (link.classList.contains('skip')) byId('sentence').focus();
    });
}

async function main(): Promise<void> {
  byId('bar-controls').append(themeButton());
  followLabs();
  const missing = missingFeature();
  if (missing) {
    explain(
      `This browser lacks ${missing}, which the figures are computed with. The text still holds; any browser from 2023 on shows the rest.`,
    );
    return;
  }
  const alone = embedded();
  const hash = (isPacked(location.hash) && (await unpacked())) || location.hash;
  const { state, problems } = readAddress(hash, manifest);
  const store = new Store(state);
  let lazy: LazyLabs;
  try {
    const engine = await start();
    await pause();
    await new OrderLab(engine, store).start();
    restAway(byId('order'));
    delete document.documentElement.dataset.own;
    performance.mark('first answer');
    await pause();
    fillBar(store);
    spellOnPaper(store, engine.info.version);
    byId('questions-place').append(questionSwitch(), ...keyButtons());
    copyNumbers();
    await pause();
    lazy = new LazyLabs(engine, store);
    byId('build-info').textContent = `posenc ${engine.info.version}, ${engine.info.build} build.`;
  } catch (error) {
    explain(`The figures cannot be computed here: ${problemOf(error).message}`);
    throw error;
  }
  connect(store, lazy);
  if (!alone) followKeys((lab) => void goTo(lab, store, lazy));
  problems.forEach(toast);
  if (alone) await lazy.open(alone);
  else if (state.lab !== 'order') await goTo(state.lab, store, lazy);
  document.documentElement.dataset.ready = 'true';
  // The development server has no worker. Elsewhere it fetches every file, which can wait until the page is at rest.
  if (import.meta.env.PROD) setTimeout(keep, 1000);
}

void main();
