// SPDX-License-Identifier: Apache-2.0
// A cache as bytes: [Header][positions][keys of each head][values …][scales …], numbers little-endian
// as every host of WebAssembly has them, rows as they are stored. Bytes may come from anywhere, so
// everything is checked before anything is changed.
#include <bit>
#include <cmath>
#include <cstring>

#include "posenc/attention/placement.hpp"
#include "posenc/cache/kv_cache.hpp"

namespace posenc {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> magic{'p', 'e', 'c', 'a', 'c', 'h', 'e', '1'};

struct Header {
  std::array<char, 8> name = magic;
  std::int64_t dtype = 0, batch = 0, heads = 0, head_dim = 0, value_dim = 0, window = 0, sinks = 0,
               axes = 0, encodings = 0, rotated = 0, own_positions = 0, counted = 0, shared = 0,
               length = 0, oldest = 0;
};
static_assert(sizeof(Header) == 128);

Status bad(Errc code, const char* expected, double received) {
  return fault(code, "bytes", expected, received);
}

}  // namespace

/// Calls `use(data, bytes)` for every piece of memory that a conversation with these tokens consists
/// of, in the order of the format.
void KVCache::for_each_piece(Index length, Index oldest, PieceUse use) const {
  const Index kept = std::min(o_.sinks, length);
  // One number of each token, or one row: `positions`, or else what stands at `start` of the pages.
  const auto line = [&](const double* positions, Index start, Index width) {
    for (const auto& [first, last] : {std::pair{Index{0}, kept}, {oldest, length}})
      for (Index token = first; token < last;) {
        const Index at = slot(token), row = at % layout_.rows;
        const Index edge = is_ring() && token < o_.sinks ? o_.sinks : slots_;
        const Index n = std::min({last - token, layout_.rows - row, edge - at});
        use.call(use.on,
                 positions != nullptr
                     ? reinterpret_cast<std::byte*>(const_cast<double*>(positions) + at)
                     : pages_[at / layout_.rows] + start + row * width,
                 n * width);
        token += n;
      }
  };
  for (Index row = 0; row < o_.batch * axes_; ++row)
    line(positions_.data() + row * slots_, 0, Index{sizeof(double)});
  for (const auto& [start, width] :
       {std::pair{layout_.keys(), o_.head_dim * size_of(o_.dtype)},
        {layout_.values(), o_.value_dim * size_of(o_.dtype)},
        {layout_.key_scales(), Index{o_.dtype == Dtype::i8 ? 4 : 0}},
        {layout_.value_scales(), Index{o_.dtype == Dtype::i8 ? 4 : 0}}})
    for (Index plane = 0; plane < layout_.planes(); ++plane)
      line(nullptr, start + plane * layout_.rows * width, width);
}

std::uint64_t KVCache::bytes_of(Index length, Index oldest) const {
  std::uint64_t bytes = sizeof(Header);
  for_each_piece(length, oldest, {&bytes, [](void* sum, std::byte*, Index n) {
                                    *static_cast<std::uint64_t*>(sum) +=
                                        static_cast<std::uint64_t>(n);
                                  }});
  return bytes;
}

Index KVCache::byte_size() const { return static_cast<Index>(bytes_of(length_, oldest_held())); }

void KVCache::to_bytes(std::byte* out) const {
  Header h;
  h.dtype = static_cast<std::int64_t>(o_.dtype);
  h.batch = o_.batch;
  h.heads = o_.heads;
  h.head_dim = o_.head_dim;
  h.value_dim = o_.value_dim;
  h.window = o_.window;
  h.sinks = o_.sinks;
  h.axes = axes_;
  h.encodings = encodings_hash_;
  h.rotated = rotated_;
  h.own_positions = o_.own_positions;
  h.counted = counted_;
  h.shared = shared_;
  h.length = length_;
  h.oldest = oldest_held();
  std::memcpy(out, &h, sizeof h);
  out += sizeof h;
  for_each_piece(length_, oldest_held(), {&out, [](void* on, std::byte* piece, Index n) {
                                            auto& to = *static_cast<std::byte**>(on);
                                            std::memcpy(to, piece, static_cast<std::size_t>(n));
                                            to += n;
                                          }});
}

