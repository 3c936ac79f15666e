// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/tile_distances.hpp"
#include "posenc/core/waves.hpp"

namespace posenc {

/// Sandwich: the inner products of sinusoidal embeddings, without the embeddings. Chi et al., 2023.
///
///   b_h(d) = (sum_i cos(d / base^(2i/dim)) - dim/2) / (8 h / H)       h = 1 .. H
///
/// over dim/2 values of i from `start` on: 0 in the paper, 1 in NVIDIA NeMo's code, and these are
/// different biases (-33.48 and -32.87 at d = 64). What is subtracted makes the bias 0 at d = 0 and
/// is the same for all keys, so the softmax does not see it. Even in d; NeMo gives keys in the
/// future d = 0, where the causal mask hides them.
class Sandwich : public EncodingDefaults {
 public:
  struct Options {
    int heads = 0;
    int dim = 128;
    int start = 0;
    double base = 10000;
  };
  static constexpr Spec spec{
      .id = "sandwich",
      .title = "Sandwich",
      .summary =
          "The inner product of two sinusoidal embeddings as a bias, weaker from head to head.",
      .formula = "bₕ(δ) = (Σᵢ cos(δ/10000^(2i/d̄)) − d̄/2)·H/(8h), h = 1 … H",
      .paper = "Chi et al., 2023",
      .url = "https://arxiv.org/abs/2212.10356",
      .used_by = "NVIDIA NeMo",
      .sites = {.score = true},
      .relative = true,
      .content_free = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::integer<&Options::dim>("dim", "Width of the embeddings whose inner product this is.", 2,
                                4096)
          .multiple_of(2),
      F::integer<&Options::start>("start", "The first i: 0 in the paper, 1 in NeMo.", 0, 1),
      F::number<&Options::base>("base", "Base of the geometric series of wavelengths.", 1, 1e9)
          .exclusive_min()
          .logarithmic()};

  static Result<Sandwich> make(Options&& o) {
    const auto pairs = static_cast<std::size_t>(o.dim / 2);
    Buffer<double> frequencies;
    if (Status s = frequencies.allocate(pairs); !s) return s;
    Buffer<double> steps;
    if (Status s = steps.allocate(pairs * 2 * span); !s) return s;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double frequency = power(o.base, -2.0 * (static_cast<double>(i) + o.start) / o.dim);
      frequencies[i] = frequency;
      double *cosines = steps.data() + 2 * i * span, *sines = cosines + span;
      for_each_cosine_and_sine(
          span, [&](Index c) { return static_cast<double>(c) * frequency; },
          [&](Index c, double cosine, double sine) {
            cosines[c] = cosine;
            sines[c] = sine;
          });
    }
    return Sandwich(o, std::move(frequencies), std::move(steps));
  }

  Index heads() const { return heads_; }
  Index score_scratch(Index rows, Index cols) const { return distances_of_tile(rows, cols); }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    const double factor = static_cast<double>(heads_) / (8.0 * static_cast<double>(t.head + 1));
    add_by_distance<Arch>(t, 1.0f, [&](double first, Index n, float* out) {
      for (Index c = 0; c < n; c += span)
        fill(first + static_cast<double>(c), std::min<Index>(span, n - c), factor, out + c);
    });
  }

 private:
  /// A cosine costs ten times a multiplication, so 64 distances share one per frequency:
  /// cos(a + c) = cos a cos c - sin a sin c, with c from a table.
  static constexpr Index span = 64;

  Sandwich(const Options& o, Buffer<double> frequencies, Buffer<double> steps)
      : frequencies_(std::move(frequencies)), steps_(std::move(steps)), heads_(o.heads) {}

  void fill(double first, Index n, double factor, float* out) const {
    std::array<double, static_cast<std::size_t>(span)> sums;
    sums.fill(-static_cast<double>(frequencies_.size()));
    for_each_cosine_and_sine(
        static_cast<Index>(frequencies_.size()),
        [&](Index i) { return first * frequencies_[static_cast<std::size_t>(i)]; },
        [&](Index i, double cosine, double sine) {
          const double* steps = steps_.data() + 2 * i * span;
          for (Index c = 0; c < n; ++c)
            sums[static_cast<std::size_t>(c)] += cosine * steps[c] - sine * steps[span + c];
        });
    for (Index c = 0; c < n; ++c)
      out[c] = static_cast<float>(factor * sums[static_cast<std::size_t>(c)]);
  }

  Buffer<double> frequencies_;
  Buffer<double> steps_;  ///< [pairs][2][span]: cosines, then sines, of c times the frequency
  Index heads_;
};

}  // namespace posenc
