// SPDX-License-Identifier: Apache-2.0
/// Keys and values of the tokens a model has seen, kept between calls of attention.
#pragma once

#include "posenc/attention/arguments.hpp"
#include "posenc/cache/pages.hpp"
#include "posenc/core/arena.hpp"

namespace posenc {

struct CacheOptions {
  Index batch = 1, heads = 1;  ///< B, G
  Index head_dim = 0, value_dim = 0;
  Index capacity = 0;  ///< tokens; a ring needs none
  Dtype dtype = Dtype::f32;
  Index window = 0;  ///< 0: all tokens are kept; else a ring of the last so many
  Index sinks = 0;   ///< of a ring: so many first tokens are kept for ever
  /// Tokens stand where they are in what is held and new, and not where they were in the text:
  /// StreamingLLM's positions.
  bool own_positions = false;
  std::array<const Encoding*, AttentionArguments::max_encodings> encodings{};
  Index encoding_count = 0;
};

/// Keys [B, G, n, D] and values [B, G, n, Dv] that come after those in the cache. Positions [1 or B,
/// axes, n]; by default a token stands where it is in the text.
struct NewTokens {
  Tensor4<const float> k, v;
  Index count = 0;
  PositionRows positions{};
  int axes = 1;
  HeadNorm k_norm{};  ///< of k; attention has it in its arguments
  /// The tokens held for which masks and weights were laid out; others are refused.
  std::optional<Index> beside{};
};

/// Tokens are counted from 0 and never renumbered: `length` counts all that were appended, of which
/// a ring holds the first `sinks` and the last `window`. A query sees whatever is held and new, as
/// far as attention's own rules let it; the first ones that a ring keeps it always sees. Give the
/// window of the model to attention as well, at most the ring's, and it does not matter in what
/// pieces the tokens come. Keys are kept rotated where that cannot change later.
///
/// Every member function that fails has changed nothing.
class KVCache {
 public:
  static Result<KVCache> make(const CacheOptions& options);

  Index length() const { return length_; }
  Index stored() const { return kept() + length_ - oldest_held(); }
  /// Another number after every change; which one it is says nothing.
  std::uint32_t changes() const { return changes_; }
  const CacheOptions& options() const { return o_; }
  bool keeps_rotated() const { return rotated_; }

  /// Errors: CACHE_FULL, those of the encodings' positions, OUT_OF_MEMORY, and OUT_OF_RANGE or
  /// NOT_FINITE for what the cache's numbers cannot hold.
  Status append(const NewTokens& tokens);

  /// Attention over what is held and `tokens`, which are then stored. `arguments` need neither k nor
  /// v nor what they say of keys; the mask's keys are those held, then the new ones. Encodings are
  /// the cache's own, if it has any, or those and others: CACHE_STALE where that comes too late.
  Status attend(AttentionArguments arguments, NewTokens tokens);

  /// Forgets the tokens from `length` on. A ring cannot go back to where its window is no longer
  /// there: OUT_OF_RANGE.
  Status truncate(Index length);
  void reset();

  /// Another cache that begins with the same tokens. Pages are shared until one of the two writes.
  Result<KVCache> fork() const;

  /// A conversation as bytes, and back into a cache made with the same options. Of encodings their
  /// names are compared, and frequencies where keys are kept rotated. `to_bytes` and `fork` need the
  /// encodings no more.
  Index byte_size() const;
  void to_bytes(std::byte* out) const;
  /// Errors: BAD_HEADER, TRUNCATED, BAD_TENSOR, and SHAPE_MISMATCH for another kind of cache.
  Status from_bytes(std::span<const std::byte> bytes);

 private:
  KVCache() = default;

  /// 128 tokens of 8 heads of 128 floats, keys and values, are a page of 1 MB; a small cache has a
  /// smaller one. As many as attention takes at once: with 64, streams are half as long and a step over
  /// 8192 tokens takes 1.05 to 1.25 times as long.
  static constexpr Index page_tokens = 128;
  static constexpr Index staged_tokens = 64;  ///< turned at once on their way to a page

  bool is_ring() const { return o_.window > 0; }
  Index kept() const { return std::min(o_.sinks, length_); }
  Index oldest_held() const { return oldest_held(length_); }
  Index oldest_held(Index length) const;
  Index ring() const { return slots_ - o_.sinks; }
  Index slot(Index token) const {
    return !is_ring() || token < o_.sinks ? token : o_.sinks + (token - o_.sinks) % ring();
  }
  std::span<const Encoding* const> encodings() const {
    return {o_.encodings.data(), static_cast<std::size_t>(o_.encoding_count)};
  }

  struct PieceUse {
    void* on;
    void (*call)(void* on, std::byte* piece, Index bytes);
  };
  void for_each_piece(Index length, Index oldest, PieceUse use) const;
  /// Of a conversation with these tokens.
  std::uint64_t bytes_of(Index length, Index oldest) const;
  /// Where new rows go: slots of the cache, or pages of a call's own, from token `first` on.
  struct Destination {
    const Pages* own = nullptr;
    Index first = 0;
  };
  /// What turning and storing rows needs; made before anything is changed.
  struct Scratch {
    Arena arena;
    float *table = nullptr, *staged = nullptr;
    double *frequencies = nullptr, *places = nullptr;
  };
  struct Call;
  Status check_later_steps(std::span<const Encoding* const> asked);
  Status check_room(Index count) const;
  Status check_new(const NewTokens& tokens, Index first) const;
  Status own_slots(Index first, Index last);
  Status make_scratch(Index count, Scratch& scratch) const;
  template <class F>
  void for_each_key(const NewTokens& tokens, Index from, Index to, const Scratch& scratch,
                    F&& f) const;
  Status check_storable(const NewTokens& tokens, const Scratch& scratch, const char* k,
                        const char* v) const;
  void write(const NewTokens& tokens, Index from, Index to, const Destination& where,
             const Scratch& scratch);
  void note_positions(const NewTokens& tokens, Index from, Index to);
  void commit(const NewTokens& tokens, Index from);
  Status check_view(const AttentionArguments& a) const;
  Status check_encodings(std::span<const Encoding* const> asked) const;
  void set_rows(const Call& call, AttentionArguments& a) const;
  Status place_in_text(AttentionArguments& a, const NewTokens& tokens, Call& call) const;
  Status check_turns(const AttentionArguments& a) const;
  Status take_turns(AttentionArguments& a, Call& call) const;
  void take_turn(Call& call, Index i, AttentionArguments& part) const;
  double position(Index b, Index axis, Index token) const {
    return positions_[static_cast<std::size_t>((b * axes_ + axis) * slots_ + slot(token))];
  }

  CacheOptions o_;
  PageLayout layout_;
  Pages pages_;
  Buffer<double> positions_;  ///< [B][axes][slots]
  Index axes_ = 1;
  Index slots_ = 0;
  Index length_ = 0;
  Index overwritten_ = 0;  ///< tokens from sinks to here are gone
  std::uint32_t changes_ = 0;
  std::int64_t step_room_ = 0;       ///< doubles that were there for one step over the full cache
  std::int64_t encodings_hash_ = 0;  ///< encodings may be gone before the cache is
  bool rotated_ = false;
  bool counted_ = true;  ///< every token stands at its index
  bool shared_ = true;   ///< and all sequences alike
};

}  // namespace posenc
