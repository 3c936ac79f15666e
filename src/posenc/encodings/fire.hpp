// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/tile_distances.hpp"
#include "posenc/core/tile_gradients.hpp"

namespace posenc {

/// FIRE, functional interpolation: a small network on the distance relative to the query's own
/// position, so that longer sequences map into the range that was trained. Li et al., 2024.
///
///   b(m, j) = f_h( psi(m - j) / (psi(max(m, L)) + epsilon) ),   psi(x) = ln(|c x| + 1)
///   f(x) = outWeight · relu(hiddenWeight x + hiddenBias) + outBias
///
/// L = |l · multiplier|: the published code starts with 512 and learns the multiplier. Positions
/// count from 0. Keys in the future have |m - j|. The network is piecewise linear in one variable,
/// so it is evaluated as what it is: its pieces, sorted, instead of all its units for every pair.
class Fire : public EncodingDefaults {
 public:
  struct Options {
    int heads = 0;
    Table hidden_weight, hidden_bias, out_weight, out_bias;
    double c = 0.1;
    double l = 512;
    double multiplier = 1;
    double epsilon = 1e-6;
  };
  static constexpr Spec spec{
      .id = "fire",
      .title = "FIRE",
      .summary =
          "A small network on the logarithm of the distance, relative to that of the query's "
          "position.",
      .formula = "b(m, j) = MLP(ψ(m − j)/ψ(max(m, L))), ψ(x) = ln(|c·x| + 1)",
      .paper = "Li et al., 2024",
      .url = "https://arxiv.org/abs/2310.04418",
      .sites = {.score = true},
      .content_free = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::number<&Options::c>("c", "Factor of distances inside the logarithm.", -1e6, 1e6),
      F::number<&Options::l>("l", "Up to this position the denominator is the same.", 0, 1e9),
      F::number<&Options::multiplier>("multiplier", "Multiplies l; learned, 1 at first.", -1e6,
                                      1e6),
      F::number<&Options::epsilon>("epsilon", "Added to the denominator; 0 in the paper.", 0, 1),
      F::table<&Options::hidden_weight>("hiddenWeight", "Weights of the hidden units [width].",
                                        Dim::any("width", 32))
          .required()
          .initialised_by(1.0),
      F::table<&Options::hidden_bias>("hiddenBias", "Biases of the hidden units [width].",
                                      Dim::any("width", 32))
          .required()
          .initialised_by(0.5),
      F::table<&Options::out_weight>("outWeight", "Weights of the outputs [heads, width].",
                                     Dim::of("heads"), Dim::any("width", 32))
          .required()
          .initialised_by(0.5),
      F::table<&Options::out_bias>("outBias", "Biases of the outputs [heads]; zeros when left out.",
                                   Dim::of("heads"))};

  static Result<Fire> make(Options&& o) {
    const double threshold = std::abs(o.l * o.multiplier);
    if (natural_log_1p(std::abs(o.c) * threshold) + o.epsilon == 0)
      return fault(Errc::out_of_range, o.c == 0 ? "c" : "l",
                   "such that the denominator at position 0 is not 0", o.c == 0 ? o.c : o.l);
    Fire made(std::move(o), threshold);
    if (Status s = made.split(made.o_); !s) return s;
    return made;
  }

  Index heads() const { return heads_; }
  Index score_scratch(Index rows, Index cols) const { return distances_of_tile(rows, cols); }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    const auto fill = [&](double first, Index n, float* out) {
      for (Index c = 0; c < n; ++c)
        out[c] = static_cast<float>(psi(first + static_cast<double>(c)));
    };
    using V = xsimd::batch<float, Arch>;
    Line line{pieces_.data() + t.head * count_, count_};
    for_each_row_by_distance(t, fill, [&](Index i, const float* psis) {
      line.scale(psi(std::max(t.q_pos[i], threshold_)) + epsilon_);
      float* row = t.scores.row(i);
      for (Index j = 0; j < t.scores.cols;) {
        const Index end = std::min(j + lanes<Arch>, t.scores.cols);
        if (end - j == lanes<Arch>) {
          const V x = V::load_unaligned(psis + j);
          if (xsimd::all((x >= V(line.first)) & (x < V(line.end)))) {
            const V sum =
                V::load_unaligned(row + j) + multiply_add<Arch>(V(line.slope), x, V(line.offset));
            sum.store_unaligned(row + j);
            j = end;
            continue;
          }
        }
        for (; j < end; ++j) row[j] += line.at(psis[j]);
      }
    });
  }

