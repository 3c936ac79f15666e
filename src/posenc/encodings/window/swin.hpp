// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/encodings/window/window_bias.hpp"

namespace posenc {

/// Swin Transformer: a learned bias per head and offset inside a window. Liu et al., 2021.
///
///   s(m, j) = q_m · k_j / sqrt(D) + table[(dh + h - 1)(2w - 1) + dw + w - 1, head],   d = m - j
///
/// Positions are (row, column) inside the window, from 0. The table belongs to its window: another
/// window needs another table, for instance an interpolated one.
class Swin : public WindowBias {
 public:
  struct Options {
    int heads = 0;
    Buffer<double> window;
    Table table;
  };
  static constexpr Spec spec{
      .id = "swin",
      .title = "Swin window bias",
      .summary = "A learned number per head for each offset of rows and columns inside a window.",
      .formula = "s(m, j) = qₘ·kⱼ/√d + table[(Δh + h − 1)(2w − 1) + Δw + w − 1]",
      .paper = "Liu et al., 2021",
      .url = "https://arxiv.org/abs/2103.14030",
      .used_by = "Swin Transformer, BEiT",
      .sites = {.score = true},
      .positions = PositionKind::index,
      .axes = 2,
      .relative = true,
      .content_free = true};
  static constexpr std::array<double, 2> example_window{7, 7};
  using F = FieldOf<Options>;
  static constexpr std::array fields{
      F::integer<&Options::heads>("heads", "Query heads.", 1, 65536).required(4),
      F::list<&Options::window>("window", "Rows and columns of a window.", 1, 2048, Dim::exactly(2))
          .required(7)
          .examples(example_window),
      F::table<&Options::table>("table", "The learned biases [(2h-1)(2w-1), heads].",
                                Dim::any("offsets", 169), Dim::of("heads"))
          .required()
          .initialised_by(1.0)};

  static Result<Swin> make(Options&& o) {
    if (Status s = check_window(o.window, "window"); !s) return s;
    auto base = WindowBias::make(o.heads, o.window);
    if (!base) return base.error();
    if (o.table.shape[0] != base->entries())
      return outside(Errc::shape_mismatch, "table", "of (2h - 1)(2w - 1) rows",
                     static_cast<double>(o.table.shape[0]), static_cast<double>(base->entries()),
                     static_cast<double>(base->entries()));
    for (Index e = 0; e < base->entries(); ++e)
      for (Index h = 0; h < o.heads; ++h) base->at(h, e) = o.table.row(e)[h];
    return Swin(std::move(*base));
  }

  static constexpr std::array<std::string_view, 1> gradients{"table"};
  void collect_gradients(double* sums, float* const* tables) const {
    if (tables[0] == nullptr) return;
    for (Index e = 0; e < entries(); ++e)
      for (Index h = 0; h < heads(); ++h)
        tables[0][e * heads() + h] = static_cast<float>(sums[h * entries() + e]);
  }

 private:
  explicit Swin(WindowBias base) : WindowBias(std::move(base)) {}
};

}  // namespace posenc
