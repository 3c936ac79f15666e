// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/tile_distances.hpp"
#include "posenc/core/tile_gradients.hpp"

namespace posenc {

/// Kernelised relative positions: a learned, conditionally positive definite function of distance
/// per head. Chi et al., 2022.
///
///   log    b = -r1 ln(1 + r2 d)          power  b = -r1 d^r2, r2 <= 2          d = max(m - j, 0)
///
/// Keys in the future get 0, as in the published code, which is causal; `symmetric` takes |m - j|,
/// as the paper writes. That code also lifts parameters to 0.01: `minimum` does, and 0 leaves them.
/// `w1` and `w2` are its multiplicative variant: scores are first multiplied by exp(-w1 d^w2).
/// power with r2 = 1 is ALiBi with slopes r1.
class Kerple : public EncodingDefaults {
 public:
  enum class Kind { log, power };
  static constexpr std::array<std::string_view, 2> kind_names{"log", "power"};

  struct Options {
    int heads = 0;
    Kind kind = Kind::log;
    Buffer<double> r1, r2, w1, w2;
    double minimum = 0;
    bool symmetric = false;
  };
  static constexpr Spec spec{
      .id = "kerple",
      .title = "KERPLE",
      .summary = "A logarithm or a power of the distance, with learned parameters per head.",
      .formula = "s(m, j) = qₘ·kⱼ/√d − r₁ ln(1 + r₂(m − j))  or  − r₁(m − j)^r₂",
      .paper = "Chi et al., 2022",
      .url = "https://arxiv.org/abs/2205.09921",
      .sites = {.score = true},
      .relative = true,
      .content_free = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::choice<&Options::kind>("kind", "A logarithm or a power of the distance.", kind_names),
      F::list<&Options::r1>("r1", "How strong the penalty is, one per head.", 0, 1e6,
                            Dim::of("heads"))
          .required(1),
      F::list<&Options::r2>("r2",
                            "log: factor of the distance; power: exponent up to 2; one per head.",
                            0, 1e6, Dim::of("heads"))
          .required(0.5),
      F::list<&Options::w1>("w1", "Multiplies scores by exp(-w1 d^w2), one per head; with w2.", 0,
                            1e6, Dim::of("heads")),
      F::list<&Options::w2>("w2", "The exponent of that factor, up to 2, one per head.", 0, 2,
                            Dim::of("heads")),
      F::number<&Options::minimum>(
          "minimum", "Smaller parameters count as this; the published code has 0.01.", 0, 1),
      F::boolean<&Options::symmetric>("symmetric", "Penalise keys in the future too, by |m - j|.")};

  static Result<Kerple> make(Options&& o) {
    if (o.w1.empty() != o.w2.empty())
      return fault(Errc::missing_option, o.w1.empty() ? "w1" : "w2",
                   "given together with the other");
    if (o.kind == Kind::power)
      for (std::size_t h = 0; h < o.r2.size(); ++h)
        // beyond 2 the kernel is no kernel, and 0^0 is no penalty
        if (const double r2 = std::max(o.r2[h], o.minimum); r2 <= 0 || r2 > 2)
          return outside(Errc::out_of_range, "r2", "above 0 up to 2 for a power", r2, 0, 2,
                         static_cast<double>(h));
    return Kerple(std::move(o));
  }

  Index heads() const { return o_.heads; }
  Index score_scratch(Index rows, Index cols) const { return distances_of_tile(rows, cols); }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    if (!o_.w1.empty()) weaken<Arch>(t, lifted(o_.w1, t.head), lifted(o_.w2, t.head));
    const double r1 = lifted(o_.r1, t.head), r2 = lifted(o_.r2, t.head);
    add_by_distance<Arch>(t, 1.0f, [&](double first, Index n, float* out) {
      for (Index c = 0; c < n; ++c) {
        const double d = distance(first + static_cast<double>(c));
        out[c] = static_cast<float>(-r1 *
                                    (o_.kind == Kind::log ? natural_log_1p(r2 * d) : power(d, r2)));
      }
    });
  }

  static constexpr std::array<std::string_view, 4> gradients{"r1", "r2", "w1", "w2"};
  Index gradient_size() const { return 4 * o_.heads; }
  bool needs_scores() const { return !o_.w1.empty(); }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const Index h = g.tile.head;
    const double r1 = lifted(o_.r1, h), r2 = lifted(o_.r2, h);
    double by_r1 = 0, by_r2 = 0;
    for_each_distance(g, [&](double relative, double by) {
      const double d = distance(relative);
      if (d == 0) return;
      const bool log = o_.kind == Kind::log;
      const double base = log ? natural_log_1p(r2 * d) : power(d, r2);
      by_r1 -= by * base;
      by_r2 -= by * r1 * (log ? d / (1 + r2 * d) : base * natural_log(d));
    });
    add(g, 0, o_.r1, by_r1);
    add(g, 1, o_.r2, by_r2);
    if (!o_.w1.empty()) weaken_gradient(g);
  }
  void collect_gradients(double* sums, float* const* tables) const {
    for (Index i = 0; i < (o_.w1.empty() ? 2 : 4); ++i)
      round_gradients(sums + i * o_.heads, o_.heads, tables[i]);
  }

 private:
  explicit Kerple(Options&& o) : o_(std::move(o)) {}

  double lifted(const Buffer<double>& list, Index head) const {
    return std::max(list.data()[head], o_.minimum);
  }
  /// A parameter below the minimum does not matter.
  void add(const ScoreGradient& g, Index list, const Buffer<double>& given, double by) const {
    if (given.data()[g.tile.head] >= o_.minimum) g.sums[list * o_.heads + g.tile.head] += by;
  }

  double distance(double relative) const {
    return o_.symmetric ? std::abs(relative) : std::max(-relative, 0.0);
  }

  template <class Arch>
  void weaken(const ScoreTile& t, double w1, double w2) const {
    const auto fill = [&](double first, Index n, float* out) {
      for (Index c = 0; c < n; ++c) {
        const double d = distance(first + static_cast<double>(c));
        out[c] = d == 0 ? 1.0f : static_cast<float>(exponential(-w1 * power(d, w2)));
      }
    };
    for_each_row_by_distance(t, fill, [&](Index i, const float* factors) {
      float* row = t.scores.row(i);
      for_each_vector<Arch>(t.scores.cols, [&](Index j, auto io) {
        io.store(io.load(row + j) * io.load(factors + j), row + j);
      });
    });
  }

  void weaken_gradient(const ScoreGradient& g) const {
    const double w1 = lifted(o_.w1, g.tile.head), w2 = lifted(o_.w2, g.tile.head);
    double by_w1 = 0, by_w2 = 0;
    for (Index i = 0; i < g.gradient.rows; ++i)
      for (Index j = 0; j < g.gradient.cols; ++j) {
        float& by = g.gradient.row(i)[j];
        const double d = distance(g.tile.k_pos[j] - g.tile.q_pos[i]);
        if (by == 0 || d == 0) continue;
        const double raised = power(d, w2), factor = exponential(-w1 * raised);
        const double each = by * factor * g.tile.scores.row(i)[j] * raised;
        by_w1 -= each;
        by_w2 -= each * w1 * natural_log(d);
        by = static_cast<float>(by * factor);
      }
    add(g, 2, o_.w1, by_w1);
    add(g, 3, o_.w2, by_w2);
  }

  Options o_;
};

}  // namespace posenc
