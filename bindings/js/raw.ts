// SPDX-License-Identifier: Apache-2.0
/**
 * The WebAssembly module as Embind presents it. Only numbers cross: addresses are bytes, strings are
 * ASCII and travel as address and length, a status of 0 is success.
 */

/** Must equal what the module reports: the two files of one release belong together. */
export const abiVersion = 3;

/**
 * What a call is given beside a few numbers, and what a failure tells, crosses in one block of float64
 * numbers, in the order of these lists and of the structures of their names in bindings/wasm.
 */
export const failureFields = [
  'code',
  'field',
  'fieldLength',
  'expected',
  'expectedLength',
  'received',
  'index',
  // The allowed range, NaN when there is none to tell.
  'low',
  'high',
] as const;
export type RawFailure = Readonly<Record<(typeof failureFields)[number], number>>;

export const attentionFields = [
  'q',
  'k',
  'v',
  'out',
  'weights',
  'logSumExp',
  // A cache; k, v, keys and keyPositions are then of the new tokens.
  'cache',
  // Tokens of it that masks and weights were laid out for.
  'held',
  'batch',
  'heads',
  'kvHeads',
  'queries',
  'keys',
  'headDim',
  'valueDim',
  'layout',
  'scale',
  'causal',
  'queryOffset',
  // Negative: without limit.
  'windowLeft',
  'windowRight',
  'windowFirst',
  'chunk',
  'prefix',
  // Seven 32-bit numbers each: batch entry, first query, queries, first key, keys, offset, prefix.
  'sequences',
  'sequenceCount',
  'softcap',
  'sinks',
  'queryScaleKind',
  'queryScaleLength',
  'queryScaleFactor',
  'qNormKind',
  'qNormWeight',
  'qNormHeads',
  'qNormEpsilon',
  'qNormAfter',
  'kNormKind',
  'kNormWeight',
  'kNormHeads',
  'kNormEpsilon',
  'kNormAfter',
  'queryPositions',
  'keyPositions',
  'queryPositionRows',
  'keyPositionRows',
  'axes',
  'mask',
  'maskIsFloat',
  'maskBatchStride',
  'maskHeadStride',
  'maskRowStride',
  'maskColumnStride',
  'encodings',
  'encodingCount',
] as const;
export type RawAttention = Readonly<Record<(typeof attentionFields)[number], number | boolean>>;

export const cacheFields = [
  'batch',
  'heads',
  'headDim',
  'valueDim',
  'capacity',
  'dtype',
  'window',
  'sinks',
  'ownPositions',
  'encodings',
  'encodingCount',
] as const;
export type RawCache = Readonly<Record<(typeof cacheFields)[number], number | boolean>>;

export const appendFields = [
  'k',
  'v',
  'positions',
  'count',
  'layout',
  'positionRows',
  'axes',
  'normKind',
  'normWeight',
  'normHeads',
  'normEpsilon',
  'normAfter',
] as const;
export type RawAppend = Readonly<Record<(typeof appendFields)[number], number | boolean>>;

type Status = number;

export interface RawModule {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
  readonly HEAPF32: Float32Array;
  readonly HEAPF64: Float64Array;
  abiVersion(): number;
  /** Whether it was compiled with relaxed instructions. */
  fuses(): boolean;
  allocate(bytes: number): number;
  release(address: number, bytes: number): void;
  /** Address of a block that is always there, or 0 if it has fewer bytes. */
  sharedBlock(bytes: number): number;
  liveBytes(): number;
  liveBlocks(): number;
  /** Address of the block, whose numbers belong to whoever wrote them last. */
  passed(): number;
  /** Writes why the last call failed into the block. */
  failure(): void;
  optionsClear(): void;
  /** These answer false when there are more names than any encoding has. */
  optionsNumber(name: number, length: number, value: number): boolean;
  optionsFlag(name: number, length: number, value: boolean): boolean;
  optionsText(name: number, length: number, text: number, textLength: number): boolean;
  optionsList(name: number, length: number, data: number, count: number): boolean;
  optionsTable(
    name: number,
    length: number,
    data: number,
    rank: number,
    d0: number,
    d1: number,
    d2: number,
  ): boolean;
  createEncoding(id: number, length: number): number;
  destroyEncoding(handle: number): void;
  embedWidth(handle: number): number;
  /** `from` is copied to `x` once nothing can fail any more; 0 starts from zeros. */
  embed(
    handle: number,
    x: number,
    from: number,
    batch: number,
    heads: number,
    rows: number,
    width: number,
    positions: number,
    positionRows: number,
    axes: number,
  ): Status;
  /** `tables` has an address for each option that the encoding learns, or 0. */
  embedBackward(
    handle: number,
    gradient: number,
    batch: number,
    heads: number,
    rows: number,
    width: number,
    positions: number,
    positionRows: number,
    axes: number,
    tables: number,
  ): Status;
  rotate(
    handle: number,
    x: number,
    from: number,
    batch: number,
    heads: number,
    rows: number,
    width: number,
    positions: number,
    positionRows: number,
    axes: number,
    role: number,
    length: number,
    inverse: boolean,
  ): Status;
  /** By how many channels a rotation makes rows wider; then `x` has rows of that width. */
  rotationGrowth(handle: number): number;
  planPairs(handle: number): number;
  plan(handle: number, length: number, out: number): Status;
  biasHeads(handle: number): number;
  bias(
    handle: number,
    queryPositions: number,
    queries: number,
    keyPositions: number,
    keys: number,
    axes: number,
    out: number,
  ): Status;
  distances(
    handle: number,
    queryPositions: number,
    queries: number,
    keyPositions: number,
    keys: number,
    out: number,
  ): Status;
  /** Of the block. */
  attention(): Status;
  /** Of the block; `out` and `logSumExp` are read; gradients at 0 are not wanted, and all others start from zeros. */
  attentionBackward(
    gradient: number,
    dq: number,
    dk: number,
    dv: number,
    dSinks: number,
    dQNorm: number,
    dKNorm: number,
    dMask: number,
    tables: number,
    tableCount: number,
  ): Status;
  /** Of the block. A handle, or 0 for a failure. */
  createCache(): number;
  destroyCache(handle: number): void;
  forkCache(handle: number): number;
  /** Of the block. */
  appendToCache(handle: number): Status;
  cacheLength(handle: number): number;
  cacheStored(handle: number): number;
  /** Another number after every change. */
  cacheChanges(handle: number): number;
  truncateCache(handle: number, length: number): Status;
  resetCache(handle: number): void;
  cacheByteSize(handle: number): number;
  cacheToBytes(handle: number, out: number): void;
  cacheFromBytes(handle: number, bytes: number, size: number): Status;
  /** `parts` holds two addresses each: an output, whose layout is that of `out`, and its logSumExp. */
  merge(
    parts: number,
    count: number,
    sinks: number,
    out: number,
    logSumExp: number,
    batch: number,
    heads: number,
    queries: number,
    width: number,
    layout: number,
  ): Status;
}

export type InstantiateWasm = (
  imports: WebAssembly.Imports,
  done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
) => WebAssembly.Exports;

export type RawFactory = (host: { instantiateWasm: InstantiateWasm }) => Promise<RawModule>;
