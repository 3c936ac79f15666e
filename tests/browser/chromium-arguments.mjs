// SPDX-License-Identifier: Apache-2.0
// How every suite starts Chromium: as root, without a screen, and without a word to the network.
export const chromiumArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
