// SPDX-License-Identifier: Apache-2.0
// Has the page kept for use without a network, and offers a newer one when there is one. A visit is never interrupted.
import { byId, offer, setText } from '../dom.ts';

let standing: HTMLElement | undefined;

/** What waits behind the page on screen until the visitor takes it. The newest takes the place of one not taken. */
function offerNext(registration: ServiceWorkerRegistration): void {
  standing?.remove();
  standing = offer('A newer version of this page is ready.', 'Load it', () => {
    const reload = (): void => location.reload();
    const { waiting } = registration;
    // Taken in another tab already: nothing changes hands any more.
    if (!waiting) return reload();
    navigator.serviceWorker.addEventListener('controllerchange', reload, { once: true });
    waiting.postMessage('take over');
    // A request under way keeps the old worker in office; it ends with the page, and the offer then stands again.
    setTimeout(reload, 5000);
  });
}

async function register(): Promise<void> {
  const registration = await navigator.serviceWorker.register('./service-worker.js');
  if (registration.waiting) offerNext(registration);
  const changed = ({ target }: Event): void => {
    // The very first one replaces nothing.
    if ((target as ServiceWorker).state === 'installed' && navigator.serviceWorker.controller)
      offerNext(registration);
  };
  // The same listener twice is one.
  const follow = (): void => registration.installing?.addEventListener('statechange', changed);
  registration.addEventListener('updatefound', follow);
  // Another tab may have found it before this page came to listen.
  follow();
  await navigator.serviceWorker.ready;
  setText(byId('offline-info'), 'Kept in this browser: the page opens without a network too.');
}

/** A browser that keeps nothing shows the page all the same, so failing says nothing. */
export function keep(): void {
  if ('serviceWorker' in navigator) register().catch(() => undefined);
}
