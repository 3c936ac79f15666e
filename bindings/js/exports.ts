// SPDX-License-Identifier: Apache-2.0
/** What every entry exports beside `load`; nothing here needs an instance. */

export type {
  AttentionGradients,
  BackwardOptions,
  EncodingGradients,
} from './attention-backward.js';
export type {
  AttentionOptions,
  AttentionResult,
  HeadNorm,
  QueryScale,
  Window,
} from './attention-options.js';
export { fromTotal } from './attention-rules.js';
export type { AppendOptions, KVCache } from './cache.js';
export type { CacheOptions } from './cache-options.js';
export { type Explained, explain, type KindExplained } from './config/explain.js';
export { frequenciesOf } from './config/frequencies.js';
export { fromConfig } from './config/from-config.js';
export { fromGGUF, type NamedTensors } from './config/from-gguf.js';
export type {
  ConfigOptions,
  ConfigWarning,
  LayerEncoding,
  LayerKind,
  ModelAttention,
  ModelPositions,
  Need,
  Parameter,
  Provenance,
} from './config/types.js';
export type {
  EmbedMethods,
  EmbedOptions,
  Encoding,
  RemapMethods,
  ResultOptions,
  RotateMethods,
  RotateOptions,
  RotationPlan,
  ScoreMethods,
} from './encoding.js';
export {
  type ContentFreeId,
  type EncodingId,
  type EncodingOptions,
  type EncodingSites,
  encodings,
  type RemappingId,
  version,
} from './encodings.gen.js';
export { PosencError, type PosencErrorCode, type PosencErrorKind } from './errors.js';
export { type GGUFHeader, type GGUFTensorInfo, readGGUFHeader } from './gguf-header.js';
export type { LoadOptions } from './load.js';
export type { EncodingInfo, Extent, FieldInfo, Site, TableInfo } from './manifest.js';
export type { MergeOptions, PartialAttention } from './merge.js';
export {
  type MropeAxis,
  type MropePositions,
  type MropePositionsOptions,
  mropePositions,
  type TokenRows,
} from './mrope-positions.js';
export type { Info, MemoryUse, Posenc } from './posenc.js';
export {
  learnedTable,
  readSafetensors,
  type SafetensorsOptions,
  type SafetensorsView,
} from './safetensors.js';
export type {
  AxisPositions,
  MaskInput,
  OwnedTensor,
  Positions,
  Tensor,
  TensorInput,
} from './types.js';
