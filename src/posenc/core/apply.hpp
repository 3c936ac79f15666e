// SPDX-License-Identifier: Apache-2.0
/// The sites on their own, outside attention: add an embedding, rotate queries or keys, write a
/// bias out. Each checks first, allocates once, and only then writes.
#pragma once

#include "posenc/core/encoding.hpp"

namespace posenc {

/// x [batch, rows, width] += the encoding's rows at `positions` [position_rows, rows], with
/// position_rows 1 (shared by the batch) or batch. `from` is what is added to, x itself or apart
/// from x; null starts from zeros and so gives the table itself.
struct EmbedArguments {
  float* x = nullptr;
  const float* from = nullptr;
  Index batch = 1, rows = 0, width = 0;
  const double* positions = nullptr;
  Index position_rows = 1;
};
/// Errors: UNSUPPORTED without that site, SHAPE_MISMATCH of the width, those of the positions.
Status embed(const Encoding& encoding, const EmbedArguments& arguments);

/// Rotates x [batch, heads, rows, width] in place at `positions` [position_rows, axes, rows]. `from`
/// as above (null is not allowed). `length` 0: one more than the greatest position of
/// each set.
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
/// Errors: as for embed, and OUT_OF_MEMORY for the table of a block of positions.
Status rotate(const Encoding& encoding, const RotateArguments& arguments);

/// out [H, T, S] = what the encoding adds to the scores. H is the encoding's, or 1.
/// Errors: UNSUPPORTED where that depends on q and k, those of the positions, OUT_OF_MEMORY.
Status bias(const Encoding& encoding, const Positions& queries, const Positions& keys, float* out);

}  // namespace posenc
