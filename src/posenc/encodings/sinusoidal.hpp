// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/waves.hpp"

namespace posenc {

/// Sinusoids of geometrically falling frequency, added to the embedding. Vaswani et al., 2017.
///
/// There is no "the" sinusoidal encoding: frequency rule and layout are independent choices.
///   frequencies  paper  w_i = base^(-2i/dim)               the paper, Transformer-XL, HF Marian
///                t2t    w_i = base^(-i/(floor(dim/2)-1))   tensor2tensor, fairseq, Whisper
///   layout       interleaved  [sin w0, cos w0, sin w1, cos w1, …]
///                half         [sin w0, sin w1, … | cos w0, cos w1, …]
/// At dim 512 the two rules differ by up to 1.3 within 1024 positions: unrelated vectors. An odd
/// width ends with a zero (t2t) or with one more sine (paper), as the references do. Angles are
/// formed in float64 and the results rounded once.
class Sinusoidal : public EncodingDefaults {
 public:
  enum class Rule { paper, t2t };
  enum class Order { interleaved, half };
  enum class Odd { automatic, zero, sine };
  static constexpr std::array<std::string_view, 2> rule_names{"paper", "t2t"};
  static constexpr std::array<std::string_view, 2> order_names{"interleaved", "half"};
  static constexpr std::array<std::string_view, 3> odd_names{"auto", "zero", "sine"};

  struct Options {
    int dim = 0;
    double base = 10000;
    Rule frequencies = Rule::paper;
    Order layout = Order::interleaved;
    double start = 0;
    double scale = 1;
    Odd odd = Odd::automatic;
  };
  static constexpr Spec spec{
      .id = "sinusoidal",
      .title = "Sinusoidal",
      .summary = "Sines and cosines of falling frequency, added to the token embedding.",
      .formula = "PE(p, 2i) = sin(p·ωᵢ), PE(p, 2i+1) = cos(p·ωᵢ), ωᵢ = base^(−2i/dim)",
      .paper = "Vaswani et al., 2017",
      .url = "https://arxiv.org/abs/1706.03762",
      .used_by = "Transformer, Marian, Whisper, M2M-100",
      .sites = {.embed = true}};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::dim>("dim", "Width of the embedding.", 1, 65536).required(64),
      F::number<&Options::base>("base", "Ratio between the longest and the shortest wavelength.", 1,
                                1e15)
          .exclusive_min()
          .logarithmic(),
      F::choice<&Options::frequencies>("frequencies", "Exponent 2i/dim, or i/(half - 1).",
                                       rule_names),
      F::choice<&Options::layout>("layout", "Sine and cosine in turns, or all sines first.",
                                  order_names),
      F::number<&Options::start>("start", "Added to every position; fairseq: padding index + 1.",
                                 -1e9, 1e9),
      F::number<&Options::scale>("scale", "Multiplies every channel.", -1e6, 1e6),
      F::choice<&Options::odd>(
          "odd", "The last channel of an odd width; auto: zero for t2t, else a sine.", odd_names)};

  static Result<Sinusoidal> make(Options&& o) {
    const auto half = static_cast<std::size_t>(o.dim / 2);
    Buffer<double> frequencies;
    if (Status s = frequencies.allocate(half + 1); !s) return s;
    // t2t's own guard: width 2 and 3 would divide by zero.
    const double denominator = o.frequencies == Rule::paper
                                   ? static_cast<double>(o.dim) / 2
                                   : std::max(static_cast<double>(half) - 1, 1.0);
    for (std::size_t i = 0; i <= half; ++i)
      frequencies[i] = power(o.base, -static_cast<double>(i) / denominator);
    return Sinusoidal(o, std::move(frequencies));
  }

  Index embed_width() const { return o_.dim; }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void embed(Arch, const RowBlock& b) const {
    b.copy_source();
    const Index half = o_.dim / 2;
    const bool extra_sine =
        o_.dim % 2 == 1 &&
        (o_.odd == Odd::automatic ? o_.frequencies == Rule::paper : o_.odd == Odd::sine);
    const bool in_turns = o_.layout == Order::interleaved;
    const Index sines = half + (extra_sine ? 1 : 0), step = in_turns ? 2 : 1;
    for (Index first = 0; first < sines; first += Waves::most) {
      const Index n = std::min(Waves::most, sines - first), cosines = std::min(n, half - first);
      Waves waves(frequencies_.data() + first, n);
      for (Index t = 0; t < b.rows.rows; ++t) {
        std::array<float, static_cast<std::size_t>(Waves::most)> c, s;
        waves.at(b.positions[t] + o_.start);
        waves.write(o_.scale, c.data(), s.data());
        float* x = b.rows.row(t) + first * step;
        if (in_turns) {
          add_in_turns<Arch>(s.data(), c.data(), cosines, x);
          if (cosines < n) x[2 * cosines] += s[static_cast<std::size_t>(cosines)];
        } else {
          add_scaled<Arch>(1, s.data(), x, n);
          add_scaled<Arch>(1, c.data(), x + sines, cosines);
        }
      }
    }
  }

 private:
  /// x[2i] += a[i], x[2i + 1] += b[i].
  template <class Arch>
  static void add_in_turns(const float* a, const float* b, Index n, float* x) {
    using V = xsimd::batch<float, Arch>;
    constexpr Index width = lanes<Arch>;
    Index i = 0;
    for (; i + width <= n; i += width) {
      const V first = V::load_unaligned(a + i), second = V::load_unaligned(b + i);
      float *low = x + 2 * i, *high = low + width;
      (V::load_unaligned(low) + xsimd::zip_lo(first, second)).store_unaligned(low);
      (V::load_unaligned(high) + xsimd::zip_hi(first, second)).store_unaligned(high);
    }
    for (; i < n; ++i) {
      x[2 * i] += a[i];
      x[2 * i + 1] += b[i];
    }
  }

  Sinusoidal(const Options& o, Buffer<double> frequencies)
      : o_(o), frequencies_(std::move(frequencies)) {}
  Options o_;
  Buffer<double> frequencies_;
};

}  // namespace posenc
