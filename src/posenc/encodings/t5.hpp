// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/tile_gradients.hpp"
#include "posenc/core/toeplitz.hpp"
#include "posenc/encodings/t5_buckets.hpp"

namespace posenc {

/// T5 relative position bias: a learned scalar per head and distance bucket. Raffel et al., 2020.
///
///   s(m, j) = q_m · k_j + table[bucket(j - m), h]       no 1/sqrt(D): T5 folds it into its weights
///
/// `bidirectional` (encoders) gives half of the buckets to keys in the future; otherwise (decoders)
/// every future key falls into bucket 0, where the causal mask hides it. T5's cross-attention has no
/// bias at all: use no encoding there.
class T5 : public EncodingDefaults {
 public:
  struct Options {
    int heads = 0;
    bool bidirectional = true;
    int buckets = 32;
    int max_distance = 128;
    Table table;
  };
  static constexpr Spec spec{
      .id = "t5",
      .title = "T5 relative bias",
      .summary =
          "A learned number per head for each logarithmic distance bucket, added to the score.",
      .formula = "s(m, j) = qₘ·kⱼ + table[bucket(j − m), h]",
      .paper = "Raffel et al., 2020",
      .url = "https://arxiv.org/abs/1910.10683",
      .used_by = "T5, mT5, UMT5, FLAN-T5",
      .sites = {.score = true},
      .positions = PositionKind::integer,
      .relative = true,
      .content_free = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::boolean<&Options::bidirectional>("bidirectional",
                                          "Encoder buckets, half of them for the future."),
      F::integer<&Options::buckets>("buckets", "Distance buckets in all.", 2, 4096).multiple_of(2),
      F::integer<&Options::max_distance>(
          "maxDistance", "The last bucket begins shortly before this distance.", 2, 65536)
          .logarithmic(),
      F::table<&Options::table>("table", "The learned biases [buckets, heads].", Dim::of("buckets"),
                                Dim::of("heads"))
          .required()
          .initialised_by(1.0)};

  static Result<T5> make(Options&& o) {
    const Index side = o.bidirectional ? o.buckets / 2 : o.buckets;
    if (side < 2)
      return outside(Errc::out_of_range, "buckets", "at least 4 when bidirectional",
                     static_cast<double>(o.buckets), 4, 4096);
    const Index exact = side / 2;
    if (o.max_distance <= exact)
      return outside(Errc::out_of_range, "maxDistance", "greater than the number of exact buckets",
                     static_cast<double>(o.max_distance), static_cast<double>(exact + 1), 65536);
    auto starts = t5_bucket_starts(side, o.max_distance);
    if (!starts) return starts.error();
    T5 made(o, side);
    if (Status s = made.expand(o, *starts); !s) return s;
    return made;
  }

  Index heads() const { return heads_; }
  std::optional<double> score_scale(Index) const { return 1.0; }
  Status accepts(const Positions& positions) const { return check_integer_positions(positions); }

  /// The bucket of a relative position (key minus query).
  Index bucket(Index relative) const {
    const Index n = std::min(relative < 0 ? -relative : relative, reach_);
    if (relative > 0) return bidirectional_ ? side_ + buckets_[static_cast<std::size_t>(n)] : 0;
    return buckets_[static_cast<std::size_t>(n)];
  }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    const ToeplitzRow bias{biases_.data() + t.head * (2 * reach_ + 1), reach_};
    for (Index i = 0; i < t.scores.rows; ++i)
      add_toeplitz<Arch>(bias, t.q_pos[i], t.k_pos, t.scores.row(i));
  }

  static constexpr std::array<std::string_view, 1> gradients{"table"};
  Index gradient_size() const { return (bidirectional_ ? 2 : 1) * side_ * heads_; }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const double reach = static_cast<double>(reach_);
    for_each_distance(g, [&](double relative, double by) {
      const Index row = bucket(static_cast<Index>(std::clamp(relative, -reach, reach)));
      g.sums[row * heads_ + g.tile.head] += by;
    });
  }
  void collect_gradients(double* sums, float* const* tables) const {
    round_gradients(sums, gradient_size(), tables[0]);
  }

 private:
  T5(const Options& o, Index side)
      : heads_(o.heads), side_(side), bidirectional_(o.bidirectional) {}

  /// One row of biases per head, over the distances that still differ.
  Status expand(const Options& o, const Buffer<Index>& starts) {
    reach_ = starts[starts.size() - 1];
    if (Status s = buckets_.allocate(static_cast<std::size_t>(reach_) + 1); !s) return s;
    const Index exact = starts[0];
    std::size_t step = 0;
    for (Index n = 0; n <= reach_; ++n) {
      while (step + 1 < starts.size() && starts[step + 1] <= n) ++step;
      buckets_[static_cast<std::size_t>(n)] =
          static_cast<std::uint16_t>(n < exact ? n : exact + static_cast<Index>(step));
    }
    const auto width = static_cast<std::size_t>(2 * reach_ + 1);
    const auto count = checked_product(width, static_cast<std::size_t>(heads_));
    if (!count) return fault(Errc::too_large, "maxDistance", "");
    if (Status s = biases_.allocate(*count); !s) return s;
    for (Index h = 0; h < heads_; ++h)
      for (Index r = -reach_; r <= reach_; ++r)
        biases_.data()[h * (2 * reach_ + 1) + r + reach_] = o.table.row(bucket(r))[h];
    return {};
  }

  Index heads_, side_;
  bool bidirectional_;
  Index reach_ = 0;  ///< the first distance of the last bucket
  Buffer<std::uint16_t> buckets_;
  Buffer<float> biases_;
};

}  // namespace posenc
