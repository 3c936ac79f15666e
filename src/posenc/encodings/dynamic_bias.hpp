// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/tile_distances.hpp"
#include "posenc/core/tile_gradients.hpp"

namespace posenc {

/// Dynamic position bias: a small network on the signed distance. Wang et al., 2021 (CrossFormer);
/// x-transformers.
///
///   b_h(d) = outWeight[h] · a(inner · a(hiddenWeight x + hiddenBias) + innerBias) + outBias[h],  d
///   = m - j x = d, or with `logDistance` sign(d) ln(|d| + 1);   a = SiLU or ReLU;   `inner` any
///   number of times
///
/// Biases up to `reach` are computed once; farther ones once in each call; those between whole numbers
/// are right but cost an evaluation of the network in each tile.
class DynamicBias : public EncodingDefaults {
 public:
  enum class Activation { silu, relu };
  static constexpr std::array<std::string_view, 2> activation_names{"silu", "relu"};

  struct Options {
    int heads = 0;
    bool log_distance = false;
    Activation activation = Activation::silu;
    int reach = 512;
    Table hidden_weight, hidden_bias, inner_weight, inner_bias, out_weight, out_bias;
  };
  static constexpr Spec spec{
      .id = "dynamic-bias",
      .title = "Dynamic position bias",
      .summary = "A small network turns the distance into a bias for each head.",
      .formula = "bₕ(δ) = MLP(δ)  or  MLP(sign(δ) ln(|δ| + 1))",
      .paper = "Wang et al., 2021",
      .url = "https://arxiv.org/abs/2108.00154",
      .used_by = "CrossFormer, x-transformers",
      .sites = {.score = true},
      .relative = true,
      .content_free = true};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(8),
      F::boolean<&Options::log_distance>("logDistance",
                                         "The network sees the logarithm of the distance."),
      F::choice<&Options::activation>("activation", "Between the layers.", activation_names),
      F::integer<&Options::reach>("reach", "Distances whose biases are computed once.", 0, 65536),
      F::table<&Options::hidden_weight>("hiddenWeight", "Weights of the first layer [width].",
                                        Dim::any("width", 32))
          .required()
          .initialised_by(0.5),
      F::table<&Options::hidden_bias>("hiddenBias", "Biases of the first layer [width].",
                                      Dim::any("width", 32))
          .required()
          .initialised_by(0.5),
      F::table<&Options::inner_weight>(
          "innerWeight", "Weights of the layers between [layers, width, width].",
          Dim::any("layers", 1), Dim::any("width", 32), Dim::any("width", 32)),
      F::table<&Options::inner_bias>("innerBias", "Biases of the layers between [layers, width].",
                                     Dim::any("layers", 1), Dim::any("width", 32)),
      F::table<&Options::out_weight>("outWeight", "Weights of the outputs [heads, width].",
                                     Dim::of("heads"), Dim::any("width", 32))
          .required()
          .initialised_by(0.2),
      F::table<&Options::out_bias>("outBias", "Biases of the outputs [heads]; zeros when left out.",
                                   Dim::of("heads"))};

  static Result<DynamicBias> make(Options&& o) {
    if (o.inner_weight.empty() != o.inner_bias.empty())
      return fault(Errc::missing_option, o.inner_bias.empty() ? "innerBias" : "innerWeight",
                   o.inner_bias.empty() ? "given together with innerWeight"
                                        : "given together with innerBias");
    DynamicBias made(std::move(o));
    if (Status s = made.expand(); !s) return s;
    return made;
  }

