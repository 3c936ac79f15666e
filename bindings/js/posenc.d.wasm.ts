// SPDX-License-Identifier: Apache-2.0
declare const module: WebAssembly.Module;
export default module;
