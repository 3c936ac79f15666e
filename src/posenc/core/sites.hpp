// SPDX-License-Identifier: Apache-2.0
/// What the member functions of an encoding are given, site by site, on the way forward and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "posenc/core/kept_blocks.hpp"
#include "posenc/core/rotation.hpp"
#include "posenc/core/spec.hpp"
#include "posenc/core/view.hpp"

namespace posenc {

/// xPos treats queries and keys differently; every other rotation does not.
enum class Role : std::uint8_t { query, key };

/// embed: rows [n, E] of one sequence become `source` plus the encoding's rows, every channel.
struct RowBlock {
  View2<float> rows;
  Positions positions;
  const float* from = nullptr;  ///< as many rows, apart from `rows`; null: those themselves

  const float* source(Index t) const {
    return from == nullptr ? rows.row(t) : from + t * rows.cols;
  }
  /// For who meets each row several times: copies them, and adds in place then.
  void copy_source() const {
    for (Index t = 0; from != nullptr && from != rows.data && t < rows.rows; ++t)
      std::copy_n(source(t), rows.cols, rows.row(t));
  }
};

/// rotate: fills out [n, 2 * pairs] with cosines, then sines (amplitude included), per position.
struct AngleBlock {
  View2<float> out{};
  Positions positions{};
  Role role = Role::query;
  double length = 0;          ///< tokens seen in all; dynamic scalings depend on it
  Index copy = 0;             ///< which of the encoding's copies(); 0 for all but distance remaps
  Index head = 0;             ///< where each head has a table of its own
  double* scratch = nullptr;  ///< room for `pairs` frequencies
};

/// score: scaled scores of a block, before the mask and the softmax, changed in place.
struct ScoreTile {
  View2<float> scores;   ///< [queries, keys]
  View2<const float> q;  ///< the query rows, rotated and multiplied by `scale` and temperature
  View2<const float> k;  ///< the key rows as given, not rotated
  Positions q_pos, k_pos;
  Index head = 0;            ///< query head
  float scale = 1.0f;        ///< what the scores were multiplied by; content terms on k need it
  float* scratch = nullptr;  ///< room for score_scratch(queries, keys) floats
  View2<float> carry{};  ///< [queries, carry_width()]: kept from tile to tile of a block of queries
  bool first = true;     ///< the first tile of the block: carry holds nothing yet
  /// [queries]: what each query was multiplied by for where it stands, beside `scale`; null: 1.
  const float* temperatures = nullptr;
  KeptBlocks kept{};  ///< kept throughout the call; none where score() is asked for by itself
  constexpr float temperature(Index query) const {
    return temperatures == nullptr ? 1.0f : temperatures[query];
  }
};

/// value: unnormalised weights of a block and the rows they are summed into. Rescaling the running
/// sum rescales what is added here too, so value terms compose with the online softmax.
struct ValueTile {
  View2<const float> weights;  ///< [queries, keys]; masked ones are 0
  View2<float> out;            ///< [queries, value width]
  Positions q_pos, k_pos;
  Index head = 0;
};

/// score, backwards: from the gradient of the scores that score() left to that of what it was given.
/// Gradients are 0 at hidden pairs, so a sum over a tile needs no rule of its own.
struct ScoreGradient {
  ScoreTile tile;          ///< as score() got it; `scores` are meaningful only where needs_scores()
  View2<float> gradient;   ///< [queries, keys]; changed in place where score() does more than add
  View2<float> q, k;       ///< gradients of tile.q and tile.k, added to; null for content-free ones
  double* sums = nullptr;  ///< gradient_size() doubles of the encoding's own making, added to
  View2<float> carry{};    ///< as tile.carry, for the way back: tiles come in the opposite order
};

/// value, backwards. Weights are normalised here.
struct ValueGradient {
  ValueTile tile;        ///< `out` holds the gradient of the output and must not be changed
  View2<float> weights;  ///< the gradient of the weights, added to
  double* sums = nullptr;
};

/// rotate, backwards, for encodings whose angles are learned: rows as they were rotated (whatever
/// else multiplies both) and the gradient of those.
struct AngleGradient {
  View2<const float> rows, gradient;
  Positions positions;
  Role role = Role::query;
  Index head = 0;
  double* sums = nullptr;
};

/// embed, backwards: the gradient of the rows that were added to.
struct RowGradient {
  View2<const float> rows;
  Positions positions;
  double* sums = nullptr;
};

/// What a rotary encoding does at one length: all there is to know of a RoPE scaling.
struct Plan {
  std::span<const double> inverse_frequencies;  ///< radians per position, one per pair
  double attention_factor = 1;                  ///< multiplies cos and sin
  double logit_scale = 1;                       ///< multiplies the softmax scale
  Rotation rotation;
  LengthPolicy length_policy = LengthPolicy::fixed;
};

}  // namespace posenc
