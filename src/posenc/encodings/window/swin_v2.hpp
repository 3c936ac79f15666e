// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numbers>

#include "posenc/core/powers.hpp"
#include "posenc/encodings/window/window_bias.hpp"

namespace posenc {

/// Swin Transformer v2: the bias of an offset from a small network, so that windows may differ from
/// the trained one. Liu et al., 2022.
///
///   b_h(d) = 16 sigmoid( outWeight[h] · relu(hiddenWeight x(d) + hiddenBias) )
///   x(d) = sign(c) log2(|c| + 1) / 3,   c = 8 d / (W - 1),   W = pretrainedWindow where given,
///   else window
///
/// The factors 8 and 1/3 are the published code's; the paper has a plain logarithm. A side of 1 has
/// x = 0. Swin v2 also replaces the product by a cosine, which is not a matter of position: divide
/// q and k by their norms, multiply q by exp(min(logit_scale[h], ln 100)) per head, and leave the
/// scale of attention to this encoding, which asks for 1.
class SwinV2 : public WindowBias {
 public:
  struct Options {
    int heads = 0;
    Buffer<double> window, pretrained_window;
    Table hidden_weight, hidden_bias, out_weight;
  };
  static constexpr Spec spec{
      .id = "swin-v2",
      .title = "Swin v2 continuous bias",
      .summary = "A small network turns the logarithm of an offset inside a window into a bias.",
      .formula = "b(Δ) = 16 σ(MLP(sign(c) log₂(|c| + 1)/3)), c = 8Δ/(W − 1)",
      .paper = "Liu et al., 2022",
      .url = "https://arxiv.org/abs/2111.09883",
      .used_by = "Swin Transformer V2",
      .sites = {.score = true},
      .positions = PositionKind::index,
      .axes = 2,
      .relative = true,
      .content_free = true};
  static constexpr std::array<double, 2> example_window{8, 8};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(4),
      F::list<&Options::window>("window", "Rows and columns of a window.", 1, 2048, Dim::exactly(2))
          .required(8)
          .examples(example_window),
      F::list<&Options::pretrained_window>(
          "pretrainedWindow", "The window of training, where it was another; 0 is none.", 0, 2048,
          Dim::exactly(2)),
      F::table<&Options::hidden_weight>("hiddenWeight", "Weights of the hidden units [width, 2].",
                                        Dim::any("width", 512), Dim::exactly(2))
          .required()
          .initialised_by(1.0),
      F::table<&Options::hidden_bias>("hiddenBias", "Biases of the hidden units [width].",
                                      Dim::any("width", 512))
          .required()
          .initialised_by(0.5),
      F::table<&Options::out_weight>("outWeight", "Weights of the outputs [heads, width].",
                                     Dim::of("heads"), Dim::any("width", 512))
          .required()
          .initialised_by(0.1)};

  static Result<SwinV2> make(Options&& o) {
    if (Status s = check_window(o.window, "window"); !s) return s;
    if (Status s = check_window(o.pretrained_window, "pretrainedWindow", 0); !s) return s;
    auto base = WindowBias::make(o.heads, o.window);
    if (!base) return base.error();
    Buffer<double> sums;
    if (Status s = sums.allocate(static_cast<std::size_t>(o.heads)); !s) return s;
    const Index rows = base->rows(), cols = base->cols();
    for (Index r = 1 - rows; r < rows; ++r)
      for (Index c = 1 - cols; c < cols; ++c)
        evaluate(o, coordinate(o, 0, static_cast<double>(r)),
                 coordinate(o, 1, static_cast<double>(c)), sums, *base,
                 (r + rows - 1) * (2 * cols - 1) + c + cols - 1);
    return SwinV2(std::move(*base), std::move(o));
  }

  /// The cosine is scaled outside, head by head.
  std::optional<double> score_scale(Index) const { return 1.0; }

  /// The input of the network for an offset along axis 0 or 1.
  static double coordinate(const Options& o, std::size_t axis, double offset) {
    const double trained = o.pretrained_window.empty() ? 0 : o.pretrained_window[axis];
    const double size = trained > 0 ? trained : o.window[axis];
    if (size == 1) return 0;
    const double c = 8 * offset / (size - 1);
    return std::copysign(natural_log_1p(std::abs(c)) / (3 * std::numbers::ln2), c);
  }

  static constexpr std::array<std::string_view, 3> gradients{"hiddenWeight", "hiddenBias",
                                                             "outWeight"};
  void collect_gradients(double* sums, float* const* tables) const {
    const Index width = o_.hidden_weight.shape[0];
    const auto add = [&](std::size_t table, Index at, double by) {
      if (tables[table] != nullptr) tables[table][at] += static_cast<float>(by);
    };
    for (Index r = 1 - rows(); r < rows(); ++r)
      for (Index c = 1 - cols(); c < cols(); ++c) {
        const Index entry = (r + rows() - 1) * (2 * cols() - 1) + c + cols() - 1;
        for (Index h = 0; h < heads(); ++h) {  // b = 16 sigmoid(z), so db/dz = b (1 - b/16)
          const double b = at(h, entry);
          sums[h * entries() + entry] *= b * (1 - b / 16);
        }
        const double x[2] = {coordinate(o_, 0, static_cast<double>(r)),
                             coordinate(o_, 1, static_cast<double>(c))};
        for (Index u = 0; u < width; ++u) {
          const float* weight = o_.hidden_weight.row(u);
          const double unit = weight[0] * x[0] + weight[1] * x[1] + o_.hidden_bias.data.data()[u];
          if (unit <= 0) continue;
          double by_unit = 0;
          for (Index h = 0; h < heads(); ++h) {
            const double by = sums[h * entries() + entry];
            by_unit += by * o_.out_weight.row(h)[u];
            add(2, h * width + u, by * unit);
          }
          for (Index a = 0; a < 2; ++a) add(0, 2 * u + a, by_unit * x[a]);
          add(1, u, by_unit);
        }
      }
  }

 private:
  SwinV2(WindowBias base, Options o) : WindowBias(std::move(base)), o_(std::move(o)) {}

  static void evaluate(const Options& o, double row, double col, Buffer<double>& sums,
                       WindowBias& to, Index entry) {
    std::fill_n(sums.data(), sums.size(), 0.0);
    for (Index u = 0; u < o.hidden_weight.shape[0]; ++u) {
      const float* weight = o.hidden_weight.row(u);
      const double unit = weight[0] * row + weight[1] * col + o.hidden_bias.data.data()[u];
      if (unit <= 0) continue;
      for (Index h = 0; h < o.heads; ++h) sums.data()[h] += o.out_weight.row(h)[u] * unit;
    }
    for (Index h = 0; h < o.heads; ++h)
      to.at(h, entry) = static_cast<float>(16 / (1 + exponential(-sums.data()[h])));
  }

  Options o_;
};

}  // namespace posenc
