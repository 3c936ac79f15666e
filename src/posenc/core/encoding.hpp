// SPDX-License-Identifier: Apache-2.0
/// The contract between encodings and everything that uses them. An encoding is a plain class that
/// defines the member functions of the sites it acts at; `Encoding` holds any of them.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <new>
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

/// Any encoding, chosen at run time: one indirect call per tile, which costs less than one copy of
/// the attention kernel per encoding (27 KB against 79 KB at twenty of them). Move-only.
class Encoding {
 public:
  /// As E::make; fails for lack of memory too.
  template <class Arch, PositionalEncoding E>
  static Result<Encoding> make(typename E::Options&& options);
  /// Fails only for lack of memory.
  template <class Arch, PositionalEncoding E>
  static Result<Encoding> of(E encoding);

  Encoding(Encoding&& other) noexcept { *this = std::move(other); }
  Encoding& operator=(Encoding&& other) noexcept {
    std::swap(self_, other.self_);
    std::swap(hooks_, other.hooks_);
    return *this;
  }
  Encoding(const Encoding&) = delete;
  Encoding& operator=(const Encoding&) = delete;
  ~Encoding() {
    if (self_ == nullptr) return;
    hooks_->destroy(self_);
    release(self_, hooks_->size);
  }

  const Traits& traits() const { return hooks_->traits; }

  /// Whether the encoding is defined at these positions; the error names the first that is not.
  Status accepts(const Positions& positions) const;

  // As EncodingDefaults describes them.
  Index embed_width() const { return hooks_->embed_width(self_); }
  Index heads() const { return hooks_->heads(self_); }
  Index head_dim() const { return hooks_->head_dim(self_); }
  Index value_dim() const { return hooks_->value_dim(self_); }
  std::optional<double> score_scale(Index head_dim) const {
    return hooks_->score_scale(self_, head_dim);
  }
  double logit_scale() const { return hooks_->logit_scale(self_); }
  double query_scale(double position) const { return hooks_->query_scale(self_, position); }
  Index score_scratch(Index rows, Index cols) const {
    return hooks_->score_scratch(self_, rows, cols);
  }
  Index carry_width() const { return hooks_->carry_width(self_); }
  BlockRoom kept_blocks(Index queries, Index keys) const {
    return hooks_->kept_blocks(self_, queries, keys);
  }
  Index copies() const { return hooks_->copies(self_); }
  Index key_copies() const { return hooks_->key_copies(self_); }
  void choose(double query, const Positions& keys, std::uint8_t* copy) const {
    hooks_->choose(self_, query, keys, copy);
  }
  Index table_heads() const { return hooks_->table_heads(self_); }
  std::span<const std::string_view> gradients() const { return hooks_->gradients; }
  Index gradient_size() const { return hooks_->gradient_size(self_); }
  void collect_gradients(double* sums, float* const* tables) const {
    hooks_->collect_gradients(self_, sums, tables);
  }
  bool needs_scores() const { return hooks_->needs_scores(self_); }
  bool differentiable() const { return hooks_->differentiable; }
  bool remaps_distance() const { return hooks_->place != nullptr; }
  /// Only where distances are remapped.
  double place(Role role, Index copy, double position) const {
    return hooks_->place(self_, role, copy, position);
  }

  // Each does nothing where the encoding does not act.
  void embed(const RowBlock& block) const { hooks_->embed(self_, block); }
  Rotation rotation() const { return hooks_->rotation(self_); }
  void angles(const AngleBlock& block) const { hooks_->angles(self_, block); }
  Plan plan(double length, double* frequencies) const {
    return hooks_->plan(self_, length, frequencies);
  }
  void score(const ScoreTile& tile) const { hooks_->score(self_, tile); }
  void value(const ValueTile& tile) const { hooks_->value(self_, tile); }
  void score_gradient(const ScoreGradient& g) const { hooks_->score_gradient(self_, g); }
  void value_gradient(const ValueGradient& g) const { hooks_->value_gradient(self_, g); }
  void row_gradient(const RowGradient& g) const { hooks_->row_gradient(self_, g); }
  bool learns_angles() const { return hooks_->angle_gradient != nullptr; }
  void angle_gradient(const AngleGradient& g) const { hooks_->angle_gradient(self_, g); }

