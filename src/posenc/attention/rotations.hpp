// SPDX-License-Identifier: Apache-2.0
/// The rotating encodings of one attention call: their tables of cosines and sines for all queries
/// and keys of a sequence, and, for distance remaps, which copy a pair of positions asks for.
#pragma once

#include <array>
#include <limits>
#include <span>

#include "posenc/attention/placement.hpp"

namespace posenc {

template <class Arch>
class Rotations {
 public:
  /// Dual chunk attention has the most: same chunk, next chunk, farther chunks.
  static constexpr Index max_copies = 3;

  explicit Rotations(const AttentionArguments& a)
      : shape_(a.shape), width_(a.shape.head_dim), keys_rotated_(a.keys_rotated) {
    for (const Encoding* e : a.encodings) {
      if (!e->traits().sites.rotate) continue;
      entries_[count_++] = {e, e->rotation(), {}, {}};
      width_ += entries_[count_ - 1].rotation.growth();
      if (e->copies() > 1) remap_ = e;
      per_head_ = per_head_ || e->table_heads() > 1;
    }
  }

  /// Whether keys must be rotated: not where a cache holds them so.
  bool turns_keys() const { return count_ > 0 && !keys_rotated_; }
  /// Of a rotated row.
  Index width() const { return width_; }
  /// Whether tables must be filled anew for each key head.
  bool per_head() const { return per_head_; }
  Index copies() const { return remap_ ? remap_->copies() : 1; }
  Index key_copies() const { return remap_ ? remap_->key_copies() : 1; }
  Index key_copy(Index copy) const { return std::min(copy, key_copies() - 1); }

  void carve(Arena& arena) {
    Index pairs = 0;
    for (Entry& e : entries()) {
      const Index width = e.rotation.table_width();
      for (Index c = 0; c < e.encoding->copies(); ++c)
        e.queries[at(c)] = rows(arena, shape_.queries, width);
      for (Index c = 0; turns_keys() && c < e.encoding->key_copies(); ++c)
        e.keys[at(c)] = rows(arena, shape_.keys, width);
      pairs = std::max(pairs, e.rotation.pairs);
    }
    frequencies_ = arena.take<double>(pairs);
  }

  void fill(const Placement& placement, Index head) {
    const double length = placement.length();
    for (Entry& e : entries()) {
      const auto fill_one = [&](View2<float> out, const Positions& positions, Role role,
                                Index copy) {
        e.encoding->angles({.out = out,
                            .positions = placement.seen_by(*e.encoding, positions),
                            .role = role,
                            .length = length,
                            .copy = copy,
                            .head = head,
                            .scratch = frequencies_});
      };
      for (Index c = 0; c < e.encoding->copies(); ++c)
        fill_one(e.queries[at(c)], placement.queries, Role::query, c);
      for (Index c = 0; turns_keys() && c < e.encoding->key_copies(); ++c)
        fill_one(e.keys[at(c)], placement.keys, Role::key, c);
    }
  }

  /// Rotates rows that belong to the tokens from `first` on, in place.
  void rotate_queries(View2<float> rows, Index first, Index copy) const {
    for (const Entry& e : entries()) turn(e, Role::query, rows, first, copy, false);
  }
  /// From rows as they came to where they are wanted.
  void rotate_keys(View2<const float> from, View2<float> to, Index first, Index key_copy) const {
    for (const Entry& e : entries()) {
      rotate_rows<Arch>(e.rotation, from, to, tables_of(e, Role::key, first, to.rows, key_copy),
                        false);
      from = to;
    }
  }

  /// The one copy that every pair of the tile asks for, or -1: copies rise with the query and fall
  /// with the key, so the two extreme pairs decide.
  Index copy_of(const Positions& queries, const Positions& keys) const {
    if (remap_ == nullptr || queries.count == 0 || keys.count == 0) return 0;
    const auto [first_query, last_query] = extremes(queries);
    const auto [first_key, last_key] = extremes(keys);
    const std::uint8_t lowest = choose(first_query, last_key),
                       highest = choose(last_query, first_key);
    return lowest == highest ? lowest : -1;
  }
  void choose_row(double query, const Positions& keys, std::uint8_t* copy) const {
    remap_->choose(query, keys, copy);
  }

  /// Back through rotate_queries or rotate_keys: turns the gradient of the rotated rows of one copy
  /// into that of `given`. Angles that are learned get theirs through `learn(encoding, rows)`, with
  /// the rows as they left their encoding; `room` holds as many.
  template <class Learn>
  POSENC_COLD void rotate_back(Role role, View2<const float> given, View2<float> gradient,
                               Index first, Index copy, View2<float> room, Learn&& learn) const {
    for (std::size_t i = count_; i-- > 0;) {
      if (entries_[i].encoding->learns_angles()) {
        for (Index t = 0; t < given.rows; ++t) std::copy_n(given.row(t), given.cols, room.row(t));
        for (std::size_t before = 0; before <= i; ++before)
          turn(entries_[before], role, room, first, copy, false);
        learn(*entries_[i].encoding, room);
      }
      if (entries_[i].rotation.polar)
        rotate_polar_back(entries_[i].rotation, given, gradient,
                          tables_of(entries_[i], role, first, given.rows, copy));
      else
        turn(entries_[i], role, gradient, first, copy, true);
    }
  }

 private:
  struct Entry {
    const Encoding* encoding = nullptr;
    Rotation rotation{};
    std::array<View2<float>, max_copies> queries{}, keys{};
  };
  void turn(const Entry& e, Role role, View2<float> rows, Index first, Index copy,
            bool back) const {
    rotate_rows<Arch>(e.rotation, rows, tables_of(e, role, first, rows.rows, copy), back);
  }
  View2<const float> tables_of(const Entry& e, Role role, Index first, Index count,
                               Index copy) const {
    const auto& tables = role == Role::query ? e.queries : e.keys;
    return tables[at(e.encoding == remap_ ? copy : 0)].slice(first, count);
  }
  static constexpr std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  static View2<float> rows(Arena& arena, Index count, Index width) {
    return {arena.take<float>(count, width), count, width, width};
  }
  static std::pair<double, double> extremes(const Positions& p) {
    if (p.consecutive) return {p[0], p[p.count - 1]};
    const auto [least, greatest] = std::minmax_element(p.data, p.data + p.count);
    return {*least, *greatest};
  }
  std::uint8_t choose(double query, double key) const {
    std::uint8_t copy = 0;
    remap_->choose(query, Positions::of(&key, 1), &copy);
    return copy;
  }
  std::span<Entry> entries() { return {entries_.data(), count_}; }
  std::span<const Entry> entries() const { return {entries_.data(), count_}; }

  AttentionShape shape_;
  Index width_;
  bool keys_rotated_;
  std::array<Entry, AttentionArguments::max_encodings> entries_{};
  std::size_t count_ = 0;
  const Encoding* remap_ = nullptr;
  bool per_head_ = false;
  double* frequencies_ = nullptr;
};

}  // namespace posenc
