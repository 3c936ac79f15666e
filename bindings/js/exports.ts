// SPDX-License-Identifier: Apache-2.0
/** What every entry exports beside `load`; nothing here needs an instance. */

export type { AttentionOptions, AttentionResult } from './attention.js';
export type {
  EmbedMethods,
  EmbedOptions,
  Encoding,
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
  version,
} from './encodings.gen.js';
export { PosencError, type PosencErrorCode, type PosencErrorKind } from './errors.js';
export type { LoadOptions } from './load.js';
export type { EncodingInfo, Extent, FieldInfo, Site, TableInfo } from './manifest.js';
export type { Info, MemoryUse, Posenc } from './posenc.js';
export type {
  AxisPositions,
  MaskInput,
  OwnedTensor,
  Positions,
  Tensor,
  TensorInput,
} from './types.js';
