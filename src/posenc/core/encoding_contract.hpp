// SPDX-License-Identifier: Apache-2.0
/// The contract between encodings and everything that uses them. An encoding is a plain class that
/// defines the member functions of the sites it acts at; `Encoding` holds any of them.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "posenc/core/options.hpp"
#include "posenc/core/result.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/spec.hpp"

namespace posenc {

template <class E, class Arch = xsimd::default_arch>
concept Embeds = requires(const E& e, const RowBlock& b) { e.embed(Arch{}, b); };
template <class E>
concept Rotates = requires(const E& e, const AngleBlock& b, double* frequencies) {
  { e.rotation() } -> std::same_as<Rotation>;
  e.angles(b);
  { e.plan(1.0, frequencies) } -> std::same_as<Plan>;
};
template <class E, class Arch = xsimd::default_arch>
concept Scores = requires(const E& e, const ScoreTile& t) { e.score(Arch{}, t); };
template <class E, class Arch = xsimd::default_arch>
concept AddsValues = requires(const E& e, const ValueTile& t) { e.value(Arch{}, t); };

template <class E, class Arch = xsimd::default_arch>
concept ScoresBackwards =
    requires(const E& e, const ScoreGradient& g) { e.score_gradient(Arch{}, g); };
template <class E, class Arch = xsimd::default_arch>
concept AddsValuesBackwards =
    requires(const E& e, const ValueGradient& g) { e.value_gradient(Arch{}, g); };
template <class E>
concept RotatesBackwards = requires(const E& e, const AngleGradient& g) { e.angle_gradient(g); };
template <class E>
concept EmbedsBackwards = requires(const E& e, const RowGradient& g) { e.row_gradient(g); };

/// Whether gradients of q, k and v are right without another word of the encoding: a score term
/// that is added and looks at neither q nor k passes them through.
template <class E>
inline constexpr bool differentiable =
    (!Scores<E> || ScoresBackwards<E> || (E::spec.content_free && E::gradients.empty())) &&
    (!AddsValues<E> || AddsValuesBackwards<E>);
/// Counts distances in its own way: `place` says where a position stands in one of the copies, so
/// that differences of places are the distances in force.
template <class E>
concept Remaps = requires(const E& e) {
  { e.place(Role::query, Index{0}, 0.0) } -> std::same_as<double>;
};

template <class E>
inline constexpr Sites sites_defined{Embeds<E>, Rotates<E>, Scores<E>, AddsValues<E>};

/// A misspelt hook would quietly do nothing. Declaring the sites makes it a compile error instead.
template <class E>
concept ActsWhereItSays = (E::spec.sites == sites_defined<E>);

/// What most encodings leave as it is. An encoding derives from this and hides what it does itself.
struct EncodingDefaults {
  /// Where the encoding is defined; the error names the first position at fault.
  Status accepts(const Positions&) const { return {}; }
  // Geometry the tensors must have; 0 where the encoding does not care.
  Index embed_width() const { return 0; }
  Index heads() const { return 0; }
  Index head_dim() const { return 0; }
  Index value_dim() const { return 0; }
  /// The softmax scale the encoding was trained with, where it is not 1 / sqrt(head_dim).
  std::optional<double> score_scale(Index /*head_dim*/) const { return std::nullopt; }
  /// Multiplies the softmax scale in force (DeepSeek's squared mscale).
  double logit_scale() const { return 1; }
  /// Multiplies the query at a position (log-n scaling).
  double query_scale(double /*position*/) const { return 1; }
  /// Floats of scratch for score() on a tile, and floats per query row kept between tiles.
  Index score_scratch(Index /*rows*/, Index /*cols*/) const { return 0; }
  Index carry_width() const { return 0; }
  /// Room for what score() computes of distances and a whole call keeps.
  BlockRoom kept_blocks(Index /*queries*/, Index /*keys*/) const { return {}; }
  /// Distance remaps rotate queries and keys in several copies and choose one per pair of positions.
  /// The copy chosen never falls as the query moves on, and never rises as the key does: so a tile
  /// whose extreme pairs agree is of one copy. Copy c of the queries meets key copy
  /// min(c, key_copies - 1).
  Index copies() const { return 1; }
  Index key_copies() const { return 1; }
  void choose(double /*query*/, const Positions& keys, std::uint8_t* copy) const {
    std::fill_n(copy, keys.count, std::uint8_t{0});
  }
  /// Tables of angles: 1 for all heads, or one per query head.
  Index table_heads() const { return 1; }

  /// The learned options whose gradients the backward pass gives, by name.
  static constexpr std::array<std::string_view, 0> gradients{};
  /// Doubles that the backward hooks of the sites sum into; they start from 0.
  Index gradient_size() const { return 0; }
  /// From those sums to gradients in the shapes of the options: tables[i] belongs to gradients[i],
  /// starts from 0, and is null where it is not wanted. The sums may be used up.
  void collect_gradients(double* /*sums*/, float* const* /*tables*/) const {}
  /// Whether score_gradient() must see the scores as they were before score().
  bool needs_scores() const { return false; }
};

template <class E>
concept PositionalEncoding = ActsWhereItSays<E> && std::derived_from<E, EncodingDefaults> &&
                             std::movable<E> && requires(typename E::Options o) {
                               { E::make(std::move(o)) } -> std::same_as<Result<E>>;
                               std::span<const Field>(E::fields);
                             };

}  // namespace posenc