  static constexpr std::array<std::string_view, 6> gradients{
      "hiddenWeight", "hiddenBias", "outWeight", "outBias", "c", "multiplier"};
  /// For each head and piece the sums of gradient * x and of gradient, then for c and for L.
  Index gradient_size() const { return 2 * heads_ * count_ + 2; }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const ScoreTile& t = g.tile;
    const auto fill = [&](double first, Index n, float* out) {
      for (Index c = 0; c < n; ++c)
        out[c] = static_cast<float>(psi(first + static_cast<double>(c)));
    };
    const Piece* pieces = pieces_.data() + t.head * count_;
    double *sums = g.sums + 2 * t.head * count_, *numbers = g.sums + 2 * heads_ * count_;
    Index at = 0;
    for_each_row_by_distance(t, fill, [&](Index i, const float* psis) {
      const double origin = std::max(t.q_pos[i], threshold_);
      const double inverse = 1 / (psi(origin) + epsilon_);
      for (Index j = 0; j < g.gradient.cols; ++j) {
        const double by = g.gradient.row(i)[j], x = psis[j] * inverse;
        while (at > 0 && x < pieces[at].start) --at;
        while (at + 1 < count_ && x >= pieces[at + 1].start) ++at;
        sums[2 * at] += by * x;
        sums[2 * at + 1] += by;
        const double by_x = by * pieces[at].slope * inverse;
        numbers[0] += by_x * (psi_by_c(t.k_pos[j] - t.q_pos[i]) - x * psi_by_c(origin));
        if (t.q_pos[i] < threshold_) numbers[1] -= by_x * x * c_ / (1 + c_ * threshold_);
      }
    });
  }
  void collect_gradients(double* sums, float* const* tables) const {
    const Index width = o_.hidden_weight.shape[0];
    const auto add = [&](std::size_t table, Index at, double by) {
      if (tables[table] != nullptr) tables[table][at] += static_cast<float>(by);
    };
    for (Index h = 0; h < heads_; ++h)
      for (Index p = 0; p < count_; ++p) {
        const double by_x = sums[2 * (h * count_ + p)], by = sums[2 * (h * count_ + p) + 1];
        const double x = inside(pieces_.data() + h * count_, count_, p);
        add(3, h, by);
        for (Index u = 0; u < width; ++u) {
          const double w = o_.hidden_weight.data.data()[u], b = o_.hidden_bias.data.data()[u],
                       out = o_.out_weight.row(h)[u];
          if (w * x + b <= 0) continue;
          add(0, u, out * by_x);
          add(1, u, out * by);
          add(2, h * width + u, w * by_x + b * by);
        }
      }
    const double* numbers = sums + 2 * heads_ * count_;
    add(4, 0, numbers[0] * std::copysign(1.0, o_.c));
    add(5, 0, numbers[1] * o_.l * std::copysign(1.0, o_.l * o_.multiplier));
  }

 private:
  /// slope x + offset, from x = start on.
  struct Piece {
    double start, slope, offset;
  };

  /// The piece in force as a function of psi alone, for one query: neighbours are in the same piece
  /// or the next one, and most vectors of keys in a single one.
  struct Line {
    const Piece* pieces;
    Index count, index = 0;
    double denominator = 1;
    float first = 0, end = 0, slope = 0, offset = 0;

    void scale(double by) {
      denominator = by;
      move(0);
    }
    void move(Index step) {
      index += step;
      const Piece& piece = pieces[index];
      first = index == 0 ? -std::numeric_limits<float>::infinity() : start(index);
      end = index + 1 == count ? std::numeric_limits<float>::infinity() : start(index + 1);
      slope = static_cast<float>(piece.slope / denominator);
      offset = static_cast<float>(piece.offset);
    }
    float start(Index i) const { return static_cast<float>(pieces[i].start * denominator); }
    float at(float x) {
      while (x < first) move(-1);
      while (x >= end) move(1);
      return slope * x + offset;
    }
  };

  Fire(Options&& o, double threshold)
      : heads_(o.heads),
        c_(std::abs(o.c)),
        threshold_(threshold),
        epsilon_(o.epsilon),
        o_(std::move(o)) {}

  /// Where units are on or off as everywhere in piece p.
  static double inside(const Piece* pieces, Index count, Index p) {
    return p + 1 == count ? pieces[p].start + 1 : (pieces[p].start + pieces[p + 1].start) / 2;
  }
  /// The derivative of psi by |c|.
  double psi_by_c(double distance) const {
    return std::abs(distance) / (1 + c_ * std::abs(distance));
  }

  double psi(double distance) const { return natural_log_1p(c_ * std::abs(distance)); }

  /// A unit w x + b turns on or off at -b/w; between two such places every head is linear in x >=
  /// 0.
  Status split(const Options& o) {
    const auto width = static_cast<std::size_t>(o.hidden_weight.shape[0]);
    Buffer<double> starts;
    if (Status s = starts.allocate(width + 1); !s) return s;
    std::size_t used = 1;  // the first piece starts at 0
    for (std::size_t u = 0; u < width; ++u) {
      const double place = -static_cast<double>(o.hidden_bias.data[u]) / o.hidden_weight.data[u];
      if (!(place > 0 && std::isfinite(place))) continue;  // b = 0: on or off for all x > 0
      std::size_t at =
          used++;  // into its place: std::sort would be the largest function of this file
      for (; starts[at - 1] > place; --at) starts[at] = starts[at - 1];
      starts[at] = place;
    }
    count_ = static_cast<Index>(used);
    const auto all = checked_product(used, static_cast<std::size_t>(heads_));
    if (!all) return fault(Errc::too_large, "heads", "");
    if (Status s = pieces_.allocate(*all); !s) return s;
    for (Index h = 0; h < heads_; ++h)
      for (Index p = 0; p < count_; ++p)
        pieces_.data()[h * count_ + p] = piece(o, h, starts.data(), p);
    return {};
  }

  Piece piece(const Options& o, Index head, const double* starts, Index p) const {
    const double inside = p + 1 == count_ ? starts[p] + 1 : (starts[p] + starts[p + 1]) / 2;
    Piece made{starts[p], 0,
               o.out_bias.empty() ? 0.0 : static_cast<double>(o.out_bias.data.data()[head])};
    for (Index u = 0; u < o.hidden_weight.shape[0]; ++u) {
      const double w = o.hidden_weight.data.data()[u], b = o.hidden_bias.data.data()[u];
      if (w * inside + b <= 0) continue;
      made.slope += o.out_weight.row(head)[u] * w;
      made.offset += o.out_weight.row(head)[u] * b;
    }
    return made;
  }

  Buffer<Piece> pieces_;  ///< [heads][count]
  Index heads_, count_ = 0;
  double c_, threshold_, epsilon_;
  Options o_;
};

}  // namespace posenc
