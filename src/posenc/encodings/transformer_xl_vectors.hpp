// SPDX-License-Identifier: Apache-2.0
/// The vectors r(d) of Transformer-XL: those of near distances in a table, the rest projected from the
/// sinusoids of the distance where they are needed.
#pragma once

#include <algorithm>
#include <cmath>

#include "posenc/core/kept_blocks.hpp"
#include "posenc/core/options.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/core/vector_table.hpp"
#include "posenc/core/waves.hpp"

namespace posenc {

/// Vectors are numbered as columns: relative position (key minus query) plus reach().
class RelativeVectors {
 public:
  /// r themselves, [rows, heads, dim]: row origin + d, and beyond the ends the last row.
  static Result<RelativeVectors> given(const Table& rows, Index origin, std::optional<int> clamp) {
    RelativeVectors made(rows.shape[1], rows.shape[2], 0);
    const Index count = rows.shape[0];
    made.bounded_ = true;
    made.reach_ = std::max<Index>(count - 1 - origin, origin);
    if (clamp) made.reach_ = std::min<Index>(made.reach_, *clamp);
    if (Status s = made.make_near(); !s) return s;
    const float* vectors = rows.data.data();
    for (Index relative = -made.reach_; relative <= made.reach_; ++relative) {
      const Index row = std::clamp<Index>(origin - relative, 0, count - 1);
      for (Index i = 0; i < made.heads_ * made.dim_; ++i)
        made.near_.at(i / made.dim_, relative + made.reach_, i % made.dim_) =
            vectors[row * made.heads_ * made.dim_ + i];
    }
    return made;
  }

  /// Projected by weights [heads, dim, E] from the sinusoids of distances.
  static Result<RelativeVectors> projected(Table weights, double base, Index reach, bool bounded) {
    RelativeVectors made(weights.shape[0], weights.shape[1], weights.shape[2]);
    made.bounded_ = bounded;
    made.reach_ = reach;
    if (Status s = made.make_near(); !s) return s;
    if (Status s = made.keep(std::move(weights), base); !s) return s;
    if (Status s = made.project(); !s) return s;
    if (bounded) made.weights_ = {};
    return made;
  }

  /// Distances in the table, to both sides.
  Index reach() const { return reach_; }
  /// Whether what lies beyond equals the ends.
  bool bounded() const { return bounded_; }
  const VectorTable& near() const { return near_; }
  /// Width E of the sinusoids.
  Index width() const { return width_; }

  /// Of a relative position, limited to what is in the table.
  Index column(double relative) const {
    const double reach = static_cast<double>(reach_);
    return static_cast<Index>(std::clamp(relative, -reach, reach)) + reach_;
  }

  /// Floats that a block takes: the kernel writes four lines at a time.
  Index depth() const { return round_up(dim_, row_group); }
  /// Floats of scratch for the functions below.
  Index scratch() const { return width_ * vectors_in_block; }

  /// Block b of the table; null beyond it.
  const float* near_block(Index head, Index b) const {
    return b >= 0 && b < near_.columns() / vectors_in_block ? near_.block_at(head, b) : nullptr;
  }
  /// The 32 vectors of block b, [depth][32], of which those up to the head's width mean something.
  template <class Arch>
  void fill_block(Index head, Index b, float* waves, float* out) const {
    fill_waves_of(b, waves);
    multiply<Arch>(head, waves, out);
  }

  template <class Arch>
  void vector_at(Index head, double distance, float* waves, float* out) const {
    const Index half = width_ / 2;
    write_cosines_and_sines(
        half, [&](Index e) { return distance * frequencies_.data()[e]; }, waves + half, waves);
    for (Index k = 0; k < dim_; ++k)
      out[k] = dot<Arch>(weights_.data() + (head * dim_ + k) * width_, waves, width_);
  }

  /// R of a distance in float64, for gradients.
  void fill_waves(double distance, double* out) const {
    for_each_cosine_and_sine(
        width_ / 2, [&](Index e) { return distance * frequencies_.data()[e]; },
        [&](Index e, double cosine, double sine) {
          out[e] = sine;
          out[width_ / 2 + e] = cosine;
        });
  }

 private:
  RelativeVectors(Index heads, Index dim, Index width) : heads_(heads), dim_(dim), width_(width) {}

  Status make_near() { return near_.allocate(heads_, 2 * reach_ + 1, dim_); }

  /// R of the distances of a block, [E][32].
  void fill_waves_of(Index b, float* waves) const {
    const Index half = width_ / 2;
    const auto first = static_cast<double>(reach_ - b * vectors_in_block);
    for (Index e = 0; e < half; ++e)
      write_cosines_and_sines(
          vectors_in_block,
          [&](Index c) { return (first - static_cast<double>(c)) * frequencies_.data()[e]; },
          waves + (half + e) * vectors_in_block, waves + e * vectors_in_block);
  }
  template <class Arch>
  void multiply(Index head, const float* waves, float* out) const {
    for (Index k = 0; k < dim_; k += row_group)
      multiply_vectors<Arch>(weights_.data() + (head * dim_ + k) * width_, width_, waves,
                             vectors_in_block, out + k * vectors_in_block, vectors_in_block);
  }

  /// Fills the table, to the end of its last block.
  Status project() {
    Buffer<float> room;
    if (Status s = room.allocate(static_cast<std::size_t>(scratch() + depth() * vectors_in_block));
        !s)
      return s;
    float *waves = room.data(), *block = waves + scratch();
    for (Index b = 0; b < near_.columns() / vectors_in_block; ++b) {
      fill_waves_of(b, waves);
      for (Index h = 0; h < heads_; ++h) {
        multiply<xsimd::default_arch>(h, waves, block);
        std::copy_n(block, dim_ * vectors_in_block, &near_.at(h, b * vectors_in_block, 0));
      }
    }
    return {};
  }

  /// With rows of zeros behind the last: the kernel reads four at a time.
  Status keep(Table weights, double base) {
    Buffer<float> kept;
    if (Status s =
            kept.allocate(weights.data.size() + static_cast<std::size_t>((row_group - 1) * width_));
        !s)
      return s;
    std::copy_n(weights.data.data(), weights.data.size(), kept.data());
    weights_ = std::move(kept);
    if (Status s = frequencies_.allocate(static_cast<std::size_t>(width_ / 2)); !s) return s;
    for (Index e = 0; e < width_ / 2; ++e)
      frequencies_.data()[e] =
          power(base, -2.0 * static_cast<double>(e) / static_cast<double>(width_));
    return {};
  }

  Index heads_, dim_, width_, reach_ = 0;
  bool bounded_ = false;
  VectorTable near_;  ///< [heads][2 reach + 1]: r at the relative positions -reach .. reach
  Buffer<double> frequencies_;
  Buffer<float> weights_;  ///< [heads * dim + 3][E]
};

}  // namespace posenc
