// SPDX-License-Identifier: Apache-2.0
/** Written by build.mjs: posenc.wasm as base64. */
export declare const base64: string;
