// SPDX-License-Identifier: Apache-2.0
/// The contract between encodings and everything that uses them. An encoding is a plain class that
/// defines the member functions of the sites it acts at; `Encoding` holds any of them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "posenc/core/options.hpp"
#include "posenc/core/result.hpp"
#include "posenc/core/rotation.hpp"
#include "posenc/core/spec.hpp"
#include "posenc/core/view.hpp"

namespace posenc {

/// xPos treats queries and keys differently; every other rotation does not.
enum class Role : std::uint8_t { query, key };

/// embed: rows [n, E] of one sequence; the encoding adds its rows in place.
struct RowBlock {
  View2<float> rows;
  Positions positions;
};

/// rotate: fills out [n, 2 * pairs] with cosines, then sines (amplitude included), per position.
struct AngleBlock {
  View2<float> out{};
  Positions positions{};
  Role role = Role::query;
  double length = 0;          ///< tokens seen in all; dynamic scalings depend on it
  Index copy = 0;             ///< which of the encoding's copies(); 0 for all but distance remaps
  Index head = 0;             ///< where each head has a table of its own
  double* scratch = nullptr;  ///< room for `pairs` frequencies
};

/// score: scaled scores of a block, before the mask and the softmax, changed in place.
struct ScoreTile {
  View2<float> scores;   ///< [queries, keys]
  View2<const float> q;  ///< the query rows, rotated and multiplied by `scale` and temperature
  View2<const float> k;  ///< the key rows as given, not rotated
  Positions q_pos, k_pos;
  Index head = 0;            ///< query head
  float scale = 1.0f;        ///< what the scores were multiplied by; content terms on k need it
  float* scratch = nullptr;  ///< room for score_scratch(queries, keys) floats
  View2<float> carry{};  ///< [queries, carry_width()]: kept from tile to tile of a block of queries
  bool first = true;     ///< the first tile of the block: carry holds nothing yet
  /// [queries]: what each query was multiplied by for where it stands, beside `scale`; null: 1.
  const float* temperatures = nullptr;
  constexpr float temperature(Index query) const {
    return temperatures == nullptr ? 1.0f : temperatures[query];
  }
};

/// value: unnormalised weights of a block and the rows they are summed into. Rescaling the running
/// sum rescales what is added here too, so value terms compose with the online softmax.
struct ValueTile {
  View2<const float> weights;  ///< [queries, keys]; masked ones are 0
  View2<float> out;            ///< [queries, value width]
  Positions q_pos, k_pos;
  Index head = 0;
};

/// What a rotary encoding does at one length: all there is to know of a RoPE scaling.
struct Plan {
  std::span<const double> inverse_frequencies;  ///< radians per position, one per pair
  double attention_factor = 1;                  ///< multiplies cos and sin
  double logit_scale = 1;                       ///< multiplies the softmax scale
  Rotation rotation;
  LengthPolicy length_policy = LengthPolicy::fixed;
};

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
    if (self_ != nullptr) hooks_->destroy(self_);
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
  Index copies() const { return hooks_->copies(self_); }
  Index key_copies() const { return hooks_->key_copies(self_); }
  void choose(double query, const Positions& keys, std::uint8_t* copy) const {
    hooks_->choose(self_, query, keys, copy);
  }
  Index table_heads() const { return hooks_->table_heads(self_); }
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

 private:
  struct Hooks {
    Traits traits;
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
  };
  template <class E, class Arch>
  static const Hooks hooks_of;

  Encoding(void* self, const Hooks* hooks) : self_(self), hooks_(hooks) {}

  void* self_ = nullptr;
  const Hooks* hooks_ = nullptr;
};

template <class E, class Arch>
const Encoding::Hooks Encoding::hooks_of{
    .traits = Traits(E::spec),
    .destroy =
        [](void* self) {
          static_cast<E*>(self)->~E();
          release(self, sizeof(E));
        },
    .accepts = [](const void* self,
                  const Positions& p) { return static_cast<const E*>(self)->accepts(p); },
    .embed_width = [](const void* self) { return static_cast<const E*>(self)->embed_width(); },
    .heads = [](const void* self) { return static_cast<const E*>(self)->heads(); },
    .head_dim = [](const void* self) { return static_cast<const E*>(self)->head_dim(); },
    .value_dim = [](const void* self) { return static_cast<const E*>(self)->value_dim(); },
    .score_scale =
        [](const void* self, Index head_dim) {
          return static_cast<const E*>(self)->score_scale(head_dim);
        },
    .logit_scale = [](const void* self) { return static_cast<const E*>(self)->logit_scale(); },
    .query_scale =
        [](const void* self, double position) {
          return static_cast<const E*>(self)->query_scale(position);
        },
    .score_scratch =
        [](const void* self, Index rows, Index cols) {
          return static_cast<const E*>(self)->score_scratch(rows, cols);
        },
    .carry_width = [](const void* self) { return static_cast<const E*>(self)->carry_width(); },
    .copies = [](const void* self) { return static_cast<const E*>(self)->copies(); },
    .key_copies = [](const void* self) { return static_cast<const E*>(self)->key_copies(); },
    .choose = [](const void* self, double query, const Positions& keys,
                 std::uint8_t* copy) { static_cast<const E*>(self)->choose(query, keys, copy); },
    .table_heads = [](const void* self) { return static_cast<const E*>(self)->table_heads(); },
    .place =
        [] {
          double (*hook)(const void*, Role, Index, double) = nullptr;
          if constexpr (Remaps<E>)
            hook = [](const void* self, Role role, Index copy, double position) {
              return static_cast<const E*>(self)->place(role, copy, position);
            };
          return hook;
        }(),
    .embed =
        [](const void* self, const RowBlock& block) {
          if constexpr (Embeds<E, Arch>) static_cast<const E*>(self)->embed(Arch{}, block);
        },
    .rotation = [](const void* self) -> Rotation {
      if constexpr (Rotates<E>) return static_cast<const E*>(self)->rotation();
      return {};
    },
    .angles =
        [](const void* self, const AngleBlock& block) {
          if constexpr (Rotates<E>) static_cast<const E*>(self)->angles(block);
        },
    .plan = [](const void* self, double length, double* frequencies) -> Plan {
      if constexpr (Rotates<E>) return static_cast<const E*>(self)->plan(length, frequencies);
      return {};
    },
    .score =
        [](const void* self, const ScoreTile& tile) {
          if constexpr (Scores<E, Arch>) static_cast<const E*>(self)->score(Arch{}, tile);
        },
    .value =
        [](const void* self, const ValueTile& tile) {
          if constexpr (AddsValues<E, Arch>) static_cast<const E*>(self)->value(Arch{}, tile);
        },
};

template <class Arch, PositionalEncoding E>
Result<Encoding> Encoding::of(E encoding) {
  static_assert(alignof(E) <= memory_alignment);
  void* place = allocate(sizeof(E));
  if (place == nullptr)
    return Error{.code = Errc::out_of_memory, .received = static_cast<double>(sizeof(E))};
  return Encoding(new (place) E(std::move(encoding)), &hooks_of<E, Arch>);
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