  Index heads() const { return o_.heads; }
  Index score_scratch(Index rows, Index cols) const {
    return distances_of_tile(rows, cols) + 2 * width();
  }
  BlockRoom kept_blocks(Index queries, Index keys) const {
    if (std::max(queries, keys) <= o_.reach) return {};
    return BlockRoom::for_call(queries, keys, o_.heads);
  }
  Status accepts(const Positions& positions) const { return check_real_positions(positions); }

  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    const float* kept = biases_.data() + t.head * (2 * o_.reach + 1) + o_.reach;
    float* units = t.scratch + distances_of_tile(t.scores.rows, t.scores.cols);
    add_by_distance<Arch>(t, 1.0f, [&](double first, Index n, float* out) {
      const float* block = nullptr;
      for (Index c = 0; c < n; ++c) {
        const double relative = first + static_cast<double>(c);
        const bool whole = relative == std::trunc(relative);
        if (whole && std::abs(relative) <= o_.reach) {
          out[c] = kept[static_cast<Index>(relative)];
          block = nullptr;
        } else if (whole && t.kept.any() && std::abs(relative) < 1 << 30) {
          const auto at = static_cast<Index>(relative);
          const Index inside = at & (distances_in_block - 1);
          if (block == nullptr || inside == 0)
            block = t.kept.get(1, (at - inside) / distances_in_block,
                               [&](float* to) { fill_block(at - inside, units, to); });
          out[c] = block[t.head * distances_in_block + inside];
        } else {
          out[c] = output(t.head, evaluate(-relative, units));
        }
      }
    });
  }

  static constexpr std::array<std::string_view, 6> gradients{
      "hiddenWeight", "hiddenBias", "innerWeight", "innerBias", "outWeight", "outBias"};
  /// By head and distance as biases_, then the tables one after the other, then room for the
  /// network's units: before and after the activation, and two layers of gradients.
  Index gradient_size() const {
    return static_cast<Index>(biases_.size()) + start(6) + (2 * layers() + 4) * width();
  }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const Index head = g.tile.head;
    double* kept = g.sums + head * (2 * o_.reach + 1) + o_.reach;
    for_each_distance(g, [&](double relative, double by) {
      if (std::abs(relative) <= o_.reach && relative == std::trunc(relative))
        kept[static_cast<Index>(relative)] += by;
      else
        pull_back(-relative, head, head + 1, &by, 0, g.sums + biases_.size());
    });
  }
  void collect_gradients(double* sums, float* const* tables) const {
    double* of_tables = sums + biases_.size();
    const Index row = 2 * o_.reach + 1;
    for (Index c = 0; c < row; ++c)
      pull_back(static_cast<double>(o_.reach - c), 0, o_.heads, sums + c, row, of_tables);
    for (Index t = 0; t < 6; ++t)
      round_gradients(of_tables + start(t), start(t + 1) - start(t), tables[t]);
  }

 private:
  explicit DynamicBias(Options&& o) : o_(std::move(o)) {}

  Index width() const { return o_.hidden_weight.shape[0]; }
  Index layers() const { return o_.inner_weight.shape[0]; }
  /// Of table t among the sums, in the order of `gradients`; without outBias there is room for it.
  Index start(Index t) const {
    const Index n = width();
    const std::array sizes{
        n, n, layers() * n * n, layers() * n, Index{o_.heads} * n, Index{o_.heads}};
    Index sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(t); ++i) sum += sizes[i];
    return sum;
  }
  double slope(double x) const {
    if (o_.activation == Activation::relu) return x > 0 ? 1 : 0;
    const double gate = 1 / (1 + exponential(-x));
    return gate * (1 + x * (1 - gate));
  }

  /// From the gradients of the biases of heads first .. last - 1 at one distance, `step` apart, to
  /// those of the tables.
  void pull_back(double distance, Index first, Index last, const double* by, Index step,
                 double* sums) const {
    const Index n = width();
    const double x =
        o_.log_distance ? std::copysign(natural_log_1p(std::abs(distance)), distance) : distance;
    double* const before = sums + start(6);
    double* const after = before + (layers() + 1) * n;
    double *own = after + (layers() + 1) * n, *below = own + n;
    for (Index layer = 0; layer <= layers(); ++layer)
      for (Index u = 0; u < n; ++u) {
        double sum = layer == 0
                         ? o_.hidden_weight.data.data()[u] * x + o_.hidden_bias.data.data()[u]
                         : static_cast<double>(o_.inner_bias.row(layer - 1)[u]);
        if (layer > 0)
          for (Index w = 0; w < n; ++w) sum += inner(layer, u)[w] * after[(layer - 1) * n + w];
        before[layer * n + u] = sum;
        after[layer * n + u] = activate(sum);
      }
    std::fill_n(own, n, 0.0);
    for (Index h = first; h < last; ++h, by += step) {
      sums[start(5) + h] += *by;
      for (Index u = 0; u < n; ++u) {
        own[u] += *by * o_.out_weight.row(h)[u];
        sums[start(4) + h * n + u] += *by * after[layers() * n + u];
      }
    }
    for (Index layer = layers(); layer > 0; --layer, std::swap(own, below)) {
      std::fill_n(below, n, 0.0);
      for (Index u = 0; u < n; ++u) {
        const double sum = own[u] * slope(before[layer * n + u]);
        sums[start(3) + (layer - 1) * n + u] += sum;
        double* weights = sums + start(2) + ((layer - 1) * n + u) * n;
        for (Index w = 0; w < n; ++w) {
          weights[w] += sum * after[(layer - 1) * n + w];
          below[w] += sum * inner(layer, u)[w];
        }
      }
    }
    for (Index u = 0; u < n; ++u) {
      const double sum = own[u] * slope(before[u]);
      sums[u] += sum * x;
      sums[n + u] += sum;
    }
  }
  /// The weights of unit u in the layer-th layer between, from 1.
  const float* inner(Index layer, Index u) const {
    return o_.inner_weight.data.data() + ((layer - 1) * width() + u) * width();
  }
  float activate(double x) const {
    return static_cast<float>(o_.activation == Activation::relu ? std::max(x, 0.0)
                                                                : x / (1 + exponential(-x)));
  }

  /// The last layer before the outputs; `units` has room for two.
  const float* evaluate(double distance, float* units) const {
    const double x =
        o_.log_distance ? std::copysign(natural_log_1p(std::abs(distance)), distance) : distance;
    const Index n = width();
    for (Index u = 0; u < n; ++u)
      units[u] = activate(o_.hidden_weight.data.data()[u] * x + o_.hidden_bias.data.data()[u]);
    float* next = units + n;
    for (Index layer = 0; layer < o_.inner_weight.shape[0]; ++layer, std::swap(units, next))
      for (Index u = 0; u < n; ++u) {
        const float* weights = o_.inner_weight.data.data() + (layer * n + u) * n;
        next[u] = activate(sum_of_products(weights, units, n) + o_.inner_bias.row(layer)[u]);
      }
    return units;
  }
  float output(Index head, const float* units) const {
    const double bias =
        o_.out_bias.empty() ? 0.0 : static_cast<double>(o_.out_bias.data.data()[head]);
    return static_cast<float>(sum_of_products(o_.out_weight.row(head), units, width()) + bias);
  }
  /// Of all heads, which share everything but the last layer.
  void fill_block(Index first, float* units, float* out) const {
    for (Index c = 0; c < distances_in_block; ++c) {
      const float* last = evaluate(-static_cast<double>(first + c), units);
      for (Index h = 0; h < o_.heads; ++h) out[h * distances_in_block + c] = output(h, last);
    }
  }
  static double sum_of_products(const float* a, const float* b, Index n) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }

  Status expand() {
    const Index reach = o_.reach, row = 2 * reach + 1;
    const auto all =
        checked_product(static_cast<std::size_t>(row), static_cast<std::size_t>(o_.heads));
    if (!all) return fault(Errc::too_large, "reach", "");
    Buffer<float> biases;
    if (Status s = biases.allocate(*all); !s) return s;
    Buffer<float> units;
    if (Status s = units.allocate(static_cast<std::size_t>(2 * width())); !s) return s;
    for (Index relative = -reach; relative <= reach; ++relative) {
      const float* last = evaluate(-static_cast<double>(relative), units.data());
      for (Index h = 0; h < o_.heads; ++h)
        biases.data()[h * row + relative + reach] = output(h, last);
    }
    biases_ = std::move(biases);
    return {};
  }

  Options o_;
  Buffer<float> biases_;  ///< [heads][2 reach + 1], at the relative positions -reach .. reach
};

}  // namespace posenc
