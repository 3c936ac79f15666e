// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/lanes.hpp"

#include "arches.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::Random;

template <class A>
class Lanes : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Lanes, Arches);

/// n values between guards, so that a write past either end shows.
class Guarded {
 public:
  explicit Guarded(const Array<float>& values)
      : size_(values.size()), all_(size_ + 2 * margin, guard) {
    for (Index i = 0; i < size_; ++i) all_[margin + i] = values[i];
  }
  float* data() { return all_.data() + margin; }
  float operator[](Index i) const { return all_[margin + i]; }
  bool intact() const {
    for (Index i = 0; i < margin; ++i)
      if (all_[i] != guard || all_[margin + size_ + i] != guard) return false;
    return true;
  }

 private:
  static constexpr Index margin = 16;
  static constexpr float guard = -12345.0f;
  Index size_;
  Array<float> all_;
};

TYPED_TEST(Lanes, VisitEachElementOnceAndWriteNothingBeside) {
  using Arch = TypeParam;
  for (Index n = 0; n <= TestFixture::most; ++n) {
    Random random(static_cast<std::uint64_t>(n));
    const Array<float> x = random.floats(n);
    Guarded y(x);
    for_each_vector<Arch>(n, [&](Index i, auto io) {
      io.store(io.load(y.data() + i) + xsimd::batch<float, Arch>(1.0f), y.data() + i);
    });
    for (Index i = 0; i < n; ++i) EXPECT_EQ(y[i], x[i] + 1.0f) << n << ' ' << i;
    EXPECT_TRUE(y.intact()) << n;
  }
}

TYPED_TEST(Lanes, AddFloatsApartAndInPlace) {
  using Arch = TypeParam;
  // Twice what goes together, tails of every length, and nothing.
  for (Index n = 0; n <= 9 * TestFixture::lanes + 1; ++n) {
    Random random(static_cast<std::uint64_t>(n));
    const Array<float> x = random.floats(n), y = random.floats(n);
    Guarded apart(Array<float>(n, 7.0f)), first(x), second(y);
    add_to<Arch>(x.data(), y.data(), apart.data(), n);
    add_to<Arch>(first.data(), y.data(), first.data(), n);
    add_to<Arch>(x.data(), second.data(), second.data(), n);
    for (Index i = 0; i < n; ++i) {
      EXPECT_EQ(apart[i], x[i] + y[i]) << n << ' ' << i;
      EXPECT_EQ(first[i], x[i] + y[i]) << n << ' ' << i;
      EXPECT_EQ(second[i], x[i] + y[i]) << n << ' ' << i;
    }
    EXPECT_TRUE(apart.intact() && first.intact() && second.intact()) << n;
  }
}

TYPED_TEST(Lanes, RoundTheTailAsTheBody) {
  // Element i must not depend on where the vectors happen to end.
  using Arch = TypeParam;
  Random random(1);
  const Array<float> x = random.floats(TestFixture::most), a = random.floats(TestFixture::most);
  const auto combine = [&](Index n) {
    Array<float> out(n);
    for_each_vector<Arch>(n, [&](Index i, auto io) {
      const auto u = io.load(x.data() + i), v = io.load(a.data() + i);
      io.store(multiply_add<Arch>(u, v, u / (v * v + xsimd::batch<float, Arch>(1.0f))),
               out.data() + i);
    });
    return out;
  };
  const Array<float> whole = combine(TestFixture::most);
  for (Index n = 1; n < TestFixture::most; ++n) {
    const Array<float> part = combine(n);
    for (Index i = 0; i < n; ++i)
      EXPECT_TRUE(reference::same_bits(part[i], whole[i])) << n << ' ' << i;
  }
}

TYPED_TEST(Lanes, ReadTheMissingRestOfATailAsZero) {
  using Arch = TypeParam;
  const Array<float> x(TestFixture::most, 1.0f);
  for (Index n = 1; n <= TestFixture::most; ++n) {
    float sum = 0;
    for_each_vector<Arch>(
        n, [&](Index i, auto io) { sum += xsimd::reduce_add(io.load(x.data() + i)); });
    EXPECT_EQ(sum, static_cast<float>(n));
  }
}

TYPED_TEST(Lanes, CountFromZero) {
  const auto steps = iota<TypeParam>();
  for (Index i = 0; i < TestFixture::lanes; ++i)
    EXPECT_EQ(steps.get(static_cast<std::size_t>(i)), static_cast<float>(i));
}

TYPED_TEST(Lanes, MultiplyAndAddInTwoRoundings) {
  // 1 + 2^-12 squared needs 25 bits: fused, the last one survives; in two roundings it does not.
  using V = xsimd::batch<float, TypeParam>;
  const float x = 1.0f + 0x1p-12f;
  EXPECT_EQ(multiply_add<TypeParam>(V(x), V(x), V(-1.0f)).get(0), 0x1p-11f);
}

TYPED_TEST(Lanes, AddAScaledRow) {
  for (Index n = 0; n <= TestFixture::most; ++n) {
    Random random(7);
    const Array<float> x = random.floats(n), y = random.floats(n);
    Guarded sum(y);
    add_scaled<TypeParam>(0.75f, x.data(), sum.data(), n);
    for (Index i = 0; i < n; ++i) EXPECT_EQ(sum[i], 0.75f * x[i] + y[i]);
    EXPECT_TRUE(sum.intact());
  }
}

TYPED_TEST(Lanes, MultiplyRows) {
  // n roundings of products and n of sums, each half a unit of a term below 6 * 6.
  constexpr double tolerance = 1e-6;
  for (Index n = 0; n <= TestFixture::most; ++n) {
    Random random(9);
    const Array<float> x = random.floats(n), y = random.floats(n);
    double exact = 0, size = 1;
    for (Index i = 0; i < n; ++i) {
      exact += static_cast<double>(x[i]) * y[i];
      size += std::abs(static_cast<double>(x[i]) * y[i]);
    }
    EXPECT_NEAR(dot<TypeParam>(x.data(), y.data(), n), exact, tolerance * size);
  }
}

}  // namespace
}  // namespace posenc
