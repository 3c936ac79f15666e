// SPDX-License-Identifier: Apache-2.0
// Making a cache: what its options must be, whether keys can be rotated as they come, its memory.
#include <array>
#include <limits>

#include "posenc/cache/kv_cache.hpp"

namespace posenc {
namespace {

/// What a page has beside its rows: its header, and four blocks that begin at a multiple of 64 bytes.
constexpr std::int64_t page_extra = 5 * PageLayout::header;

/// How an encoding turns keys of a text of one token.
struct Turning {
  Rotation rotation;
  Plan plan;
  Buffer<double> frequencies;
};
using Turnings = std::array<Turning, AttentionArguments::max_encodings>;

/// Of those that rotate; of others nothing is asked.
Status ask_turnings(std::span<const Encoding* const> encodings, Turnings& turnings) {
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    const Encoding& e = *encodings[i];
    if (!e.traits().sites.rotate) continue;
    Turning& turning = turnings[i];
    turning.rotation = e.rotation();
    if (Status s = turning.frequencies.allocate(static_cast<std::size_t>(turning.rotation.pairs));
        !s)
      return s;
    turning.plan = e.plan(1, turning.frequencies.data());
  }
  return {};
}

/// Whether keys that were rotated when they came stay right: the frequencies never change, there is
/// one copy of them, and nobody asks for them unrotated.
bool can_rotate_early(const CacheOptions& o, const Turnings& turnings) {
  bool rotates = false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(o.encoding_count); ++i) {
    const Encoding& e = *o.encodings[i];
    const Traits& t = e.traits();
    if (t.sites.score && !t.content_free) return false;
    if (!t.sites.rotate) continue;
    if (e.copies() > 1 || turnings[i].rotation.growth() > 0) return false;
    if (turnings[i].plan.length_policy != LengthPolicy::fixed) return false;
    rotates = true;
  }
  return rotates && !o.own_positions;
}

/// FNV-1a of the encodings' names, in order, and, where stored keys are turned by them, of how: which
/// channels make a pair, the frequencies, and the cosines of two tokens for every head, in which axes,
/// amplitudes and learned directions show. As float32: the last bits of float64 differ from one
/// machine's `pow` to another's. The frequencies are used up.
Result<std::int64_t> hash_of(std::span<const Encoding* const> encodings, Turnings& turnings,
                             bool rotated) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](const auto* data, std::size_t count) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < count * sizeof *data; ++i)
      hash = (hash ^ bytes[i]) * 0x100000001b3u;
  };
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    const Encoding& e = *encodings[i];
    const std::string_view name = e.traits().id;
    add(name.data(), name.size());
    if (!rotated || !e.traits().sites.rotate) continue;
    Turning& turning = turnings[i];
    const Rotation& r = turning.rotation;
    const std::array<std::int32_t, 3> pairing{static_cast<std::int32_t>(r.layout),
                                              static_cast<std::int32_t>(r.pairs),
                                              static_cast<std::int32_t>(r.partner)};
    add(pairing.data(), pairing.size());
    const auto factor = static_cast<float>(turning.plan.attention_factor);
    add(&factor, 1);
    for (std::size_t k = 0; k < turning.frequencies.size(); ++k) {
      const auto rounded = static_cast<float>(turning.frequencies[k]);
      add(&rounded, 1);
    }
    constexpr std::array<double, 6> places{1, 2, 4, 7, 9, 12};  // of three axes: two tokens on each
    Buffer<float> angles;
    if (Status s = angles.allocate(2 * static_cast<std::size_t>(r.table_width())); !s) return s;
    for (Index head = 0; head < e.table_heads(); ++head) {
      e.angles({.out = {angles.data(), 2, r.table_width(), r.table_width()},
                .positions = Positions::of(places.data(), 2, e.traits().axes),
                .role = Role::key,
                .head = head,
                .scratch = turning.frequencies.data()});
      add(angles.data(), angles.size());
    }
  }
  return static_cast<std::int64_t>(hash >> 1);
}

/// The largest extent is the one to blame where all together are too large.
Status too_large(const CacheOptions& o) {
  const bool ring = o.window > 0;
  std::pair most{ring ? o.window : o.capacity, ring ? "window" : "capacity"};
  for (const auto& one : {std::pair{o.sinks, "sinks"},
                          {o.batch, "batch"},
                          {o.heads, "heads"},
                          {o.head_dim, "headDim"},
                          {o.value_dim, "valueDim"}})
    if (one.first > most.first) most = one;
  return wrong_number(Errc::too_large, most.second, "small enough for the address space",
                      most.first);
}

