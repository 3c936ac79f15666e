// SPDX-License-Identifier: Apache-2.0
/// Cosines and sines in float64, of whole rows of frequencies at once. Own code, so that they are
/// vectors and have the same bits in every build; libm's are scalar and differ between systems.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "posenc/core/view.hpp"

namespace posenc {

/// Cosine and sine of each angle, within 2^-52 of the exact value.
void cosines_and_sines(const double* angles, Index count, double* cosines, double* sines);

/// Calls use(i, cosine, sine) with those of angle(i), for i < count.
template <class F, class G>
void for_each_cosine_and_sine(Index count, F&& angle, G&& use) {
  constexpr Index most = 64;
  std::array<double, static_cast<std::size_t>(most)> angles, c, s;
  for (Index first = 0; first < count; first += most) {
    const Index n = count - first < most ? count - first : most;
    for (Index i = 0; i < n; ++i) angles[static_cast<std::size_t>(i)] = angle(first + i);
    cosines_and_sines(angles.data(), n, c.data(), s.data());
    for (Index i = 0; i < n; ++i)
      use(first + i, c[static_cast<std::size_t>(i)], s[static_cast<std::size_t>(i)]);
  }
}

/// Those of angle(i) for i < count, rounded to float32.
template <class F>
void write_cosines_and_sines(Index count, F&& angle, float* cosines, float* sines) {
  for_each_cosine_and_sine(count, angle, [&](Index i, double cosine, double sine) {
    cosines[i] = static_cast<float>(cosine);
    sines[i] = static_cast<float>(sine);
  });
}

/// Cosines and sines of position * frequency for a row of up to 64 frequencies.
///
/// A whole position is a multiple of 16 and a rest, and cos(a + b) = cos a cos b - sin a sin b: six
/// operations where a fresh cosine and sine take about fifty, with neighbours sharing both tables.
/// The split depends on the position alone, so one row asked for by itself has the bits it has among
/// others. Within 4 * 2^-53 plus what rounding the angle itself costs; other positions are
/// multiplied and evaluated as they are.
class Waves {
 public:
  static constexpr Index most = 64;

  /// `frequencies` [count] is copied.
  Waves(const double* frequencies, Index count);

  /// Moves to a position.
  void at(double position);
  /// Cosines and sines at the position last moved to.
  void write(double* cosines, double* sines) const;
  /// The same times `factor`, rounded to float32 once.
  void write(double factor, float* cosines, float* sines) const;

 private:
  static constexpr Index steps = 16;
  using Row = std::array<double, static_cast<std::size_t>(most)>;
  struct Wave {
    alignas(64) Row cosines, sines;
  };
  void evaluate(double position, Wave& out) const;
  template <class T>
  void write_as(double factor, T* cosines, T* sines) const;

  Index count_, padded_;
  double anchor_ = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t known_ = 0;  ///< bit i: near_[i] is filled
  /// The position is the sum of these two.
  const Wave *first_ = nullptr, *second_ = nullptr;
  alignas(64) Row frequencies_{};
  Wave apart_, far_;
  std::array<Wave, static_cast<std::size_t>(steps)> near_;
};

}  // namespace posenc
