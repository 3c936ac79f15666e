// SPDX-License-Identifier: Apache-2.0
/// What attention is asked to do. Letters: B batch, H query heads, G key/value heads, T queries,
/// S keys, D head width.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "posenc/core/encoding.hpp"
#include "posenc/core/head_norm.hpp"

namespace posenc {

struct AttentionShape {
  Index batch = 1;
  Index heads = 1;     ///< H, a multiple of kv_heads; query head h uses key head h / (H / G)
  Index kv_heads = 1;  ///< G
  Index queries = 0;   ///< T
  Index keys = 0;      ///< S
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

/// How a cache stores numbers: as they are, as IEEE halves, or as bytes times one scale per row.
enum class Dtype : std::uint8_t { f32, f16, i8 };

/// Keys or values in pages, as a cache keeps them: page p holds the slots p · page_rows …, each page
/// [B][heads][page_rows][width]. Key j of a call is slot j of the stretches laid end to end.
struct PagedRows {
  struct Stretch {
    Index slot = 0, count = 0;
  };
  const std::byte* const* pages = nullptr;
  Index data = 0;    ///< bytes from the start of a page to its rows
  Index scales = 0;  ///< and to their scales [B][heads][page_rows], for i8
  Index page_rows = 1, heads = 1;
  Dtype dtype = Dtype::f32;
  std::array<Stretch, 4> stretches{};
  Index first_batch = 0, first_row = 0;  ///< where these arguments are a part of a greater whole
};

/// Explicit positions: [rows, axes, count] with rows 1 (shared by the batch) or B. Null: by default
/// key j stands at j and query t at query_offset + t, on every axis; where axes are rows and
/// columns there is no default.
struct PositionRows {
  const double* data = nullptr;
  Index rows = 1;
  Index stride = 0;  ///< elements from one axis to the next; 0: as many as there are tokens
  Index origin = 0;  ///< what errors add to the index of a token
};

/// Keys near the query. The place of a key is its index (see KeyGap), that of query t is
/// query_offset + t; where encodings see them is another matter.
struct Window {
  std::optional<Index> left{};   ///< keys seen before the query's own place; default all
  std::optional<Index> right{};  ///< and after it
  Index first = 0;               ///< so many first keys stay visible wherever the window is
  /// Places are counted off in chunks of so many, and a query sees those of its own; 0: all are one.
  Index chunk = 0;

  /// Of `total` keys, the query's own being the last: what most models call a sliding window.
  static constexpr Window from_total(Index total) { return {.left = total - 1, .right = 0}; }
};

/// Keys from index `at` on stand `by` places further on, as if so many had been dropped there: how
/// a cache that keeps the first tokens and the latest ones says what its keys are.
struct KeyGap {
  Index at = 0, by = 0;
};

/// Grows with the position of the query, so that attention stays as sharp over more keys.
struct QueryScale {
  enum class Kind : std::uint8_t {
    none,
    log_n,      ///< max(1, ln(m + 1) / ln length)
    llama4,     ///< 1 + factor ln(1 + floor((m + 1) / length))
    ministral,  ///< 1 + factor ln(1 + floor(m / length))
  };
  Kind kind = Kind::none;
  double length = 0, factor = 0;

  double at(double position) const;
};

/// A sequence of its own in a call: queries first_query … and keys first_key … of a batch entry. It
/// sees nothing of the others.
struct Sequence {
  Index batch = 0;
  Index first_query = 0, queries = 0;
  Index first_key = 0, keys = 0;
  Index query_offset = at_the_end;
  Index prefix = 0;

  /// The last query stands at the last key: keys - queries.
  static constexpr Index at_the_end = std::numeric_limits<Index>::min();
  constexpr Index first_place() const {
    return query_offset == at_the_end ? keys - queries : query_offset;
  }
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
  /// With heads of 64, in floats: 128 keys and values 2 · 128 · 64, 64 queries and their sums 2 · 64 · 64,
  /// scores 64 · 128, together 32768 or 128 KB: half of an L2 of 256 KB. Every few rows read the
  /// 32 KB of a tile's panels again from there, 16 times in a block of 64 rows; panel by panel
  /// instead, each out of L1, gained nothing (docs/performance.md).
  Index queries = 64;
  /// Rounded up to whole panels.
  Index keys = 128;
};

struct AttentionArguments {
  AttentionShape shape;
  Tensor4<const float> q, k, v;
  Tensor4<float> output;
  std::optional<PagedRows> paged_k{}, paged_v{};  ///< instead of k and v
  bool keys_rotated = false;                      ///< k holds keys as `rotate` leaves them
  float* weights = nullptr;                       ///< [B, H, T, S], or null
  float* log_sum_exp = nullptr;                   ///< [B, H, T], or null

