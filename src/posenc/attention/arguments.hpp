// SPDX-License-Identifier: Apache-2.0
/// What attention is asked to do. Letters: B batch, H query heads, G key/value heads, T queries,
/// S keys, D head width.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "posenc/core/encoding.hpp"

namespace posenc {

struct AttentionShape {
  Index batch = 1;
  Index heads = 1;     ///< H, a multiple of kv_heads; query head h uses key head h / (H / G)
  Index kv_heads = 1;  ///< G
  Index queries = 0;   ///< T
  Index keys = 128;    ///< S
  Index head_dim = 0;  ///< D, of queries and keys
  Index value_dim = 0;
  constexpr Index group() const { return heads / kv_heads; }
};

/// [B, heads, rows, width] in any order of the first three: elements from one to the next. The
/// width is contiguous.
template <class T>
struct Tensor4 {
  T* data = nullptr;
  Index batch = 0, head = 0, row = 0;
  constexpr T* at(Index b, Index h, Index i) const { return data + b * batch + h * head + i * row; }

  /// [B, heads, rows, width], the layout called bhnd.
  static constexpr Tensor4 bhnd(T* data, Index heads, Index rows, Index width) {
    return {data, heads * rows * width, rows * width, width};
  }
  /// [B, rows, heads, width], the layout called bnhd.
  static constexpr Tensor4 bnhd(T* data, Index heads, Index rows, Index width) {
    return {data, heads * rows * width, width, heads * width};
  }
};

/// Explicit positions: [rows, axes, count] with rows 1 (shared by the batch) or B. Null: by default
/// key j stands at j and query t at query_offset + t, on every axis; where axes are rows and
/// columns there is no default.
struct PositionRows {
  const double* data = nullptr;
  Index rows = 1;
};

/// A mask of shape [B, H, T, S]; a stride of 0 broadcasts that extent.
struct MaskView {
  const std::uint8_t* allowed = nullptr;  ///< non-zero: may attend
  const float* bias = nullptr;            ///< added after everything else; -infinity hides the key
  Index batch = 0, head = 0, row = 0, column = 0;
  constexpr bool present() const { return allowed != nullptr || bias != nullptr; }
  constexpr Index offset(Index b, Index h, Index t, Index j) const {
    return b * batch + h * head + t * row + j * column;
  }
};

/// Block sizes; tests shrink them. Any choice gives the same result up to rounding.
struct TileSizes {
  /// 64 query rows of 64 floats and their running sums are 32 KB: half of a small L2's share, while
  /// each packed key panel (2 KB) is reused 16 times out of L1.
  Index queries = 64;
  /// 128 keys: 32 KB of scores for 64 rows. Rounded up to whole panels.
  Index keys = 128;
};

struct AttentionArguments {
  AttentionShape shape;
  Tensor4<const float> q, k, v;
  Tensor4<float> output;
  float* weights = nullptr;      ///< [B, H, T, S], or null
  float* log_sum_exp = nullptr;  ///< [B, H, T], or null

  std::span<const Encoding* const> encodings{};  ///< at most max_encodings
  int axes = 1;                                  ///< coordinates of explicit positions
  PositionRows query_positions{}, key_positions{};

  std::optional<double> scale{};        ///< default: the encoding's wish, else 1 / sqrt(D)
  bool causal = false;                  ///< query t sees keys 0 .. query_offset + t
  std::optional<Index> query_offset{};  ///< default S - T: the last query stands at the last key
  MaskView mask{};
  TileSizes tiles{};

  static constexpr std::size_t max_encodings = 8;

  constexpr Index first_query() const { return query_offset.value_or(shape.keys - shape.queries); }
};

/// Whether the arguments fit together: head counts, widths the encodings ask for, wishes for the
/// scale that contradict each other. Positions are checked apart, since they may be made up.
Status check(const AttentionArguments& arguments);

/// The scale of q·k in force.
double effective_scale(const AttentionArguments& arguments);

/// Multi-head scaled dot-product attention with positional encodings:
///   rotate -> scale q·k (+ content terms) -> + bias and additive mask -> causal and boolean rules
///   by selection -> softmax with a true running maximum -> weighted values (+ value terms)
/// Memory beyond the output is O((T + S) D). A row that sees nothing gives output 0, weights 0 and
/// log-sum-exp -infinity. What a masked key or value holds, NaN included, never reaches the result.
/// Errors: those of `check`, of the encodings' positions, and OUT_OF_MEMORY; the outputs are then
/// untouched.
Status attention(const AttentionArguments& arguments);

}  // namespace posenc
