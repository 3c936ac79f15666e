// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/xpos.hpp"

#include "arches.hpp"
#include "posenc/encodings/rotary/rope.hpp"
#include "reference/plans.hpp"

namespace posenc {
namespace {

using namespace reference;
using reference::Options;

Options of(double head_dim, double center = 0, double scale_base = 512) {
  return std::move(Options()
                       .number("headDim", head_dim)
                       .number("center", center)
                       .number("scaleBase", scale_base));
}
double zeta(Index i, Index width) {
  const double d = static_cast<double>(width);
  return (static_cast<double>(2 * i) / d + 0.4) / 1.4;
}
Turning want_of(Index width, Index rotary_dim, double center, double scale_base) {
  return {.head_dim = width,
          .frequencies = plain(rotary_dim),
          .amplitude = [=](Role role, Index i, double p) {
            const double sign = role == Role::query ? 1 : -1;
            return std::exp(sign * (p - center) / scale_base * std::log(zeta(i, rotary_dim)));
          }};
}
/// q at position m times k at position j, in float64.
double score(const Turning& t, const Array<float>& q, double m, const Array<float>& k, double j) {
  const Array<double> a = t.of(q, {m}, Role::query), b = t.of(k, {j}, Role::key);
  double sum = 0;
  for (Index c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}
/// The same through the library's tables.
double score(const Encoding& e, Array<float> q, double m, Array<float> k, double j) {
  const Index width = e.rotation().table_width();
  const auto turn = [&](Array<float>& x, double p, Role role) {
    Array<float> table(width);
    Array<double> scratch(width / 2), at{p};
    e.angles({.out = {table.data(), 1, width, width},
              .positions = positions(at),
              .role = role,
              .scratch = scratch.data()});
    rotate_rows<xsimd::default_arch>(e.rotation(), {x.data(), 1, x.size(), x.size()},
                                     {table.data(), 1, width, width}, false);
  };
  turn(q, m, Role::query), turn(k, j, Role::key);
  double sum = 0;
  for (Index c = 0; c < q.size(); ++c) sum += static_cast<double>(q[c]) * k[c];
  return sum;
}

template <class A>
class XposRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(XposRows, Arches);

TYPED_TEST(XposRows, TurnWithAnAmplitudeThatFallsForQueriesAndGrowsForKeys) {
  // Positions to 16000 at a scale of 2048: amplitudes to 18000 and their inverses.
  for (Index d : {2, 6, 64}) {
    const double width = static_cast<double>(d);
    Turning want = want_of(d, d, 3, 2048);
    expect_turns<TypeParam>(made<Xpos, TypeParam>(of(width, 3, 2048)), want, 1);
    want.interleaved = true;
    expect_turns<TypeParam>(made<Xpos, TypeParam>(of(width, 3, 2048).text("layout", "interleaved")),
                            want, 1);
  }
  expect_turns<TypeParam>(made<Xpos, TypeParam>(of(10, 0, 4096).number("rotaryDim", 6)),
                          want_of(10, 6, 0, 4096), 1);
}

TYPED_TEST(XposRows, Attend) {
  expect_attends<TypeParam>(made<Xpos, TypeParam>(of(10, 4, 16)), want_of(10, 10, 4, 16));
}

TEST(Xpos, HasTheGoldenBasesOfItsAmplitudes) {
  const Array<Index> at{0, 1, 16, 31};
  const Array<double> want{0.285714286, 0.308035714, 0.642857143, 0.977678571};
  const XposOptions o;
  const XposSchedule schedule(o, 64, 0);
  for (Index i = 0; i < at.size(); ++i)
    EXPECT_NEAR(schedule.amplitude({}, at[i], 512), want[i], 1e-9);
}

TEST(Xpos, F2SharesOneCentreBetweenQueriesAndKeys) {
  const Array<float> q{1, 2, 3, 4}, k{0.5f, -1, 2, 0.25f};
  const Encoding e = made<Xpos>(of(4));
  EXPECT_NEAR(score(e, q, 9, k, 5), -5.398445, 2e-6);
  EXPECT_NEAR(score(e, q, 109, k, 105), -5.398445, 2e-5);
  EXPECT_NEAR(score(made<Xpos>(of(4, 200)), q, 9, k, 5), -5.398445, 2e-6);
}

// Property 25.
TEST(Xpos, DecaysByItsBaseToTheDistanceWhateverTheCentre) {
  Random random(4);
  for (Index i : {0, 1, 3}) {
    Array<float> q(8), k(8);
    q[i] = k[i] = 1;
    for (double distance : {0.0, 1.0, 40.0, 500.0}) {
      const double plain_score = std::cos(distance * plain(8)[i]);
      const double want = plain_score * std::pow(zeta(i, 8), distance / 512);
      for (double center : {0.0, 100.0, -3000.0})
        EXPECT_NEAR(score(made<Xpos>(of(8, center)), q, 700 + distance, k, 700), want, 5e-6);
    }
  }
  const Array<float> q = random.floats(8), k = random.floats(8);
  const double here = score(want_of(8, 8, 0, 512), q, 600, k, 30);
  for (double center : {100.0, 5000.0, -5000.0})
    EXPECT_NEAR(score(want_of(8, 8, center, 512), q, 600, k, 30), here, std::abs(here) * 1e-9);
}

TEST(Xpos, RefusesPositionsWhoseAmplitudeFloat32CannotHold) {
  const auto at = [](const Encoding& e, Array<double> p) { return e.accepts(positions(p)); };
  const Encoding e = made<Xpos>(of(64));
  EXPECT_TRUE(succeeds(at(e, {0, -36260, 36260})));
  const Status far = at(e, {0, 36261});
  EXPECT_TRUE(fails_with(far, Errc::out_of_range, "positions"));
  EXPECT_EQ(far.error().index, 1);
  EXPECT_EQ(far.error().received, 36261);
  EXPECT_TRUE(fails_with(at(e, {-36261}), Errc::out_of_range, "positions"));
  EXPECT_TRUE(succeeds(at(made<Xpos>(of(64, 30000)), {66260})));
  EXPECT_TRUE(fails_with(at(made<Xpos>(of(64, 30000)), {-6261}), Errc::out_of_range, "positions"));
  EXPECT_TRUE(succeeds(at(made<Xpos>(of(64, 0, 1024)), {72521})));
  EXPECT_TRUE(succeeds(at(made<Xpos>(of(64).number("rotaryDim", 0)), {1e9})));

  // What is accepted is finite, for both roles.
  for (double p : {36260.0, -36260.0})
    for (Role role : {Role::query, Role::key}) {
      Array<float> table(64);
      Array<double> scratch(32), position{p};
      e.angles({.out = {table.data(), 1, 64, 64},
                .positions = positions(position),
                .role = role,
                .scratch = scratch.data()});
      for (float x : table) EXPECT_TRUE(std::isfinite(x));
    }
}

TEST(Xpos, HasRopesFrequencies) {
  expect_same(frequencies_of<Xpos>(of(64)), frequencies_of<Rope>(Options().number("headDim", 64)));
  EXPECT_TRUE(fails_with(decoded<Xpos>(of(64, 0, 0)), Errc::out_of_range, "scaleBase"));
}

}  // namespace
}  // namespace posenc