 private:
  struct Hooks {
    Traits traits;
    std::size_t size;  ///< of the block that `self` is
    void (*destroy)(void*);
    Status (*accepts)(const void*, const Positions&);
    Index (*embed_width)(const void*);
    Index (*heads)(const void*);
    Index (*head_dim)(const void*);
    Index (*value_dim)(const void*);
    std::optional<double> (*score_scale)(const void*, Index);
    double (*logit_scale)(const void*);
    double (*query_scale)(const void*, double);
    Index (*score_scratch)(const void*, Index, Index);
    Index (*carry_width)(const void*);
    BlockRoom (*kept_blocks)(const void*, Index, Index);
    Index (*copies)(const void*);
    Index (*key_copies)(const void*);
    void (*choose)(const void*, double, const Positions&, std::uint8_t*);
    Index (*table_heads)(const void*);
    double (*place)(const void*, Role, Index, double);  ///< null where distances stay what they are
    void (*embed)(const void*, const RowBlock&);
    Rotation (*rotation)(const void*);
    void (*angles)(const void*, const AngleBlock&);
    Plan (*plan)(const void*, double, double*);
    void (*score)(const void*, const ScoreTile&);
    void (*value)(const void*, const ValueTile&);
    bool differentiable;
    std::span<const std::string_view> gradients;
    Index (*gradient_size)(const void*);
    void (*collect_gradients)(const void*, double*, float* const*);
    bool (*needs_scores)(const void*);
    void (*score_gradient)(const void*, const ScoreGradient&);
    void (*value_gradient)(const void*, const ValueGradient&);
    void (*row_gradient)(const void*, const RowGradient&);
    void (*angle_gradient)(const void*, const AngleGradient&);  ///< null: not learned
  };
  template <class E, class Arch>
  static const Hooks hooks_of;
  template <class E>
  static const E& in(const void* self) {
    return **static_cast<const Result<E>*>(self);
  }

  Encoding(void* self, const Hooks* hooks) : self_(self), hooks_(hooks) {}
  /// Takes a block and has `fill` make what it holds. For all encodings: in each of them this was 5 KB
  /// of the WebAssembly module.
  static Result<Encoding> in_block(const Hooks& hooks, void* from,
                                   const Error& (*fill)(void* block, void* from)) {
    void* block = allocate(hooks.size);
    if (block == nullptr)
      return Error{.code = Errc::out_of_memory, .received = static_cast<double>(hooks.size)};
    const Error error = fill(block, from);
    if (error.code == Errc::ok) return Encoding(block, &hooks);
    release(block, hooks.size);
    return error;
  }

  void* self_ = nullptr;
  const Hooks* hooks_ = nullptr;
};

