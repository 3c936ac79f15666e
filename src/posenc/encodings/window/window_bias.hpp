// SPDX-License-Identifier: Apache-2.0
/// The base of the window encodings: a bias per head and offset inside a window of h x w tokens.
#pragma once

#include <array>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/tile_gradients.hpp"

namespace posenc {

/// `window` as [h, w], checked: whole numbers, and few enough offsets for float32 to count them.
inline Status check_window(const Buffer<double>& window, const char* field, double least = 1) {
  for (std::size_t a = 0; a < window.size(); ++a) {
    const double size = window[a], index = static_cast<double>(a);
    if (size != std::trunc(size)) return fault(Errc::not_integer, field, "integers", size, index);
    if (size < least || size > 2048)
      return outside(Errc::out_of_range, field, "in its range", size, least, 2048, index);
  }
  return {};
}

/// Positions are (row, column) inside the window. The offset query minus key selects an entry:
///   entry = (dh + h - 1)(2w - 1) + dw + w - 1
class WindowBias : public EncodingDefaults {
 public:
  static Result<WindowBias> make(Index heads, const Buffer<double>& window) {
    WindowBias made;
    made.heads_ = heads;
    made.size_ = {static_cast<Index>(window[0]), static_cast<Index>(window[1])};
    const auto all =
        checked_product(static_cast<std::size_t>(made.entries()), static_cast<std::size_t>(heads));
    if (!all) return fault(Errc::too_large, "window", "");
    if (Status s = made.biases_.allocate(*all); !s) return s;
    return made;
  }

  Index rows() const { return size_[0]; }
  Index cols() const { return size_[1]; }
  Index entries() const { return (2 * rows() - 1) * (2 * cols() - 1); }
  float& at(Index head, Index entry) { return biases_.data()[head * entries() + entry]; }
  float at(Index head, Index entry) const { return biases_.data()[head * entries() + entry]; }
  /// The entry of a query and a key.
  Index entry(double query_row, double query_col, double key_row, double key_col) const {
    return static_cast<Index>((query_row - key_row + static_cast<double>(rows() - 1)) * stride() +
                              query_col - key_col + static_cast<double>(cols() - 1));
  }

  Index heads() const { return heads_; }
  Index score_scratch(Index, Index cols) const { return cols; }

  Status accepts(const Positions& positions) const {
    if (Status s = check_integer_positions(positions); !s) return s;
    for (Index a = 0; a < 2; ++a)
      if (Status s = check_inside(positions, a, 0,
                                  static_cast<double>(size_[static_cast<std::size_t>(a)] - 1),
                                  "inside the window");
          !s)
        return s;
    return {};
  }

  /// The entry is a difference of one number per query and one per key.
  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    for (Index j = 0; j < t.scores.cols; ++j)
      t.scratch[j] = static_cast<float>(t.k_pos.axis(0)[j] * stride() + t.k_pos.axis(1)[j]);
    const float* biases = biases_.data() + t.head * entries();
    for (Index i = 0; i < t.scores.rows; ++i) {
      const float* own = biases + entry(t.q_pos.axis(0)[i], t.q_pos.axis(1)[i], 0, 0);
      for (Index j = 0; j < t.scores.cols; ++j)
        t.scores.row(i)[j] += own[-static_cast<Index>(t.scratch[j])];
    }
  }

  /// Sums are [heads][entries], as at().
  Index gradient_size() const { return heads_ * entries(); }
  template <class Arch>
  void score_gradient(Arch, const ScoreGradient& g) const {
    const ScoreTile& t = g.tile;
    for (Index i = 0; i < g.gradient.rows; ++i)
      for (Index j = 0; j < g.gradient.cols; ++j)
        g.sums[t.head * entries() + entry(t.q_pos.axis(0)[i], t.q_pos.axis(1)[i],
                                          t.k_pos.axis(0)[j], t.k_pos.axis(1)[j])] +=
            g.gradient.row(i)[j];
  }

 private:
  WindowBias() = default;
  double stride() const { return static_cast<double>(2 * cols() - 1); }

  Buffer<float> biases_;  ///< [heads][entries]
  std::array<Index, 2> size_{};
  Index heads_ = 0;
};

}  // namespace posenc
