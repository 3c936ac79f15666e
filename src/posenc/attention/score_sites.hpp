// SPDX-License-Identifier: Apache-2.0
/// The order in which encodings change the scores, whatever order they were given in: terms that
/// depend on q and k belong to the scaled product and come before the soft cap, running sums over
/// keys last among them, since those look at the scores; biases of positions alone are added after
/// the cap.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "posenc/attention/arguments.hpp"

namespace posenc {

class SiteOrder {
 public:
  struct Entry {
    const Encoding* encoding = nullptr;
    Index carry_at = 0;  ///< where its part of a row's carry begins
  };

  explicit SiteOrder(std::span<const Encoding* const> encodings) {
    take(encodings, [](const Traits& t) { return !t.content_free && !t.cumulative; });
    take(encodings, [](const Traits& t) { return t.cumulative; });
    content_ = count_;
    take(encodings, [](const Traits& t) { return t.content_free && !t.cumulative; });
  }

  std::span<const Entry> all() const { return {entries_.data(), count_}; }
  std::span<const Entry> of_content() const { return all().first(content_); }
  std::span<const Entry> of_position() const { return all().subspan(content_); }
  Index carry_width() const { return carry_width_; }
  /// Whether tiles must come from the newest keys to the oldest.
  bool newest_first() const { return newest_first_; }

 private:
  template <class Is>
  void take(std::span<const Encoding* const> encodings, Is&& is) {
    for (const Encoding* e : encodings) {
      if (!e->traits().sites.score || !is(e->traits()) || count_ == entries_.size()) continue;
      entries_[count_++] = {e, carry_width_};
      carry_width_ += e->carry_width();
      newest_first_ = newest_first_ || e->traits().cumulative;
    }
  }

  std::array<Entry, AttentionArguments::max_encodings> entries_{};
  std::size_t count_ = 0, content_ = 0;
  Index carry_width_ = 0;
  bool newest_first_ = false;
};

}  // namespace posenc
