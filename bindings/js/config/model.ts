// SPDX-License-Identifier: Apache-2.0
/** The result of a reading, as an object that cannot be changed. */

import { checkKind } from './checks.js';
import { configFault } from './faults.js';
import type { Ledger } from './ledger.js';
import type { Reading } from './rope-family.js';
import type {
  ConfigOptions,
  ConfigWarning,
  LayerEncoding,
  LayerKind,
  ModelAttention,
  ModelPositions,
  Need,
  Parameter,
  Provenance,
} from './types.js';

const mostLayers = 4096;

export class Model implements ModelPositions {
  readonly family: string;
  readonly layers?: number;
  readonly kinds: ReadonlyMap<string, LayerKind>;
  readonly trainedLength?: number;
  readonly warnings: readonly ConfigWarning[];
  readonly #reading: Reading;
  readonly #where: string;
  readonly #fixed: LayerKind | undefined;
  readonly #layer: number;
  readonly #shared: readonly Parameter[];

  constructor(
    family: string,
    reading: Reading,
    ledger: Ledger,
    o: Required<Pick<ConfigOptions, 'layer'>> & ConfigOptions,
  ) {
    this.family = family;
    this.#reading = reading;
    this.#where = ledger.where;
    this.#shared = ledger.shared;
    this.kinds = reading.kinds;
    if (reading.layers !== undefined) this.layers = reading.layers;
    this.#fixed = o.layerType === undefined ? undefined : this.#named(o.layerType);
    this.#layer = o.layer;
    const trained = this.#number('trainedLength');
    if (trained !== undefined) this.trainedLength = trained;
    for (const kind of this.#fixed === undefined ? reading.kinds.values() : [this.#fixed])
      checkKind(ledger, kind, trained, o.length);
    this.warnings = Object.freeze([...ledger.warnings]);
    Object.freeze(this);
  }

  static is(value: unknown): value is Model {
    return typeof value === 'object' && value !== null && #reading in value;
  }

  kindOf(layer: number = this.#layer): LayerKind {
    const most = this.layers ?? mostLayers;
    if (typeof layer !== 'number' || !Number.isInteger(layer) || layer < 0 || layer >= most)
      throw configFault('INCONSISTENT', {
        where: this.#where,
        path: 'layer',
        expected: `an integer from 0 to ${most - 1}, one of ${most} layers`,
        received: layer,
      });
    if (this.#fixed !== undefined) return this.#fixed;
    const kind = this.kinds.get(this.#reading.kindName(layer));
    return kind ?? (this.kinds.values().next().value as LayerKind);
  }

  encodingFor(layer?: number): LayerEncoding {
    return this.kindOf(layer).encoding;
  }

  attentionFor(layer?: number): ModelAttention {
    // A copy: it is made to be completed with an encoding and passed on.
    const { attention } = this.kindOf(layer);
    return attention.window === undefined
      ? { ...attention }
      : { ...attention, window: { ...attention.window } };
  }

  get attention(): ModelAttention {
    return this.attentionFor();
  }

  get needs(): readonly Need[] {
    return this.kindOf().needs;
  }

  /** Those of all layers, then those of the chosen one, then those of every kind under its name. */
  get parameters(): readonly Parameter[] {
    const chosen = this.kindOf();
    const named =
      this.kinds.size < 2
        ? []
        : [...this.kinds].flatMap(([type, { parameters }]) =>
            parameters.map((one) => ({ ...one, name: `${type}.${one.name}` })),
          );
    const own = new Set(chosen.parameters.map(({ name }) => name));
    return [...this.#shared.filter(({ name }) => !own.has(name)), ...chosen.parameters, ...named];
  }

  get provenance(): Readonly<Record<string, Provenance>> {
    // Names can come from a user's keys: they must not reach a prototype.
    const record: Record<string, Provenance> = Object.create(null);
    for (const { name, provenance } of this.parameters) record[name] = provenance;
    return record;
  }

  toJSON(): object {
    const { family, layers, trainedLength, warnings, parameters, provenance } = this;
    const kinds = [...this.kinds.values()].map(({ type, encoding, attention, needs }) => ({
      type,
      ...(layers === undefined || this.#fixed !== undefined
        ? {}
        : { layers: this.#layersOf(type) }),
      encoding,
      attention,
      needs,
    }));
    return {
      family,
      ...(layers === undefined ? {} : { layers }),
      ...(trainedLength === undefined ? {} : { trainedLength }),
      kinds,
      parameters,
      provenance: { ...provenance },
      warnings,
    };
  }

  #layersOf(type: string): number[] {
    return Array.from({ length: this.layers ?? 0 }, (_, layer) => layer).filter(
      (layer) => this.#reading.kindName(layer) === type,
    );
  }

  #named(type: string): LayerKind {
    const kind = this.kinds.get(type);
    if (kind !== undefined) return kind;
    throw configFault('INCONSISTENT', {
      where: this.#where,
      path: 'layerType',
      expected: `one of ${[...this.kinds.keys()].join(', ')}`,
      received: type,
    });
  }

  #number(name: string): number | undefined {
    const lists = [this.kindOf().parameters, this.#shared];
    for (const list of lists) {
      const value = list.find((one) => one.name === name)?.value;
      if (typeof value === 'number') return value;
    }
    return undefined;
  }
}
