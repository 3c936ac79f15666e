// SPDX-License-Identifier: Apache-2.0
// Paper shows no address and no controls, so the state is spelled out on it.
import { byId, h } from '../dom.ts';
import { manifest } from '../engine.ts';
import { writeAddress } from '../model/address.ts';
import { infoOf, type Store } from '../model/state.ts';

/** Name and value of everything that is not at its default, as the address has them. */
export function stated(address: string): [string, string][] {
  return address
    .split('&')
    .slice(1)
    .map((pair) => {
      const [name = '', value = ''] = pair.split('=').map((part) => part.replace(/\+/g, ' '));
      return [decodeURIComponent(name), decodeURIComponent(value)];
    });
}

export function spellOnPaper(store: Store, version: string): void {
  addEventListener('beforeprint', () => {
    const state = store.get();
    const address = writeAddress(state, manifest);
    byId('paper').replaceChildren(
      h('p', {}, `posenc ${version}, encoding ${infoOf(manifest, state).title}.`),
      h(
        'p',
        {},
        `Set by hand: ${
          stated(address)
            .map(([name, value]) => `${name} = ${value}`)
            .join('; ') || 'nothing, all is at its default'
        }.`,
      ),
      h('p', {}, new URL(address, location.href).href),
    );
  });
}
