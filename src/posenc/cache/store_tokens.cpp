// SPDX-License-Identifier: Apache-2.0
// New tokens: whether they can be taken, and into the slots with them.
#include <cmath>
#include <limits>

#include "posenc/attention/placement.hpp"
#include "posenc/cache/kv_cache.hpp"
#include "posenc/cache/store_rows.hpp"

namespace posenc {
namespace {

/// What an encoding of one axis sees of tokens that have several.
Positions seen_by(const Encoding& e, Positions p) {
  if (e.traits().axes == 1) p.axes = 1;
  return p;
}

}  // namespace

Status KVCache::check_room(Index count) const {
  if (count < 0) return wrong_number(Errc::bad_shape, "append", "at least 0 tokens", count);
  constexpr Index most = std::numeric_limits<std::int32_t>::max() / 2;
  if (is_ring() ? count > most - length_ : count > o_.capacity - length_)
    return outside(Errc::cache_full, "append", "at most as many tokens as there is room for",
                   static_cast<double>(count), 0,
                   static_cast<double>(is_ring() ? most - length_ : o_.capacity - length_));
  return {};
}

Status KVCache::check_new(const NewTokens& t, Index first) const {
  if (t.positions.data != nullptr) {
    if (o_.own_positions)
      return fault(Errc::option_not_applicable, "positions",
                   "left out, since tokens stand where they are in the cache");
    if (t.positions.rows != 1 && t.positions.rows != o_.batch)
      return wrong_number(Errc::shape_mismatch, "positions", "one set, or one for each sequence",
                          t.positions.rows);
    if (t.axes != axes_)
      return wrong_number(Errc::shape_mismatch, "positions", "as many axes as the encoding has",
                          t.axes);
  }
  for (const Encoding* e : encodings()) {
    if (!acts_in_attention(*e)) continue;
    if (t.positions.data == nullptr) {
      if (t.count > 0 && e->traits().axes > 1 && !e->traits().text_axes)
        return fault(Errc::missing_option, "positions", "given, one list for each axis");
      // Encodings that are not defined everywhere are so on an interval, or at whole numbers.
      if (t.count == 0 || o_.own_positions) continue;
      const double ends[2] = {static_cast<double>(first), static_cast<double>(first + t.count - 1)};
      Positions both{ends, 2, e->traits().axes, 0, false};
      if (Status s = e->accepts(both); !s) return s.at("positions", 0);
      continue;
    }
    for (Index b = 0; b < t.positions.rows; ++b) {
      const double* data = t.positions.data + b * t.axes * t.count;
      if (Status s = e->accepts(seen_by(*e, Positions::of(data, t.count, t.axes))); !s)
        return s.at("positions", b * t.count);
    }
  }
  return check_norm(t.k_norm, "kNorm", o_.heads, encodings());
}

Status KVCache::own_slots(Index first, Index last) {
  Index owned = -1;
  for (Index token = std::max(first, last - slots_); token < last; ++token) {
    const Index page = slot(token) / layout_.rows;
    if (page == owned) continue;
    if (Status s = pages_.own(page); !s) return s;
    owned = page;
  }
  return {};
}

Status KVCache::make_scratch(Index count, Scratch& scratch) const {
  const Index rows = std::min(count, staged_tokens);
  Index table_width = 0, pairs = 0;
  for (const Encoding* e : encodings()) {
    table_width = std::max(table_width, e->rotation().table_width());
    pairs = std::max(pairs, e->rotation().pairs);
  }
  const auto carve = [&] {
    scratch.table = scratch.arena.take<float>(rotated_ ? rows : 0, table_width);
    scratch.staged = scratch.arena.take<float>(rows, o_.head_dim);
    scratch.frequencies = scratch.arena.take<double>(pairs);
    scratch.places = scratch.arena.take<double>(rows);
  };
  carve();
  if (Status s = scratch.arena.commit(); !s) return s;
  carve();
  return {};
}

/// Calls `f(b, g, i, key)` for each of the new tokens from .. to - 1, counted among the new, with the key as
/// it is kept: normalised and, where that is how keys are kept, rotated.
template <class F>
void KVCache::for_each_key(const NewTokens& t, Index from, Index to, const Scratch& scratch,
                           F&& f) const {
  // At the width of the baseline, whichever kernels attend: a token is turned once, and read for ever after.
  using Arch = xsimd::default_arch;
  constexpr Index block = staged_tokens;
  for (Index b = 0; b < o_.batch; ++b)
    for (Index i = from; i < to; i += block) {
      const Index n = std::min(block, to - i);
      Positions at{scratch.places, n, axes_, 0, true};
      if (t.positions.data != nullptr) {
        const double* data = t.positions.data + (t.positions.rows > 1 ? b * t.axes * t.count : 0);
        at = Positions{data + i, n, axes_, t.count, false};
      } else {
        for (Index j = 0; j < n; ++j) scratch.places[j] = static_cast<double>(length_ + i + j);
      }
      for (Index g = 0; g < o_.heads; ++g) {
        const View2<float> rows{scratch.staged, n, o_.head_dim, o_.head_dim};
        for (Index j = 0; j < n; ++j) {
          std::copy_n(t.k.at(b, g, i + j), o_.head_dim, rows.row(j));
          if (t.k_norm.before()) t.k_norm.apply(rows.row(j), o_.head_dim, g);
        }
        if (rotated_)
          for (const Encoding* e : encodings()) {
            if (!e->traits().sites.rotate) continue;
            const Rotation r = e->rotation();
            const View2<float> angles{scratch.table, n, r.table_width(), r.table_width()};
            if (g == 0 || o_.encoding_count > 1 || e->table_heads() > 1)
              e->angles({.out = angles,
                         .positions = seen_by(*e, at),
                         .role = Role::key,
                         .head = g,
                         .scratch = scratch.frequencies});
            rotate_rows<Arch>(r, rows, angles, false);
          }
        for (Index j = 0; j < n; ++j) {
          if (rotated_ && t.k_norm.after()) t.k_norm.apply(rows.row(j), o_.head_dim, g);
          f(b, g, i + j, rows.row(j));
        }
      }
    }
}

/// What halves and bytes cannot hold is refused before it becomes something else: a finite number that
/// a half rounds to infinity, and a row that has no scale.
Status KVCache::check_storable(const NewTokens& t, const Scratch& scratch, const char* k,
                               const char* v) const {
  Status found;
  if (o_.dtype == Dtype::f32) return found;
  const bool half = o_.dtype == Dtype::f16;
  const auto look = [&](const float* row, Index width, std::ptrdiff_t at, const char* field) {
    for (Index c = 0; c < width && found; ++c) {
      // Halves end at 65504; from 65520 on, the next would be nearer.
      const bool bad =
          half ? std::isfinite(row[c]) && std::abs(row[c]) >= 65520.0f : !std::isfinite(row[c]);
      if (bad)
        found = outside(half ? Errc::out_of_range : Errc::not_finite, field,
                        half ? "from -65504 to 65504, the range of f16, where it is kept"
                             : "finite for a row of bytes with one scale",
                        row[c], -65504, 65504, static_cast<double>(at + c));
    }
  };
  for_each_key(t, 0, t.count, scratch, [&](Index b, Index g, Index i, const float* key) {
    look(key, o_.head_dim, t.k.at(b, g, i) - t.k.data, k);
    look(t.v.at(b, g, i), o_.value_dim, t.v.at(b, g, i) - t.v.data, v);
  });
  return found;
}

/// Writes the new tokens from .. to - 1.
void KVCache::write(const NewTokens& t, Index from, Index to, const Destination& where,
                    const Scratch& scratch) {
  for_each_key(t, from, to, scratch, [&](Index b, Index g, Index i, const float* key) {
    const Index to_slot = where.own != nullptr ? i - where.first : slot(length_ + i);
    const Pages& pages = where.own != nullptr ? *where.own : pages_;
    std::byte* page = pages[to_slot / layout_.rows];
    const Index row = (b * o_.heads + g) * layout_.rows + to_slot % layout_.rows;
    store_row(o_.dtype, key, o_.head_dim, page + layout_.keys(),
              reinterpret_cast<float*>(page + layout_.key_scales()), row);
    store_row(o_.dtype, t.v.at(b, g, i), o_.value_dim, page + layout_.values(),
              reinterpret_cast<float*>(page + layout_.value_scales()), row);
  });
}

/// Positions of the new tokens from .. to - 1 that the cache keeps.
void KVCache::note_positions(const NewTokens& t, Index from, Index to) {
  for (Index b = 0; b < o_.batch; ++b)
    for (Index axis = 0; axis < axes_; ++axis)
      for (Index i = from; i < to; ++i) {
        double at = static_cast<double>(length_ + i);
        if (t.positions.data != nullptr) {
          at = t.positions.data[((t.positions.rows > 1 ? b * axes_ : 0) + axis) * t.count + i];
          counted_ = counted_ && at == static_cast<double>(length_ + i);
        }
        positions_[static_cast<std::size_t>((b * axes_ + axis) * slots_ + slot(length_ + i))] = at;
      }
  shared_ = shared_ && t.positions.rows == 1;
}

/// The tokens are in their slots, all but those before `from` that no later call will see.
void KVCache::commit(const NewTokens& t, Index from) {
  if (length_ == 0) counted_ = shared_ = true;
  note_positions(t, 0, std::clamp<Index>(o_.sinks - length_, 0, std::min(from, t.count)));
  note_positions(t, from, t.count);
  const Index gone = length_ + t.count - ring();
  if (is_ring() && gone > o_.sinks) overwritten_ = std::max(overwritten_, gone);
  if (is_ring() && from > 0 && length_ + from > o_.sinks)
    overwritten_ = std::max(overwritten_, length_ + from);
  length_ += t.count;
  ++changes_;
}

Status KVCache::append(const NewTokens& t) {
  if (Status s = check_room(t.count); !s) return s;
  if (Status s = check_new(t, length_); !s) return s;
  Scratch scratch;
  if (Status s = make_scratch(t.count, scratch); !s) return s;
  if (Status s = check_storable(t, scratch, "k", "v"); !s) return s;
  const Index from = is_ring() ? std::max<Index>(0, t.count - o_.window) : 0;
  const Index kept = std::clamp<Index>(o_.sinks - length_, 0, from);
  if (Status s = own_slots(length_, length_ + kept); !s) return s;
  if (Status s = own_slots(length_ + from, length_ + t.count); !s) return s;
  write(t, 0, kept, {}, scratch);
  write(t, from, t.count, {}, scratch);
  commit(t, from);
  return {};
}

}  // namespace posenc
