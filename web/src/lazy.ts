// SPDX-License-Identifier: Apache-2.0
// Labs below the first one come when they are scrolled to, or asked for.
import { restAway } from './away.ts';
import { byId, toast } from './dom.ts';
import type { Engine } from './engine.ts';
import type { Store } from './model/state.ts';

type Open = (engine: Engine, store: Store, lazy: LazyLabs) => Promise<void>;

const loaders: Readonly<Record<string, () => Promise<{ open: Open }>>> = {
  atlas: async () => {
    const { AtlasLab } = await import('./labs/atlas.ts');
    return {
      open: async (engine, store) => {
        new AtlasLab(engine, store);
      },
    };
  },
  compare: () => import('./labs/compare.ts'),
  beyond: () => import('./labs/beyond/lab.ts'),
  words: () => import('./labs/words/lab.ts'),
  config: () => import('./labs/doctor/lab.ts'),
  bench: () => import('./labs/bench/lab.ts'),
  train: () => import('./labs/train/lab.ts'),
  use: () => import('./labs/use/lab.ts'),
};

export class LazyLabs {
  readonly #started = new Map<string, Promise<void>>();

  constructor(
    private readonly engine: Engine,
    private readonly store: Store,
  ) {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries)
          if (isIntersecting) {
            observer.unobserve(target);
            void this.open(target.id);
          }
      },
      { rootMargin: '25% 0px' },
    );
    for (const id of Object.keys(loaders)) observer.observe(byId(id));
  }

  /** Resolves when the lab is there; at once for those that came with the page. */
  open(id: string): Promise<void> {
    const loader = loaders[id];
    if (!loader) return Promise.resolve();
    let started = this.#started.get(id);
    if (!started) {
      started = this.#start(id, loader);
      this.#started.set(id, started);
    }
    return started;
  }

  async #start(id: string, loader: () => Promise<{ open: Open }>): Promise<void> {
    const section = byId(id);
    try {
      const { open } = await loader();
      await open(this.engine, this.store, this);
      section.dataset.loaded = 'true';
      if (section.classList.contains('lab')) restAway(section);
    } catch (error) {
      this.#started.delete(id);
      toast(
        `This lab did not load: ${error instanceof Error ? error.message : String(error)}. Its link in the bar tries again.`,
      );
    }
  }
}
