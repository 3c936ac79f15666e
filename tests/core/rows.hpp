// SPDX-License-Identifier: Apache-2.0
/// What tests of whole tensors turned or added to share.
#pragma once

#include "posenc/encodings/make_encoding.hpp"
#include "reference/numbers.hpp"

namespace reference {

inline posenc::Encoding rope(int head_dim) {
  posenc::OptionBag bag;
  bag.number("headDim", head_dim);
  return std::move(*posenc::make_encoding("rope", bag));
}

inline Array<float> part(const Array<float>& x, Index first, Index count) {
  Array<float> made(count);
  for (Index i = 0; i < count; ++i) made[i] = x[first + i];
  return made;
}

}  // namespace reference