Status check_options(const CacheOptions& o) {
  for (const auto& [extent, field] :
       {std::pair{o.batch, "batch"}, {o.heads, "heads"}, {o.head_dim, "headDim"}})
    if (extent < 1) return wrong_number(Errc::out_of_range, field, "at least 1", extent);
  if (o.value_dim < 0)
    return wrong_number(Errc::out_of_range, "valueDim", "at least 0", o.value_dim);
  if (o.window < 0) return wrong_number(Errc::out_of_range, "window", "at least 1", o.window);
  if (o.window == 0 && o.capacity < 1)
    return wrong_number(Errc::out_of_range, "capacity", "at least 1", o.capacity);
  if (o.sinks < 0) return wrong_number(Errc::out_of_range, "sinks", "at least 0", o.sinks);
  for (const auto& [extent, field] : {std::pair{o.batch, "batch"},
                                      {o.heads, "heads"},
                                      {o.head_dim, "headDim"},
                                      {o.value_dim, "valueDim"},
                                      {o.capacity, "capacity"},
                                      {o.window, "window"},
                                      {o.sinks, "sinks"}})
    if (extent > std::numeric_limits<std::int32_t>::max())
      return wrong_number(Errc::too_large, field, "at most 2^31 - 1", extent);
  if (o.sinks > 0 && o.window == 0)
    return wrong_number(Errc::missing_option, "window", "given, since sinks are kept beside a ring",
                        0);
  if (o.own_positions && o.window == 0)
    return wrong_number(Errc::missing_option, "window", "given for positions within the cache", 0);
  const std::span<const Encoding* const> encodings(o.encodings.data(),
                                                   static_cast<std::size_t>(o.encoding_count));
  if (Status s = check_together(encodings); !s) return s;
  for (const Encoding* encoding : encodings) {
    const Encoding& e = *encoding;
    if (e.table_heads() > 1 && e.table_heads() != o.heads)
      return wrong_number(Errc::shape_mismatch, "heads",
                          "those of the encoding, since each head rotates its own way", o.heads);
    if (e.head_dim() != 0 && e.head_dim() != o.head_dim)
      return wrong_number(Errc::shape_mismatch, "headDim", "what the encoding has", o.head_dim);
    if (o.own_positions && e.traits().axes > 1)
      return wrong_number(Errc::unsupported, "encoding",
                          "of one axis for positions within the cache", e.traits().axes);
  }
  return {};
}

}  // namespace

Result<KVCache> KVCache::make(const CacheOptions& options) {
  if (Status s = check_options(options); !s) return s;
  KVCache made;
  made.o_ = options;
  Turnings turnings;
  if (Status s = ask_turnings(made.encodings(), turnings); !s) return s;
  made.rotated_ = can_rotate_early(options, turnings);
  auto hash = hash_of(made.encodings(), turnings, made.rotated_);
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
  if (slots > most || !fits) return too_large(options);
  made.slots_ = options.window > 0 ? static_cast<Index>(slots) : options.capacity;
  if (Status s = made.positions_.allocate(
          static_cast<std::size_t>(options.batch * made.axes_ * made.slots_));
      !s)
    return s;
  if (Status s = made.pages_.allocate(static_cast<Index>(slots / rows), made.layout_.bytes()); !s)
    return s;
  if (Status s = made.check_later_steps(made.encodings()); !s) return s;
  return made;
}

/// What one step over a full cache with these encodings takes beside it, taken and given back: so a
/// cache that could be made can be filled, and a heap that only grows has its size from the first step
/// on. Less than was there before is not looked for again.
Status KVCache::check_later_steps(std::span<const Encoding* const> asked) {
  // Positions, given or counted, of keys and queries: of each sequence its own, at worst.
  std::int64_t numbers = 2 * std::int64_t{o_.batch} * axes_;
  std::int64_t other = (1 << 18) / sizeof(double);  // tiles and queries of one step
  for (const Encoding* e : asked) {
    if (!rotated_) numbers += std::int64_t{e->key_copies()} * e->rotation().table_width() / 2 + 1;
    const BlockRoom kept = e->kept_blocks(1, slots_);
    constexpr std::int64_t tag = sizeof(BlockTag) / sizeof(float);
    other += kept.count * (std::int64_t{kept.depth} * distances_in_block + tag) / 2 + 1;
  }
  std::int64_t size = 0;
  if (__builtin_mul_overflow(numbers, std::int64_t{slots_}, &size) || size > PTRDIFF_MAX - other)
    return too_large(o_);
  size += other;
  if (size <= step_room_) return {};
  Buffer<double> room;
  if (Status s = room.allocate(static_cast<std::size_t>(size)); !s) return s;
  step_room_ = size;
  return {};
}

}  // namespace posenc
