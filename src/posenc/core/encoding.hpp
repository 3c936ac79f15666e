// SPDX-License-Identifier: Apache-2.0
/// Any encoding behind one type: what everything that uses encodings is given.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "posenc/core/encoding_contract.hpp"
#include "posenc/core/memory.hpp"

namespace posenc {

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
    return fault(Errc::shape_mismatch, "positions", "as many axes as the encoding has",
                 static_cast<double>(positions.axes));
  return hooks_->accepts(self_, positions);
}

}  // namespace posenc
