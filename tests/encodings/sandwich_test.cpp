// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/sandwich.hpp"

#include "arches.hpp"
#include "posenc/encodings/sinusoidal.hpp"
#include "reference/score_terms.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::bias_of;
using reference::counted;
using reference::decoded;
using reference::embedding_of;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::positions;
using reference::Problem;

/// One rounding of a bias of size up to 100, in float32.
constexpr double tolerance = 1e-7;
/// Through the softmax: biases of size 10 in float32.
constexpr double attention_tolerance = 1e-5;

Options of(int heads, int dim, int start = 0) {
  return std::move(Options().number("heads", heads).number("dim", dim).number("start", start));
}
/// A sum of cosines: the closed form.
double cosines(double d, int dim, int start, double base = 10000) {
  double sum = -dim / 2;
  for (int i = start; i < dim / 2 + start; ++i) sum += std::cos(d / std::pow(base, 2.0 * i / dim));
  return sum;
}
/// An inner product of two rows of sines and cosines, in turns as Vaswani et al. write them.
double inner_product(double m, double j, int dim, int start) {
  double sum = -dim / 2;
  for (int channel = 0; channel < dim; ++channel) {
    const double w = std::exp(-std::log(10000.0) * (channel / 2 + start) * 2 / dim);
    sum += channel % 2 == 0 ? std::sin(m * w) * std::sin(j * w) : std::cos(m * w) * std::cos(j * w);
  }
  return sum;
}

template <class A>
class SandwichAt : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(SandwichAt, Arches);

TYPED_TEST(SandwichAt, IsTheClosedFormAndTheInnerProduct) {
  for (int start : {0, 1})
    for (int dim : {2, 6, 128}) {
      const Encoding e = made<Sandwich, TypeParam>(of(3, dim, start));
      for (Index n :
           {Index{0}, Index{1}, TestFixture::most, Index{150}})  // 150: several runs of 64
        for (bool consecutive : {true, false}) {
          const Array<double> q = consecutive ? counted(3, 40) : Array<double>{500, -3, 2.5};
          const Array<double> k = counted(n, -7);
          for (Index h = 0; h < 3; ++h) {
            const Array<float> got = bias_of(e, h, positions(q), positions(k));
            const double divisor = 8.0 * static_cast<double>(h + 1) / 3;
            for (Index t = 0; t < 3; ++t)
              for (Index j = 0; j < n; ++j) {
                const double want = cosines(q[t] - k[j], dim, start) / divisor;
                ASSERT_NEAR(got[t * n + j], want, tolerance * (1 + std::abs(want)));
                ASSERT_NEAR(inner_product(q[t], k[j], dim, start) / divisor, want, 1e-9);
              }
          }
        }
    }
}

TYPED_TEST(SandwichAt, EqualsTheFormulaInsideAttention) {
  const Encoding e = made<Sandwich, TypeParam>(of(4, 16));
  reference::expect_attention_everywhere<TypeParam>(
      e, 4, 6,
      [](const Problem& p) {
        return [&p](Index, Index h, Index t, Index j) {
          return cosines(p.q_at(t) - p.k_at(j), 16, 0) / (2.0 * static_cast<double>(h + 1));
        };
      },
      attention_tolerance);
}

TEST(Sandwich, HasTheWorkedNumbers) {
  const Array<double> q{0}, k{0, -1, -2, -8, -64, -1024};
  const Array<double> from_0{0, -1.90631619, -6.61813945, -18.2794859, -33.479941, -50.9157492};
  const Array<double> from_1{0, -1.44661851, -5.20199263, -17.1339862, -32.8718187, -50.9083411};
  for (int start : {0, 1}) {
    // Head 1 of 8 has the divisor 1.
    const Array<float> got =
        bias_of(made<Sandwich>(of(8, 128, start)), 0, positions(q), positions(k));
    for (Index i = 0; i < 6; ++i)
      EXPECT_NEAR(got[i], (start == 0 ? from_0 : from_1)[i], 3e-6) << start << ' ' << k[i];
  }
}

TEST(Sandwich, EqualsTheInnerProductOfTheLibrarysOwnSinusoids) {
  const Encoding sandwich = made<Sandwich>(of(8, 64));
  const Array<float> rows =
      embedding_of(made<Sinusoidal>(Options().number("dim", 64)), counted(200));
  const Array<double> q{199}, k = counted(200);
  const Array<float> got = bias_of(sandwich, 0, positions(q), positions(k));
  for (Index j = 0; j < 200; ++j) {
    double sum = -32;
    for (Index c = 0; c < 64; ++c)
      sum += static_cast<double>(rows[199 * 64 + c]) * rows[j * 64 + c];
    EXPECT_NEAR(got[j], sum, 1e-5) << j;  // 64 rounded sines
  }
}

TEST(Sandwich, IsEvenAndGreatestAtTheQueryItself) {
  const Array<double> q{0}, k = counted(2001, -1000);
  const Array<float> got = bias_of(made<Sandwich>(of(2, 128)), 1, positions(q), positions(k));
  EXPECT_NEAR(got[1000], 0, 1e-12);
  for (Index j = 1; j <= 1000; ++j) {
    EXPECT_NEAR(got[1000 - j], got[1000 + j], 1e-5);
    EXPECT_LT(got[1000 - j], 0);
  }
}

TEST(Sandwich, IsExactFarAway) {
  const Array<double> q{0x1p40}, k{0x1p40 - 12345, 0x1p40 - 0x1p20};
  const Array<float> got = bias_of(made<Sandwich>(of(1, 32)), 0, positions(q), positions(k));
  EXPECT_NEAR(got[0], cosines(12345, 32, 0) / 8, 1e-6);
  EXPECT_NEAR(got[1], cosines(0x1p20, 32, 0) / 8, 1e-6);
}

TEST(Sandwich, NamesWhatIsWrong) {
  EXPECT_TRUE(fails_with(decoded<Sandwich>(of(1, 5)), Errc::not_even, "dim"));
  EXPECT_TRUE(fails_with(decoded<Sandwich>(of(1, 8, 2)), Errc::out_of_range, "start"));
  EXPECT_TRUE(
      fails_with(decoded<Sandwich>(of(1, 8).number("base", 1)), Errc::out_of_range, "base"));
}

}  // namespace
}  // namespace posenc
