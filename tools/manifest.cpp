// SPDX-License-Identifier: Apache-2.0
// Prints the manifest as JSON. A native tool and not a function of the module: number formatting
// alone would add 120 KB to the WebAssembly.
#include <iostream>

#include "posenc/encodings/manifest.hpp"

int main() { std::cout << posenc::manifest() << '\n'; }
