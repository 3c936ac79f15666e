// SPDX-License-Identifier: Apache-2.0
/// Which keys a query may see. Rules that select an interval decide which tiles are computed at
/// all; masks select single keys inside it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "posenc/attention/arguments.hpp"

namespace posenc {

/// Keys first .. last - 1.
struct KeyRange {
  Index first = 0, last = 0;
  constexpr bool empty() const { return first >= last; }
};

class Visibility {
 public:
  explicit Visibility(const AttentionArguments& a)
      : keys_(a.shape.keys), first_query_(a.first_query()), causal_(a.causal), mask_(a.mask) {}

  /// The interval of keys that query t may see, before masks.
  KeyRange range(Index t) const {
    if (!causal_) return {0, keys_};
    // In 64 bits, since an offset near 2^31 would overflow where Index has 32.
    const std::int64_t last = std::int64_t{first_query_} + t + 1;
    return {0, static_cast<Index>(std::clamp<std::int64_t>(last, 0, keys_))};
  }

  bool visible(Index b, Index h, Index t, Index j) const {
    const KeyRange r = range(t);
    if (j < r.first || j >= r.last) return false;
    const Index at = mask_.offset(b, h, t, j);
    if (mask_.allowed != nullptr) return mask_.allowed[at] != 0;
    if (mask_.bias != nullptr) return mask_.bias[at] != -std::numeric_limits<float>::infinity();
    return true;
  }

  /// Applies the mask to the scores of keys first .. first + n - 1, by selection: a NaN score under
  /// a hidden key becomes -infinity too.
  void apply_mask(Index b, Index h, Index t, Index first, float* scores, Index n) const {
    constexpr float hidden = -std::numeric_limits<float>::infinity();
    const Index start = mask_.offset(b, h, t, first);
    if (mask_.allowed != nullptr) {
      const std::uint8_t* allowed = mask_.allowed + start;
      for (Index j = 0; j < n; ++j) scores[j] = allowed[j * mask_.column] != 0 ? scores[j] : hidden;
    } else if (mask_.bias != nullptr) {
      const float* bias = mask_.bias + start;
      for (Index j = 0; j < n; ++j) {
        const float add = bias[j * mask_.column];
        scores[j] = add == hidden ? hidden : scores[j] + add;
      }
    }
  }
  bool has_mask() const { return mask_.present(); }

  /// Only the selecting part of the mask, for keys first .. first + n - 1.
  void hide_masked(Index b, Index h, Index t, Index first, float* scores, Index n) const {
    if (!has_mask()) return;
    for (Index j = 0; j < n; ++j)
      if (!visible(b, h, t, first + j)) scores[j] = -std::numeric_limits<float>::infinity();
  }

 private:
  Index keys_, first_query_;
  bool causal_;
  MaskView mask_;
};

}  // namespace posenc
