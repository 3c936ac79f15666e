// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/waves.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "posenc/core/lanes.hpp"
#include "posenc/core/machine.hpp"
#include "posenc/core/quarter_turns.hpp"
#include "posenc/core/register_tile.hpp"

namespace posenc {
namespace {

using Arch = xsimd::default_arch;
using Doubles = xsimd::batch<double, Arch>;
using Words = xsimd::batch<std::uint64_t, Arch>;
constexpr Index width = static_cast<Index>(Doubles::size);

/// Up to here a multiple of pi/2 has 20 bits, and its product with 33 of pi/2's is exact.
constexpr double reducible = 0x1p20;

struct CosineSine {
  Doubles cosine, sine;
};

/// For |x| <= 2^20: x = n pi/2 + r with pi/2 in three parts of 33, 33 and 53 bits, so that r is as
/// exact next to a multiple of pi/2 as elsewhere; then polynomials in r that interpolate at
/// Chebyshev nodes of |r| <= pi/4 (2.1e-17 and 1.2e-18 relative), exchanged and signed by n mod 4.
CosineSine cosine_sine(Doubles x) {
  const Doubles magic(0x1.8p52);  // adding it rounds to an integer and leaves that in the low bits
  const Doubles shifted = x * Doubles(0x1.45f306dc9c883p-1) + magic;
  const Doubles n = shifted - magic;
  Doubles r = x - n * Doubles(0x1.921fb544p+0);
  r = r - n * Doubles(0x1.0b4611a6p-34);
  r = r - n * Doubles(0x1.3198a2e037073p-69);
  const Doubles z = r * r;

  Doubles s = z * Doubles(1.5917988979397435e-10) + Doubles(-2.5051129896450185e-08);
  s = s * z + Doubles(2.7557316093198404e-06);
  s = s * z + Doubles(-0.00019841269836740532);
  s = s * z + Doubles(0.008333333333330936);
  s = s * z + Doubles(-0.16666666666666666);
  const Doubles sine = s * (z * r) + r;
  Doubles c = z * Doubles(-1.138254464534925e-11) + Doubles(2.087614504941318e-09);
  c = c * z + Doubles(-2.755731726587808e-07);
  c = c * z + Doubles(2.48015872987544e-05);
  c = c * z + Doubles(-0.0013888888888887389);
  c = c * z + Doubles(0.041666666666666664);
  const Doubles cosine = c * (z * z) + (Doubles(1.0) - z * Doubles(0.5));

  const Words quadrant = xsimd::bitwise_cast<std::uint64_t>(shifted);
  const Words one(std::uint64_t{1}), sign(std::uint64_t{1} << 63);
  const Words exchange = Words(std::uint64_t{0}) - (quadrant & one);
  const Words a = xsimd::bitwise_cast<std::uint64_t>(cosine),
              b = xsimd::bitwise_cast<std::uint64_t>(sine);
  const Words differing = (a ^ b) & exchange;
  return {xsimd::bitwise_cast<double>((a ^ differing) ^ (((quadrant + one) << 62) & sign)),
          xsimd::bitwise_cast<double>((b ^ differing) ^ ((quadrant << 62) & sign))};
}

/// Of an angle beyond that.
void far_cosine_sine(double angle, double& cosine, double& sine) {
  const auto [count, rest] = quarter_turns(std::abs(angle));
  cosines_and_sines(&rest, 1, &cosine, &sine);
  if ((count & 1) != 0) cosine = -std::exchange(sine, cosine);
  if ((count & 2) != 0) cosine = -cosine, sine = -sine;
  if (angle < 0) sine = -sine;
}

/// One vector of angles. Which way an angle goes depends on itself alone and never on its neighbours.
void whole_vector(const double* angles, double* cosines, double* sines) {
  const Doubles x = Doubles::load_unaligned(angles);
  const CosineSine both = cosine_sine(x);
  both.cosine.store_unaligned(cosines);
  both.sine.store_unaligned(sines);
  if (xsimd::all(xsimd::abs(x) <= Doubles(reducible))) return;
  for (Index i = 0; i < width; ++i)
    if (std::abs(angles[i]) > reducible) far_cosine_sine(angles[i], cosines[i], sines[i]);
}

void store(Doubles first, Doubles second, float* to) { store_rounded<Arch>(first, second, to); }
void store(Doubles first, Doubles second, double* to) {
  first.store_unaligned(to);
  second.store_unaligned(to + width);
}

}  // namespace

void cosines_and_sines(const double* angles, Index count, double* cosines, double* sines) {
  Index i = 0;
  for (; i + width <= count; i += width) whole_vector(angles + i, cosines + i, sines + i);
  if (i == count) return;
  double x[static_cast<std::size_t>(width)] = {}, c[static_cast<std::size_t>(width)],
         s[static_cast<std::size_t>(width)];
  std::copy_n(angles + i, count - i, x);
  whole_vector(x, c, s);
  std::copy_n(c, count - i, cosines + i);
  std::copy_n(s, count - i, sines + i);
}

// Rows are evaluated by two whole vectors: the frequencies behind the last are zeros.
Waves::Waves(const double* frequencies, Index count)
    : count_(count), padded_(round_up(count, 2 * width)) {
  std::copy_n(frequencies, count, frequencies_.data());
}

void Waves::evaluate(double position, Wave& out) const {
  Row angles;
  for (Index i = 0; i < padded_; ++i)
    angles[static_cast<std::size_t>(i)] = position * frequencies_[static_cast<std::size_t>(i)];
  cosines_and_sines(angles.data(), padded_, out.cosines.data(), out.sines.data());
}

void Waves::at(double position) {
  Index step = 0;
  if (position != std::trunc(position)) {
    evaluate(position, apart_);
    first_ = &apart_;
  } else {
    const double anchor = steps * std::floor(position / steps);
    if (anchor != anchor_) evaluate(anchor, far_);
    anchor_ = anchor;
    first_ = &far_;
    step = static_cast<Index>(position - anchor);
  }
  second_ = &near_[static_cast<std::size_t>(step)];
  if ((known_ >> step & 1) == 0)
    evaluate(static_cast<double>(step), near_[static_cast<std::size_t>(step)]);
  known_ |= std::uint32_t{1} << step;
}

template <class T>
void Waves::write_as(double factor, T* cosines, T* sines) const {
  const Doubles scale(factor);
  const double *first_cosines = first_->cosines.data(), *first_sines = first_->sines.data(),
               *second_cosines = second_->cosines.data(), *second_sines = second_->sines.data();
  const auto sum = [&](Index i) {
    const Doubles ca = Doubles::load_aligned(first_cosines + i),
                  sa = Doubles::load_aligned(first_sines + i),
                  cb = Doubles::load_aligned(second_cosines + i),
                  sb = Doubles::load_aligned(second_sines + i);
    return CosineSine{scale * (ca * cb - sa * sb), scale * (sa * cb + ca * sb)};
  };
  // Everything is loaded before anything is stored, which might be the same memory to the compiler.
  const auto step = [&](Index i, T* c, T* s) {
    const CosineSine low = sum(i), high = sum(i + width);
    store(low.cosine, high.cosine, c);
    store(low.sine, high.sine, s);
  };
  Index i = 0;
  for (; i + 2 * width <= count_; i += 2 * width) step(i, cosines + i, sines + i);
  if (i == count_) return;
  T c[static_cast<std::size_t>(2 * width)], s[static_cast<std::size_t>(2 * width)];
  step(i, c, s);
  std::copy_n(c, count_ - i, cosines + i);
  std::copy_n(s, count_ - i, sines + i);
}

void Waves::write(double* cosines, double* sines) const { write_as(1, cosines, sines); }
void Waves::write(double factor, float* cosines, float* sines) const {
  write_as(factor, cosines, sines);
}

}  // namespace posenc
