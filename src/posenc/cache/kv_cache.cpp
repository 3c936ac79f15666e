// SPDX-License-Identifier: Apache-2.0
#include "posenc/cache/kv_cache.hpp"

#include <limits>

#include "posenc/attention/placement.hpp"
#include "posenc/cache/store_rows.hpp"
#include "posenc/core/arena.hpp"

namespace posenc {
namespace {

/// 64 tokens of 8 heads of 128 floats, keys and values, are a page of 512 KB; a small cache has a
/// smaller one.
constexpr Index page_tokens = 64;
/// What a page has beside its rows: its header, and four blocks that begin at a multiple of 64 bytes.
constexpr std::int64_t page_extra = 5 * PageLayout::header;

Error wrong(Errc code, std::string_view field, std::string_view expected, Index received) {
  return {.code = code,
          .field = field,
          .expected = expected,
          .received = static_cast<double>(received)};
}

/// What an encoding of one axis sees of tokens that have several.
Positions seen_by(const Encoding& e, Positions p) {
  if (e.traits().axes == 1) p.axes = 1;
  return p;
}

/// Whether keys that were rotated when they came stay right: the frequencies never change, there is
/// one copy of them, and nobody asks for them unrotated.
Result<bool> can_rotate_early(const CacheOptions& o) {
  bool rotates = false;
  for (Index i = 0; i < o.encoding_count; ++i) {
    const Encoding& e = *o.encodings[static_cast<std::size_t>(i)];
    const Traits& t = e.traits();
    if (t.sites.score && !t.content_free) return false;
    if (!t.sites.rotate) continue;
    if (e.copies() > 1 || e.rotation().growth() > 0) return false;
    auto frequencies = Buffer<double>::make(static_cast<std::size_t>(e.rotation().pairs));
    if (!frequencies) return frequencies.error();
    if (e.plan(1, frequencies->data()).length_policy != LengthPolicy::fixed) return false;
    rotates = true;
  }
  return rotates && !o.own_positions;
}

/// FNV-1a of the encodings' names, in order, and of the angles where stored keys are turned by them.
/// Frequencies count as float32: the last bits of float64 differ from one machine's `pow` to another's.
Result<std::int64_t> hash_of(std::span<const Encoding* const> encodings, bool rotated) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](const void* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  };
  for (const Encoding* e : encodings) {
    const std::string_view name = e->traits().id;
    add(name.data(), name.size());
    if (!rotated || !e->traits().sites.rotate) continue;
    auto frequencies = Buffer<double>::make(static_cast<std::size_t>(e->rotation().pairs));
    if (!frequencies) return frequencies.error();
    const auto factor = static_cast<float>(e->plan(1, frequencies->data()).attention_factor);
    add(&factor, sizeof factor);
    for (double frequency : std::span(frequencies->data(), frequencies->size())) {
      const auto rounded = static_cast<float>(frequency);
      add(&rounded, sizeof rounded);
    }
  }
  return static_cast<std::int64_t>(hash >> 1);
}

Status check_options(const CacheOptions& o) {
  for (const auto& [extent, field] :
       {std::pair{o.batch, "batch"}, {o.heads, "heads"}, {o.head_dim, "headDim"}})
    if (extent < 1) return wrong(Errc::out_of_range, field, "at least 1", extent);
  if (o.value_dim < 0) return wrong(Errc::out_of_range, "valueDim", "at least 0", o.value_dim);
  if (o.window < 0) return wrong(Errc::out_of_range, "window", "at least 1", o.window);
  if (o.window == 0 && o.capacity < 1)
    return wrong(Errc::out_of_range, "capacity", "at least 1", o.capacity);
  if (o.sinks < 0) return wrong(Errc::out_of_range, "sinks", "at least 0", o.sinks);
  for (const auto& [extent, field] : {std::pair{o.batch, "batch"},
                                      {o.heads, "heads"},
                                      {o.head_dim, "headDim"},
                                      {o.value_dim, "valueDim"},
                                      {o.capacity, "capacity"},
                                      {o.window, "window"},
                                      {o.sinks, "sinks"}})
    if (extent > std::numeric_limits<std::int32_t>::max())
      return wrong(Errc::too_large, field, "at most 2^31 - 1", extent);
  if (o.sinks > 0 && o.window == 0)
    return wrong(Errc::missing_option, "window", "given, since sinks are kept beside a ring", 0);
  if (o.own_positions && o.window == 0)
    return wrong(Errc::missing_option, "window", "given for positions within the cache", 0);
  for (Index i = 0; i < o.encoding_count; ++i) {
    const Encoding& e = *o.encodings[static_cast<std::size_t>(i)];
    if (e.head_dim() != 0 && e.head_dim() != o.head_dim)
      return wrong(Errc::shape_mismatch, "headDim", "what the encoding has", o.head_dim);
    if (o.own_positions && e.traits().axes > 1)
      return wrong(Errc::unsupported, "encoding", "of one axis for positions within the cache",
                   e.traits().axes);
  }
  return {};
}

}  // namespace