template <class E, class Arch>
const Encoding::Hooks Encoding::hooks_of{
    .traits = Traits(E::spec),
    .size = sizeof(Result<E>),
    .destroy = [](void* self) { std::destroy_at(static_cast<Result<E>*>(self)); },
    .accepts = [](const void* self, const Positions& p) { return in<E>(self).accepts(p); },
    .embed_width = [](const void* self) { return in<E>(self).embed_width(); },
    .heads = [](const void* self) { return in<E>(self).heads(); },
    .head_dim = [](const void* self) { return in<E>(self).head_dim(); },
    .value_dim = [](const void* self) { return in<E>(self).value_dim(); },
    .score_scale = [](const void* self,
                      Index head_dim) { return in<E>(self).score_scale(head_dim); },
    .logit_scale = [](const void* self) { return in<E>(self).logit_scale(); },
    .query_scale = [](const void* self,
                      double position) { return in<E>(self).query_scale(position); },
    .score_scratch = [](const void* self, Index rows,
                        Index cols) { return in<E>(self).score_scratch(rows, cols); },
    .carry_width = [](const void* self) { return in<E>(self).carry_width(); },
    .kept_blocks = [](const void* self, Index queries,
                      Index keys) { return in<E>(self).kept_blocks(queries, keys); },
    .copies = [](const void* self) { return in<E>(self).copies(); },
    .key_copies = [](const void* self) { return in<E>(self).key_copies(); },
    .choose = [](const void* self, double query, const Positions& keys,
                 std::uint8_t* copy) { in<E>(self).choose(query, keys, copy); },
    .table_heads = [](const void* self) { return in<E>(self).table_heads(); },
    .place =
        [] {
          double (*hook)(const void*, Role, Index, double) = nullptr;
          if constexpr (Remaps<E>)
            hook = [](const void* self, Role role, Index copy, double position) {
              return in<E>(self).place(role, copy, position);
            };
          return hook;
        }(),
    .embed =
        [](const void* self, const RowBlock& block) {
          if constexpr (Embeds<E, Arch>) in<E>(self).embed(Arch{}, block);
        },
    .rotation = [](const void* self) -> Rotation {
      if constexpr (Rotates<E>) return in<E>(self).rotation();
      return {};
    },
    .angles =
        [](const void* self, const AngleBlock& block) {
          if constexpr (Rotates<E>) in<E>(self).angles(block);
        },
    .plan = [](const void* self, double length, double* frequencies) -> Plan {
      if constexpr (Rotates<E>) return in<E>(self).plan(length, frequencies);
      return {};
    },
    .score =
        [](const void* self, const ScoreTile& tile) {
          if constexpr (Scores<E, Arch>) in<E>(self).score(Arch{}, tile);
        },
    .value =
        [](const void* self, const ValueTile& tile) {
          if constexpr (AddsValues<E, Arch>) in<E>(self).value(Arch{}, tile);
        },
    .differentiable = posenc::differentiable<E>,
    .gradients = E::gradients,
    .gradient_size = [](const void* self) { return in<E>(self).gradient_size(); },
    .collect_gradients = [](const void* self, double* sums,
                            float* const* tables) { in<E>(self).collect_gradients(sums, tables); },
    .needs_scores = [](const void* self) { return in<E>(self).needs_scores(); },
    .score_gradient =
        [](const void* self, const ScoreGradient& g) {
          if constexpr (ScoresBackwards<E, Arch>) in<E>(self).score_gradient(Arch{}, g);
        },
    .value_gradient =
        [](const void* self, const ValueGradient& g) {
          if constexpr (AddsValuesBackwards<E, Arch>) in<E>(self).value_gradient(Arch{}, g);
        },
    .row_gradient =
        [](const void* self, const RowGradient& g) {
          if constexpr (EmbedsBackwards<E>) in<E>(self).row_gradient(g);
        },
    .angle_gradient = []() -> void (*)(const void*, const AngleGradient&) {
      if constexpr (RotatesBackwards<E>)
        return [](const void* self, const AngleGradient& g) { in<E>(self).angle_gradient(g); };
      else
        return nullptr;
    }(),
};

// Where E::make puts its result, the encoding stays: moving it, member by member, to where it is kept
// took 5 KB of the WebAssembly module.
template <class Arch, PositionalEncoding E>
Result<Encoding> Encoding::make(typename E::Options&& options) {
  static_assert(alignof(E) <= memory_alignment);
  return in_block(hooks_of<E, Arch>, &options, [](void* block, void* from) -> const Error& {
    auto& given = *static_cast<typename E::Options*>(from);
    return (new (block) Result<E>(E::make(std::move(given))))->error();
  });
}

template <class Arch, PositionalEncoding E>
Result<Encoding> Encoding::of(E encoding) {
  static_assert(alignof(E) <= memory_alignment);
  return in_block(hooks_of<E, Arch>, &encoding, [](void* block, void* from) -> const Error& {
    return (new (block) Result<E>(std::move(*static_cast<E*>(from))))->error();
  });
}

inline Status Encoding::accepts(const Positions& positions) const {
  if (traits().axes != positions.axes)
    return Error{.code = Errc::shape_mismatch,
                 .field = "positions",
                 .expected = "as many axes as the encoding has",
                 .received = static_cast<double>(positions.axes)};
  return hooks_->accepts(self_, positions);
}

}  // namespace posenc
