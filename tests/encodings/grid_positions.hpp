// SPDX-License-Identifier: Apache-2.0
/// The tokens of a window or a picture, row by row.
#pragma once

#include "reference/numbers.hpp"

struct Grid {
  reference::Array<double> coordinates;  ///< [2][rows * cols]: the row, then the column

  Grid(posenc::Index rows, posenc::Index cols) : coordinates(2 * rows * cols) {
    for (posenc::Index i = 0; i < rows * cols; ++i) {
      coordinates[i] = static_cast<double>(i / cols);
      coordinates[rows * cols + i] = static_cast<double>(i % cols);
    }
  }
  posenc::Positions positions() const {
    return posenc::Positions::of(coordinates.data(), coordinates.size() / 2, 2);
  }
};