Result<KVCache> KVCache::make(const CacheOptions& options) {
  if (Status s = check_options(options); !s) return s.error();
  KVCache made;
  made.o_ = options;
  auto early = can_rotate_early(options);
  if (!early) return early.error();
  made.rotated_ = *early;
  auto hash = hash_of(made.encodings(), made.rotated_);
  if (!hash) return hash.error();
  made.encodings_hash_ = *hash;
  for (const Encoding* e : made.encodings())
    made.axes_ = std::max<Index>(made.axes_, e->traits().axes);

  // A ring has room for some tokens more than it shows, so that as many new ones can be written and
  // attended to before the oldest are given up, and some can be taken back.
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2;
  const std::int64_t tokens = options.window > 0 ? std::int64_t{options.sinks} + options.window
                                                 : std::int64_t{options.capacity};
  const Index rows = static_cast<Index>(std::min<std::int64_t>(page_tokens, tokens));
  const std::int64_t slots = (tokens + (options.window > 0 ? rows : 0) + rows - 1) / rows * rows;
  made.layout_ = {options.batch,     options.heads, options.head_dim,
                  options.value_dim, rows,          options.dtype};
  // In 64 bits: each of these fits 32, their product need not.
  const std::int64_t width =
      std::int64_t{options.head_dim} + options.value_dim + 2 * made.axes_ + 2;  // scales, positions
  std::int64_t size = 0;
  const bool fits = !__builtin_mul_overflow(std::int64_t{options.batch}, options.heads, &size) &&
                    !__builtin_mul_overflow(size, 4 * width, &size) &&
                    !__builtin_mul_overflow(size, slots, &size) &&
                    !__builtin_add_overflow(size, slots / rows * page_extra, &size) &&
                    size <= PTRDIFF_MAX;
  if (slots > most || !fits)
    return Error{.code = Errc::too_large,
                 .field = options.window > 0 ? "window" : "capacity",
                 .expected = "small enough for the address space",
                 .received = static_cast<double>(tokens)};
  made.slots_ = options.window > 0 ? static_cast<Index>(slots) : options.capacity;
  auto positions =
      Buffer<double>::make(static_cast<std::size_t>(options.batch * made.axes_ * made.slots_));
  if (!positions) return positions.error();
  made.positions_ = std::move(*positions);
  auto pages = Pages::make(static_cast<Index>(slots / rows), made.layout_.bytes());
  if (!pages) return pages.error();
  made.pages_ = std::move(*pages);
  if (Status s = made.check_later_steps(); !s) return s.error();
  return made;
}

/// What one step over a full cache takes beside it, taken and given back: so a cache that could be
/// made can be filled, and a heap that only grows has its size from the first step on.
Status KVCache::check_later_steps() const {
  // Positions, given or counted, of keys and queries: of each sequence its own, at worst.
  std::int64_t numbers = 2 * std::int64_t{o_.batch} * axes_;
  for (const Encoding* e : encodings())
    if (!rotated_) numbers += std::int64_t{e->key_copies()} * e->rotation().table_width() / 2 + 1;
  constexpr std::int64_t other = (1 << 18) / sizeof(double);  // tiles and queries of one step
  std::int64_t size = 0;
  if (__builtin_mul_overflow(numbers, std::int64_t{slots_}, &size) || size > PTRDIFF_MAX - other)
    return wrong(Errc::too_large, is_ring() ? "window" : "capacity",
                 "small enough for the address space", slots_);
  auto room = Buffer<double>::make(static_cast<std::size_t>(size + other));
  return room ? Status{} : room.error();
}

Index KVCache::oldest_held(Index length) const {
  const Index first = std::min(o_.sinks, length);
  return is_ring() ? std::max({first, length - o_.window, std::min(overwritten_, length)}) : first;
}

Status KVCache::check_room(Index count) const {
  if (count < 0) return wrong(Errc::bad_shape, "append", "at least 0 tokens", count);
  constexpr Index most = std::numeric_limits<std::int32_t>::max() / 2;
  if (is_ring() ? count > most - length_ : count > o_.capacity - length_)
    return Error{.code = Errc::cache_full,
                 .field = "append",
                 .expected = "at most as many tokens as there is room for",
                 .received = static_cast<double>(count),
                 .low = 0,
                 .high = static_cast<double>(is_ring() ? most - length_ : o_.capacity - length_)};
  return {};
}

