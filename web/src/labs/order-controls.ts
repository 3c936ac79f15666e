// SPDX-License-Identifier: Apache-2.0
// How the layer of the first lab reads its words: encoding, mask, order of summing, and the head that is shown.
import { layer } from '../compute/layer.ts';
import { box, h } from '../dom.ts';
import { manifest } from '../engine.ts';
import { actsNowhere } from '../model/manifest.ts';
import { untouched } from '../model/settings.ts';
import { infoOf, placedInfo, type State, type Store } from '../model/state.ts';
import { ChoiceControl, SwitchControl } from '../parts/control.ts';

export class OrderControls {
  readonly root: HTMLElement;
  readonly head: ChoiceControl;
  readonly #position: HTMLSelectElement;
  readonly #mask: ChoiceControl;
  readonly #canonical: SwitchControl;

  constructor(store: Store) {
    this.#position = h(
      'select',
      {
        id: 'order-encoding',
        change: () => {
          const info = manifest.find((entry) => entry.id === this.#position.value);
          if (!info) return;
          if (actsNowhere(info)) store.set({ placed: false });
          else
            store.set({
              placed: true,
              ...(info.id === store.get().encoding
                ? {}
                : { encoding: info.id, settings: untouched }),
            });
        },
      },
      ...[...manifest]
        .sort((a, b) => Number(actsNowhere(b)) - Number(actsNowhere(a)))
        .map((info) => h('option', { value: info.id }, info.title)),
    );
    this.#mask = new ChoiceControl(
      'mask',
      { name: 'Mask', doc: 'Causal: a word sees itself and those before it.' },
      [
        ['open', 'None'],
        ['causal', 'Causal'],
      ],
      (value) => store.set({ causal: value === 'causal' }),
      false,
    );
    this.#canonical = new SwitchControl(
      'canonical',
      {
        name: 'Sum in canonical order',
        doc: 'Adds in the order first typed, so that rounding agrees. Only without encoding and mask.',
      },
      (value) => store.set({ canonical: value ?? false }),
      false,
    );
    this.head = new ChoiceControl(
      'head',
      { name: 'Head', doc: '' },
      [
        ['-1', 'Mean'],
        ...Array.from({ length: layer.heads }, (_, i) => [String(i), String(i + 1)] as const),
      ],
      (value) => store.set({ head: Number(value) }),
      false,
    );
    this.root = box(
      'switches',
      box(
        'control',
        box('control-head', h('label', { for: 'order-encoding' }, 'Encoding')),
        this.#position,
        h('p', { class: 'control-doc' }, 'How the words learn their places.'),
      ),
      this.#mask.root,
      this.#canonical.root,
    );
  }

  show(state: State): void {
    const shown =
      placedInfo(manifest, state) ?? manifest.find(actsNowhere) ?? infoOf(manifest, state);
    this.#position.value = shown.id;
    this.#mask.show(state.causal ? 'causal' : 'open', true);
    this.#canonical.show(state.canonical, true);
    this.#canonical.enable(!state.causal && !placedInfo(manifest, state));
    this.head.show(String(Math.min(state.head, layer.heads - 1)), true);
  }
}