Status KVCache::from_bytes(std::span<const std::byte> bytes) {
  const auto size = static_cast<double>(bytes.size());
  if (bytes.size() < sizeof(Header))
    return bad(Errc::bad_header, "the bytes of a cache, which begin with a header of 128", size);
  Header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  if (std::memcmp(h.name.data(), magic.data(), 7) != 0)
    return bad(Errc::bad_header, "the bytes of a cache", size);
  if (h.name[7] != magic[7])
    return bad(Errc::bad_header, "bytes of version 1", static_cast<double>(h.name[7] - '0'));
  for (const auto& [given, own, expected] :
       {std::tuple{h.dtype, static_cast<std::int64_t>(o_.dtype), "of a cache of the same dtype"},
        {h.batch, std::int64_t{o_.batch}, "of a cache of the same batch"},
        {h.heads, std::int64_t{o_.heads}, "of a cache of as many heads"},
        {h.head_dim, std::int64_t{o_.head_dim}, "of a cache of the same headDim"},
        {h.value_dim, std::int64_t{o_.value_dim}, "of a cache of the same valueDim"},
        {h.window, std::int64_t{o_.window}, "of a cache of the same window"},
        {h.sinks, std::int64_t{o_.sinks}, "of a cache of the same sinks"},
        {h.axes, std::int64_t{axes_}, "of a cache of as many axes"},
        {h.own_positions, std::int64_t{o_.own_positions}, "of a cache of the same positions"}})
    if (given != own) return bad(Errc::shape_mismatch, expected, static_cast<double>(given));
  if (h.encodings != encodings_hash_ || h.rotated != std::int64_t{rotated_})
    return bad(Errc::shape_mismatch, "of a cache whose encoding turns keys the same way",
               std::numeric_limits<double>::quiet_NaN());
  const std::int64_t most =
      is_ring() ? std::numeric_limits<std::int32_t>::max() / 2 : std::int64_t{o_.capacity};
  if (h.length < 0 || h.length > most)
    return bad(Errc::bad_header, "of no more tokens than there is room for",
               static_cast<double>(h.length));
  const auto length = static_cast<Index>(h.length);
  const Index kept = std::min(o_.sinks, length);
  const Index earliest = is_ring() ? std::max(kept, length - o_.window) : kept;
  if ((h.counted | h.shared | 1) != 1 || h.oldest < earliest ||
      h.oldest > std::max<std::int64_t>(earliest, is_ring() ? length : 0))
    return bad(Errc::bad_header, "with a header that fits together", static_cast<double>(h.oldest));
  const auto oldest = static_cast<Index>(h.oldest);
  const std::uint64_t wanted = bytes_of(length, oldest);
  if (bytes.size() < wanted) return bad(Errc::truncated, "whole", size);
  if (bytes.size() > wanted) return bad(Errc::bad_header, "no longer than its header says", size);

  // Positions come first, and are the only numbers that could lead anywhere.
  const Index tokens = kept + length - oldest;
  Buffer<double> places;
  if (Status s = places.allocate(static_cast<std::size_t>(o_.batch * axes_ * tokens)); !s) return s;
  std::memcpy(places.data(), bytes.data() + sizeof h, places.size() * sizeof(double));
  for (double& place : std::span(places.data(), places.size()))
    if (!(std::abs(place) <= 0x1p53))
      return bad(Errc::bad_tensor, "of positions from -2^53 to 2^53", place);
  for (const Encoding* e : encodings())
    for (Index b = 0; b < o_.batch && acts_in_attention(*e); ++b) {
      Positions at = Positions::of(places.data() + b * axes_ * tokens, tokens, axes_);
      if (e->traits().axes == 1) at.axes = 1;
      if (!o_.own_positions && !e->accepts(at))
        return bad(Errc::bad_tensor, "of positions where the encoding is defined",
                   tokens > 0 ? at[0] : 0);
    }
  if (Status s = own_slots(0, std::min(length, slots_)); !s) return s;
  for (Index token = oldest; token < length; ++token)
    if (Status s = own_slots(token, token + 1); !s) return s;

  const std::byte* from = bytes.data() + sizeof h;
  for_each_piece(length, oldest, {&from, [](void* on, std::byte* piece, Index n) {
                                    auto& next = *static_cast<const std::byte**>(on);
                                    std::memcpy(piece, next, static_cast<std::size_t>(n));
                                    next += n;
                                  }});
  length_ = length;
  overwritten_ = oldest > kept ? oldest : 0;
  counted_ = h.counted != 0;
  shared_ = h.shared != 0;
  ++changes_;
  return {};
}

}  // namespace posenc
