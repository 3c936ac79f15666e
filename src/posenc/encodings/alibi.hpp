// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cmath>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/tile_gradients.hpp"

namespace posenc {

/// Attention with linear biases: a penalty proportional to distance. Press, Smith & Lewis, 2022.
///
/// Slopes for n heads and maximum M: c = the largest power of two <= n; first 2^(-M t/c), t = 1..c,
/// then the odd terms of the series for 2c, 2^(-M (2t-1)/(2c)), t = 1..n-c. They depend on the
/// query heads of the whole model: `totalHeads` and `headOffset` serve a shard of it.
///   form  relative   -a (m - j)     GPT-NeoX, llama.cpp, MPT (up to a constant per row)
///         symmetric  -a |m - j|     encoders: jina-bert-v2, MPT with alibi_full
///         key        +a j           the original fairseq code, BLOOM
/// Under a causal mask the softmax of all three is the same; without one it is not. Falcon-RW adds
/// the bias before the 1/sqrt(D) scaling and rounds it to bfloat16: `slopeScale` and `rounding`.
class Alibi : public EncodingDefaults {
 public:
  enum class Form { relative, symmetric, key };
  enum class Rounding { none, bf16 };
  static constexpr std::array<std::string_view, 3> form_names{"relative", "symmetric", "key"};
  static constexpr std::array<std::string_view, 2> rounding_names{"none", "bf16"};

  struct Options {
    int heads = 0;
    double bias_max = 8;
    Form form = Form::relative;
    Buffer<double> slopes;
    std::optional<int> total_heads;
    int head_offset = 0;
    double slope_scale = 1;
    Rounding rounding = Rounding::none;
  };
  static constexpr Spec spec{
      .id = "alibi",
      .title = "ALiBi",
      .summary = "A penalty proportional to distance, with a fixed slope per head.",
      .formula = "s(m, j) = qₘ·kⱼ/√d − aₕ(m − j)",
      .paper = "Press, Smith & Lewis, 2022",
      .url = "https://arxiv.org/abs/2108.12409",
      .used_by = "BLOOM, MPT, Falcon-RW, Baichuan-13B, jina-bert-v2",
      .sites = {.score = true},
      .relative = true,
      .content_free = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::number<&Options::bias_max>(
          "biasMax", "Exponent of the gentlest slope: the last is 2^-biasMax.", 0, 64)
          .exclusive_min(),
      F::choice<&Options::form>("form", "-a(m-j), -a|m-j| or +a*j.", form_names),
      F::list<&Options::slopes>("slopes", "Slopes to use instead of the series, one per head.",
                                -1e6, 1e6, Dim::of("heads")),
      F::integer<&Options::total_heads>(
          "totalHeads", "Query heads of the whole model, of which these are a part.", 1, 65536)
          .falls_back_to("heads"),
      F::integer<&Options::head_offset>(
          "headOffset", "Index of the first of these heads in the whole model.", 0, 65535),
      F::number<&Options::slope_scale>(
          "slopeScale", "Multiplies every slope; Falcon-RW: 1/sqrt(headDim).", 0, 1e6)
          .exclusive_min(),
      F::choice<&Options::rounding>("rounding",
                                    "bf16 rounds slope, position and product, as Falcon-RW does.",
                                    rounding_names)};

  static Result<Alibi> make(Options&& o) {
    const int total = o.total_heads.value_or(o.heads);
    if (total < o.heads)
      return fault(Errc::out_of_range, "totalHeads", "at least heads", static_cast<double>(total));
    if (o.head_offset > total - o.heads)
      return fault(Errc::out_of_range, "headOffset", "at most totalHeads - heads",
                   static_cast<double>(o.head_offset));
    Buffer<float> slopes;
    if (Status s = slopes.allocate(static_cast<std::size_t>(o.heads)); !s) return s;
    for (int h = 0; h < o.heads; ++h) {
      const auto i = static_cast<std::size_t>(h);
      const double slope =
          o.slopes.empty() ? series(o.head_offset + h, total, o.bias_max) : o.slopes[i];
      const bool rounds = o.rounding == Rounding::bf16;
      slopes[i] = rounds ? round_to_bf16(static_cast<float>(slope))
                         : static_cast<float>(slope * o.slope_scale);
    }
    return Alibi(o, std::move(slopes));
  }

  Index heads() const { return static_cast<Index>(slopes_.size()); }
  float slope(Index head) const { return slopes_[static_cast<std::size_t>(head)]; }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    for (Index i = 0; i < t.scores.rows; ++i) {
      float* row = t.scores.row(i);
      const double origin = form_ == Form::key ? 0.0 : t.q_pos[i];
      if (t.k_pos.consecutive && t.scores.cols > 0 && rounding_ == Rounding::none)
        add_line<Arch>(row, t.scores.cols, static_cast<float>(t.k_pos[0] - origin), slope(t.head));
      else
        for (Index j = 0; j < t.scores.cols; ++j) row[j] += bias(t.k_pos[j] - origin, t.head);
    }
  }

  static constexpr std::array<std::string_view, 1> gradients{"slopes"};
  Index gradient_size() const { return given_ ? heads() : 0; }
  /// As if nothing were rounded.
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    if (!given_) return;
    double sum = 0;
    if (form_ == Form::key)
      for (Index i = 0; i < g.gradient.rows; ++i)
        for (Index j = 0; j < g.gradient.cols; ++j) sum += g.gradient.row(i)[j] * g.tile.k_pos[j];
    else
      for_each_distance(g, [&](double relative, double by) {
        sum += by * (form_ == Form::symmetric ? -std::abs(relative) : relative);
      });
    g.sums[g.tile.head] += static_cast<double>(scale_) * sum;
  }
  void collect_gradients(double* sums, float* const* tables) const {
    round_gradients(sums, gradient_size(), tables[0]);
  }

 private:
  Alibi(const Options& o, Buffer<float> slopes)
      : slopes_(std::move(slopes)),
        given_(!o.slopes.empty()),
        form_(o.form),
        rounding_(o.rounding),
        scale_(static_cast<float>(o.slope_scale)) {}

  static double series(int head, int heads, double bias_max) {
    const int first = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
    if (head < first) return power(2, -bias_max * (head + 1) / first);
    return power(2, -bias_max * (2 * (head - first) + 1) / (2.0 * first));
  }

  /// To nearest, ties to even.
  static float round_to_bf16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u);
  }

  float bias(double relative, Index head) const {
    const auto r = static_cast<float>(form_ == Form::symmetric ? -std::abs(relative) : relative);
    if (rounding_ == Rounding::none) return slope(head) * r;
    return scale_ * round_to_bf16(slope(head) * round_to_bf16(r));
  }

  /// row[j] += slope * (first + j), or of the negated absolute value for the symmetric form.
  template <class Arch>
  void add_line(float* row, Index n, float first, float slope) const {
    using V = xsimd::batch<float, Arch>;
    const V a(slope), steps = iota<Arch>();
    const bool folded = form_ == Form::symmetric;
    for_each_vector<Arch>(n, [&](Index j, auto io) {
      const V relative = V(first + static_cast<float>(j)) + steps;
      const V distance = folded ? -xsimd::abs(relative) : relative;
      io.store(io.load(row + j) + a * distance, row + j);
    });
  }

  Buffer<float> slopes_;
  bool given_;  ///< and not the series
  Form form_;
  Rounding rounding_;
  float scale_;
};

}  // namespace posenc
