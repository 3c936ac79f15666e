// SPDX-License-Identifier: Apache-2.0
/// Which keys a query may see. Rules that select intervals decide which tiles are computed at all;
/// masks select single keys inside them.
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

/// Keys 0 .. head - 1, then a gap of hidden ones, then those of `main`; without a gap `head` is 0.
struct SeenKeys {
  Index head = 0;
  KeyRange main{};
  constexpr KeyRange hull() const { return {head > 0 ? 0 : main.first, main.last}; }
  constexpr bool meets(Index first, Index last) const {
    return first < head || (main.first < last && first < main.last);
  }
};

/// How many places of its chunk come before a place, which may be negative.
constexpr std::int64_t place_in_chunk(std::int64_t place, std::int64_t chunk) {
  return (place % chunk + chunk) % chunk;
}

class Visibility {
 public:
  explicit Visibility(const AttentionArguments& a)
      : keys_(a.shape.keys),
        first_query_(a.first_query()),
        gap_(a.key_gap),
        left_(reach(a.window.left)),
        right_(a.causal ? 0 : reach(a.window.right)),
        first_(a.window.first),
        chunk_(a.window.chunk),
        prefix_(a.prefix),
        causal_(a.causal),
        mask_(a.mask) {}

  /// The keys that query t may see, before masks.
  SeenKeys seen(Index t) const {
    // In 64 bits, since an offset near 2^31 would overflow where Index has 32.
    const std::int64_t place = std::int64_t{first_query_} + t;
    KeyRange near{left_ == unlimited ? 0 : index_of(place - left_),
                  right_ == unlimited ? keys_ : index_of(place + right_ + 1)};
    if (chunk_ > 0) {
      const std::int64_t start = place - place_in_chunk(place, chunk_);
      near = {std::max(near.first, index_of(start)), std::min(near.last, index_of(start + chunk_))};
    }
    const std::int64_t kept = causal_ ? std::min<std::int64_t>(first_, place + 1) : first_;
    const Index head = index_of(std::max<std::int64_t>(kept, prefix_));
    if (near.empty()) return {0, {0, head}};
    if (head >= near.first) return {0, {0, std::max(head, near.last)}};
    return {head, near};
  }
  /// Whether some query may have a gap in what it sees.
  bool has_gaps() const {
    return (left_ != unlimited || chunk_ > 0) && (first_ > 0 || prefix_ > 0);
  }

  bool visible(Index b, Index h, Index t, Index j) const {
    return seen(t).meets(j, j + 1) && unmasked(mask_.offset(b, h, t, j));
  }

  /// Applies the mask to the scores of keys first .. first + n - 1, by selection: a NaN score under
  /// a hidden key becomes -infinity too.
  void apply_mask(Index b, Index h, Index t, Index first, float* scores, Index n) const {
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
      if (!unmasked(mask_.offset(b, h, t, first + j))) scores[j] = hidden;
  }

  /// Whether the mask leaves any of the keys first .. first + n - 1 to query t.
  bool mask_leaves_some(Index b, Index h, Index t, Index first, Index n) const {
    for (Index j = 0; j < n; ++j)
      if (unmasked(mask_.offset(b, h, t, first + j))) return true;
    return false;
  }
  /// Whether all rows of the mask are the same.
  bool mask_ignores_query() const { return mask_.row == 0; }

 private:
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  static constexpr float hidden = -std::numeric_limits<float>::infinity();

  /// Not value_or, which would make an Index of it: -1 where that has 32 bits.
  static std::int64_t reach(const std::optional<Index>& given) {
    return given ? std::int64_t{*given} : unlimited;
  }

  bool unmasked(Index at) const {
    if (mask_.allowed != nullptr) return mask_.allowed[at] != 0;
    return mask_.bias == nullptr || mask_.bias[at] != hidden;
  }
  /// How many keys stand before a place.
  Index index_of(std::int64_t place) const {
    const std::int64_t at = gap_.at, by = gap_.by;
    const std::int64_t index = place <= at ? place : std::max(at, place - by);
    return static_cast<Index>(std::clamp<std::int64_t>(index, 0, keys_));
  }

  Index keys_, first_query_;
  KeyGap gap_;
  std::int64_t left_, right_, first_, chunk_, prefix_;
  bool causal_;
  MaskView mask_;
};

}  // namespace posenc
