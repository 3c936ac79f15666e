// SPDX-License-Identifier: Apache-2.0
/// The order in which encodings change the scores, whatever order they were given in: terms that
/// depend on q and k belong to the scaled product and come before the soft cap, running sums over
/// keys last among them, since those look at the scores; biases of positions alone are added after
/// the cap, and what multiplies scores by something of positions comes before those.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "posenc/attention/arguments.hpp"
#include "posenc/core/arena.hpp"

namespace posenc {

class SiteOrder {
 public:
  struct Entry {
    const Encoding* encoding = nullptr;
    Index carry_at = 0;  ///< where its part of a row's carry begins
    KeptBlocks kept{};
  };

  explicit SiteOrder(std::span<const Encoding* const> encodings) {
    const auto take_all = [&](int rank) {
      for (const Encoding* e : encodings)
        if (e->traits().sites.score && rank_of(*e) == rank && count_ < entries_.size()) take(e);
    };
    take_all(0);
    take_all(1);
    content_ = count_;
    take_all(2);
    take_all(3);
  }

  void carve(Arena& arena, const AttentionShape& s) {
    for (std::size_t i = 0; i < count_; ++i) {
      const BlockRoom room = entries_[i].encoding->kept_blocks(s.queries, s.keys);
      entries_[i].kept = {arena.take<BlockTag>(room.count),
                          arena.take<float>(room.count, room.depth * distances_in_block), room};
    }
  }
  /// Before a call: the memory may hold what another left.
  void forget() const {
    for (const Entry& e : all()) std::fill_n(e.kept.tags, e.kept.room.count, BlockTag{});
  }

  std::span<const Entry> all() const { return {entries_.data(), count_}; }
  std::span<const Entry> of_content() const { return all().first(content_); }
  std::span<const Entry> of_position() const { return all().subspan(content_); }
  Index carry_width() const { return carry_width_; }
  /// Whether tiles must come from the newest keys to the oldest.
  bool newest_first() const { return newest_first_; }

 private:
  static int rank_of(const Encoding& e) {
    const Traits& t = e.traits();
    if (t.cumulative) return 1;
    return !t.content_free ? 0 : e.needs_scores() ? 2 : 3;
  }
  void take(const Encoding* e) {
    entries_[count_++] = {e, carry_width_};
    carry_width_ += e->carry_width();
    newest_first_ = newest_first_ || e->traits().cumulative;
  }

  std::array<Entry, AttentionArguments::max_encodings> entries_{};
  std::size_t count_ = 0, content_ = 0;
  Index carry_width_ = 0;
  bool newest_first_ = false;
};

}  // namespace posenc
