// SPDX-License-Identifier: Apache-2.0
/// The sites on their own, outside attention: add an embedding, rotate queries or keys, write a
/// bias out. Each checks first, allocates once, and only then writes.
#pragma once

#include "posenc/core/encoding.hpp"

namespace posenc {

/// x [batch, heads, rows, width] += the encoding's rows at `positions` [position_rows, axes, rows],
/// with position_rows 1 (shared by the batch) or batch. `from` is what is added to, x itself or apart
/// from x; null starts from zeros and so gives the table itself.
struct EmbedArguments {
  float* x = nullptr;
  const float* from = nullptr;
  Index batch = 1, heads = 1, rows = 0, width = 0;
  const double* positions = nullptr;
  Index position_rows = 1;
  Index axes = 1;
};
/// Errors: UNSUPPORTED without that site, SHAPE_MISMATCH of the width, those of the positions.
Status embed(const Encoding& encoding, const EmbedArguments& arguments);

/// The gradients of an embedding's learned options, from that of what it was added to. `tables` as in
/// Encoding::collect_gradients; the gradient of x is that of the result.
struct EmbedGradientArguments {
  const float* gradient = nullptr;
  Index batch = 1, rows = 0, width = 0;
  const double* positions = nullptr;
  Index position_rows = 1;
  float* const* tables = nullptr;
};
/// Errors: as for embed, and OUT_OF_MEMORY for the sums, in float64.
Status embed_backward(const Encoding& encoding, const EmbedGradientArguments& arguments);

/// Rotates x [batch, heads, rows, width] in place at `positions` [position_rows, axes, rows]. `from`
/// as above (null is not allowed). `length` 0: one more than the greatest position of
/// each set. Where the rotation makes rows grow, those of x are so much wider than those of `from`,
/// which then cannot be x.
struct RotateArguments {
  float* x = nullptr;
  const float* from = nullptr;
  Index batch = 1, heads = 1, rows = 0, width = 0;
  const double* positions = nullptr;
  Index position_rows = 1;
  Index axes = 1;
  Role role = Role::query;
  double length = 0;
  bool inverse = false;
};
/// Errors: as for embed, OUT_OF_MEMORY for the table of a block of positions, and UNSUPPORTED for
/// the inverse of a rotation that makes rows grow.
Status rotate(const Encoding& encoding, const RotateArguments& arguments);

/// out [H, T, S] = what the encoding adds to the scores. H is the encoding's, or 1.
/// Errors: UNSUPPORTED where that depends on q and k, those of the positions, OUT_OF_MEMORY.
Status bias(const Encoding& encoding, const Positions& queries, const Positions& keys, float* out);

/// out [T, S] = the distance that each pair of positions counts as, query minus key.
/// Errors: UNSUPPORTED where the encoding leaves distances as they are, those of the positions,
/// OUT_OF_MEMORY.
Status distances(const Encoding& encoding, const Positions& queries, const Positions& keys,
                 double* out);

}  // namespace posenc