  std::span<const Encoding* const> encodings{};  ///< at most max_encodings
  int axes = 1;                                  ///< coordinates of explicit positions
  PositionRows query_positions{}, key_positions{};

  std::optional<double> scale{};        ///< default: the encoding's wish, else 1 / sqrt(D)
  bool causal = false;                  ///< query t sees keys 0 .. query_offset + t
  std::optional<Index> query_offset{};  ///< default: the last query stands at the last key
  Window window{};
  Index prefix = 0;  ///< so many first keys are seen by every query, whatever the rules above say
  KeyGap key_gap{};
  MaskView mask{};
  /// Where not all of q and k is meant, or several sequences stand one after the other: `causal`,
  /// `window` and made-up positions go by places within each. Query rows of no sequence give what a
  /// row gives that sees nothing. Empty: each batch entry is one sequence.
  std::span<const Sequence> sequences{};
  double softcap = 0;            ///< s becomes softcap · tanh(s / softcap) before biases; 0: not
  const float* sinks = nullptr;  ///< [H]: logits that only the softmax's denominator counts
  QueryScale query_scale{};      ///< multiplies q at its position
  HeadNorm q_norm{}, k_norm{};   ///< what follows the projections; content terms see it too
  TileSizes tiles{};
  /// Called once nothing can fail any more, before the first key is read: whoever keeps keys puts new
  /// ones in their place then.
  struct Ready {
    void (*call)(void* on) = nullptr;
    void* on = nullptr;
    void operator()() const {
      if (call != nullptr) call(on);
    }
  };
  Ready ready{};
  /// A call that is several, one after the other in one block of memory: `narrow` makes those of part
  /// i of a copy of these. Parts have all query rows between them.
  struct Parts {
    Index count = 0;
    void (*narrow)(void* on, Index i, AttentionArguments& part) = nullptr;
    void* on = nullptr;
  };
  Parts parts{};

  static constexpr std::size_t max_encodings = 8;

  constexpr Index first_query() const {
    return query_offset.value_or(shape.keys + key_gap.by - shape.queries);
  }
  /// Of [B, H, T, S] and [B, H, T], where these arguments are a part of a greater whole.
  Index result_queries = 0, result_keys = 0;
  constexpr Index result_row(Index b, Index h, Index t) const {
    return (b * shape.heads + h) * (result_queries > 0 ? result_queries : shape.queries) + t;
  }
  float* weights_row(Index b, Index h, Index t) const {
    return weights + result_row(b, h, t) * (result_keys > 0 ? result_keys : shape.keys);
  }
};

/// Whether the arguments fit together: head counts, widths the encodings ask for, wishes for the
/// scale that contradict each other. Positions are checked apart (placement.hpp), since they may be
/// made up.
Status check(const AttentionArguments& arguments);

/// Whether encodings can act in one call at all, whatever its tensors are.
Status check_together(std::span<const Encoding* const> encodings);

/// Whether a normalisation of rows of `heads` heads can be done; `field` is the option's name.
Status check_norm(const HeadNorm& norm, const char* field, Index heads,
                  std::span<const Encoding* const> encodings);

/// The scale of q·k in force: what was asked for to the letter, or what the encodings wish for.
double effective_scale(const AttentionArguments& arguments);

/// Multi-head scaled dot-product attention with positional encodings:
///   normalise q and k -> rotate (-> or normalise now) -> scale q·k (+ content terms) -> softcap -> + bias and additive mask -> causal, window
///   and boolean rules by selection -> softmax with a true running maximum (+ the sink in its
///   denominator) -> weighted values (+ value terms)
/// Memory beyond the output is O((T + S) D). A row that sees no key gives output 0, weights 0 and
/// log-sum-exp -infinity, with a sink too. What a masked key or value holds, NaN included, never reaches the result.
/// Errors: those of `check`, of the encodings' positions, and OUT_OF_MEMORY; the outputs are then
/// untouched.
Status attention(const AttentionArguments& arguments);

}  // namespace posenc
