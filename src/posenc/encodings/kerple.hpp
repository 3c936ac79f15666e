// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include "posenc/core/position_rules.hpp"
#include "posenc/core/tile_distances.hpp"

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

  static Result<Kerple> make(Options o) {
    if (o.w1.empty() != o.w2.empty())
      return Error{.code = Errc::missing_option,
                   .field = o.w1.empty() ? "w1" : "w2",
                   .expected = "given together with the other"};
    for (Buffer<double>* list : {&o.r1, &o.r2, &o.w1, &o.w2})
      for (std::size_t h = 0; h < list->size(); ++h) (*list)[h] = std::max((*list)[h], o.minimum);
    if (o.kind == Kind::power)
      for (std::size_t h = 0; h < o.r2.size(); ++h)
        if (o.r2[h] <= 0 || o.r2[h] > 2)  // beyond 2 the kernel is no kernel, and 0^0 is no penalty
          return Error{.code = Errc::out_of_range,
                       .field = "r2",
                       .expected = "above 0 up to 2 for a power",
                       .received = o.r2[h],
                       .index = static_cast<double>(h),
                       .low = 0,
                       .high = 2};
    return Kerple(std::move(o));
  }

  Index heads() const { return o_.heads; }
  Index score_scratch(Index rows, Index cols) const { return distances_of_tile(rows, cols); }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    const auto h = static_cast<std::size_t>(t.head);
    if (!o_.w1.empty()) weaken<Arch>(t, o_.w1[h], o_.w2[h]);
    const double r1 = o_.r1[h], r2 = o_.r2[h];
    add_by_distance<Arch>(t, 1.0f, [&](double first, Index n, float* out) {
      for (Index c = 0; c < n; ++c) {
        const double d = distance(first + static_cast<double>(c));
        out[c] =
            static_cast<float>(-r1 * (o_.kind == Kind::log ? std::log1p(r2 * d) : std::pow(d, r2)));
      }
    });
  }

 private:
  explicit Kerple(Options o) : o_(std::move(o)) {}

  double distance(double relative) const {
    return o_.symmetric ? std::abs(relative) : std::max(-relative, 0.0);
  }

  template <class Arch>
  void weaken(const ScoreTile& t, double w1, double w2) const {
    const auto fill = [&](double first, Index n, float* out) {
      for (Index c = 0; c < n; ++c) {
        const double d = distance(first + static_cast<double>(c));
        out[c] = d == 0 ? 1.0f : static_cast<float>(std::exp(-w1 * std::pow(d, w2)));
      }
    };
    for_each_row_by_distance(t, fill, [&](Index i, const float* factors) {
      float* row = t.scores.row(i);
      for_each_vector<Arch>(t.scores.cols, [&](Index j, auto io) {
        io.store(io.load(row + j) * io.load(factors + j), row + j);
      });
    });
  }

  Options o_;
};

}  // namespace posenc