Status KVCache::check_new(const NewTokens& t, Index first) const {
  if (t.positions.data != nullptr) {
    if (o_.own_positions)
      return Error{.code = Errc::option_not_applicable,
                   .field = "positions",
                   .expected = "left out, since tokens stand where they are in the cache"};
    if (t.positions.rows != 1 && t.positions.rows != o_.batch)
      return wrong(Errc::shape_mismatch, "positions", "one set, or one for each sequence",
                   t.positions.rows);
    if (t.axes != axes_)
      return wrong(Errc::shape_mismatch, "positions", "as many axes as the encoding has", t.axes);
  }
  for (const Encoding* e : encodings()) {
    if (!acts_in_attention(*e)) continue;
    if (t.positions.data == nullptr) {
      if (t.count > 0 && e->traits().axes > 1 && !e->traits().text_axes)
        return Error{.code = Errc::missing_option,
                     .field = "positions",
                     .expected = "given, one list for each axis"};
      // Encodings that are not defined everywhere are so on an interval, or at whole numbers.
      if (t.count == 0 || o_.own_positions) continue;
      const double ends[2] = {static_cast<double>(first), static_cast<double>(first + t.count - 1)};
      Positions both{ends, 2, e->traits().axes, 0, false};
      if (Status s = e->accepts(both); !s) {
        Error error = s.error();
        error.field = "positions";
        return error;
      }
      continue;
    }
    for (Index b = 0; b < t.positions.rows; ++b) {
      const double* data = t.positions.data + b * t.axes * t.count;
      if (Status s = e->accepts(seen_by(*e, Positions::of(data, t.count, t.axes))); !s) {
        Error error = s.error();
        error.field = "positions";
        if (error.index >= 0) error.index += static_cast<double>(b * t.count);
        return error;
      }
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

Status KVCache::make_scratch(Scratch& scratch) const {
  Index table_width = 0, pairs = 0;
  for (const Encoding* e : encodings()) {
    table_width = std::max(table_width, e->rotation().table_width());
    pairs = std::max(pairs, e->rotation().pairs);
  }
  const auto carve = [&] {
    scratch.table = scratch.arena.take<float>(rotated_ ? page_tokens : 0, table_width);
    scratch.staged = scratch.arena.take<float>(page_tokens, o_.head_dim);
    scratch.frequencies = scratch.arena.take<double>(pairs);
    scratch.places = scratch.arena.take<double>(page_tokens);
  };
  carve();
  if (Status s = scratch.arena.commit(); !s) return s;
  carve();
  return {};
}

/// Writes the new tokens from .. to - 1, counted among the new, rotated if that is how keys are kept.
void KVCache::write(const NewTokens& t, Index from, Index to, const Destination& where,
                    const Scratch& scratch) {
  using Arch = xsimd::default_arch;
  constexpr Index block = page_tokens;
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
          const Index to_slot = where.own != nullptr ? i + j - where.first : slot(length_ + i + j);
          const Pages& pages = where.own != nullptr ? *where.own : pages_;
          std::byte* page = pages[to_slot / layout_.rows];
          const Index row = (b * o_.heads + g) * layout_.rows + to_slot % layout_.rows;
          store_row(o_.dtype, rows.row(j), o_.head_dim, page + layout_.keys(),
                    reinterpret_cast<float*>(page + layout_.key_scales()), row);
          store_row(o_.dtype, t.v.at(b, g, i + j), o_.value_dim, page + layout_.values(),
                    reinterpret_cast<float*>(page + layout_.value_scales()), row);
        }
      }
    }
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
  const Index from = is_ring() ? std::max<Index>(0, t.count - o_.window) : 0;
  const Index kept = std::clamp<Index>(o_.sinks - length_, 0, from);
  if (Status s = own_slots(length_, length_ + kept); !s) return s;
  if (Status s = own_slots(length_ + from, length_ + t.count); !s) return s;
  Scratch scratch;
  if (Status s = make_scratch(scratch); !s) return s;
  write(t, 0, kept, {}, scratch);
  write(t, from, t.count, {}, scratch);
  commit(t, from);
  return {};
}

Status KVCache::truncate(Index length) {
  const auto refuse = [&](std::string_view expected, Index low) {
    return Error{.code = Errc::out_of_range,
                 .field = "length",
                 .expected = expected,
                 .received = static_cast<double>(length),
                 .low = static_cast<double>(low),
                 .high = static_cast<double>(length_)};
  };
  if (length < 0 || length > length_) return refuse("a length that the cache has had", 0);
  if (length == 0) {
    reset();
    return {};
  }
  // As many as a ring shows, or all there were.
  const Index oldest_needed = std::max(std::min(o_.sinks, length), length - o_.window);
  if (length <= o_.sinks)
    overwritten_ = 0;  // the first tokens are all there
  else if (is_ring() && oldest_needed < overwritten_)
    return refuse("one whose window the ring still holds", overwritten_ + o_.window);
  length_ = length;
  ++changes_;
  return {};
}

void KVCache::reset() {
  length_ = overwritten_ = 0;
  ++changes_;
  counted_ = shared_ = true;
}

Result<KVCache> KVCache::fork() const {
  KVCache made;
  made.o_ = o_;
  made.layout_ = layout_;
  made.axes_ = axes_;
  made.slots_ = slots_;
  made.length_ = length_;
  made.overwritten_ = overwritten_;
  made.rotated_ = rotated_;
  made.encodings_hash_ = encodings_hash_;
  made.counted_ = counted_;
  made.shared_ = shared_;
  auto positions = Buffer<double>::make(positions_.size());
  if (!positions) return positions.error();
  std::copy_n(positions_.data(), positions_.size(), positions->data());
  made.positions_ = std::move(*positions);
  const Index used = std::min(length_, slots_);
  auto pages = pages_.fork((used + layout_.rows - 1) / layout_.rows);
  if (!pages) return pages.error();
  made.pages_ = std::move(*pages);
  return made;
}

}  // namespace posenc
