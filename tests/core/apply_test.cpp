// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/apply.hpp"

#include <gtest/gtest.h>

#include "core/rows.hpp"
#include "posenc/core/position_rules.hpp"
#include "reference/errors.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::AllocationsFailAfter;
using reference::Array;
using reference::counted;
using reference::fails_with;
using reference::part;
using reference::Random;
using reference::rope;
using reference::succeeds;

Encoding sinusoid(int dim) {
  OptionBag bag;
  bag.number("dim", dim);
  return std::move(*make_encoding("sinusoidal", bag));
}
Encoding alibi(int heads) {
  OptionBag bag;
  bag.number("heads", heads);
  return std::move(*make_encoding("alibi", bag));
}

TEST(Embed, AddsInPlaceOrStartsFromAnotherTensorOrFromZeros) {
  const Encoding e = sinusoid(6);
  const Array<double> p = counted(4);
  Random random(1);
  const Array<float> tokens = random.floats(24);
  Array<float> in_place = tokens, elsewhere(24, reference::nan), table(24, reference::nan);
  EmbedArguments a{.rows = 4, .width = 6, .positions = p.data()};
  a.x = in_place.data(), a.from = in_place.data();
  ASSERT_TRUE(succeeds(embed(e, a)));
  a.x = elsewhere.data(), a.from = tokens.data();
  ASSERT_TRUE(succeeds(embed(e, a)));
  a.x = table.data(), a.from = nullptr;
  ASSERT_TRUE(succeeds(embed(e, a)));
  EXPECT_TRUE(in_place.same_bits(elsewhere));
  for (Index i = 0; i < 24; ++i) EXPECT_EQ(in_place[i], tokens[i] + table[i]);
}

// Long calls are cut into blocks, and neighbours share work: no bit may show it.
TEST(Embed, GivesARowTheSameBitsAloneAndAmongMany) {
  const Index rows = 150, width = 1030;
  const Encoding e = sinusoid(width);
  const Array<double> p = counted(rows, 20);
  Array<float> all(rows * width);
  ASSERT_TRUE(
      succeeds(embed(e, {.x = all.data(), .rows = rows, .width = width, .positions = p.data()})));
  for (Index t = 0; t < rows; ++t) {
    Array<float> alone(width);
    ASSERT_TRUE(succeeds(
        embed(e, {.x = alone.data(), .rows = 1, .width = width, .positions = p.data() + t})));
    ASSERT_TRUE(alone.same_bits(part(all, t * width, width))) << t;
  }
}

TEST(Embed, SharesPositionsOverTheBatchOrTakesASetForEachEntry) {
  const Encoding e = sinusoid(4);
  const Array<double> shared = counted(3), two_sets{0, 1, 2, 7, 8, 9};
  Array<float> x(2 * 3 * 4), y(2 * 3 * 4);
  ASSERT_TRUE(succeeds(
      embed(e, {.x = x.data(), .batch = 2, .rows = 3, .width = 4, .positions = shared.data()})));
  ASSERT_TRUE(succeeds(embed(e, {.x = y.data(),
                                 .batch = 2,
                                 .rows = 3,
                                 .width = 4,
                                 .positions = two_sets.data(),
                                 .position_rows = 2})));
  EXPECT_EQ(part(x, 0, 12), part(x, 12, 12));
  EXPECT_EQ(part(y, 0, 12), part(x, 0, 12));
  EXPECT_NE(part(y, 12, 12), part(x, 12, 12));
  EXPECT_FLOAT_EQ(y[12], std::sin(7.0f));
}

TEST(Embed, LeavesItsTargetUntouchedWhenItFails) {
  const Encoding e = sinusoid(4);
  const Array<double> bad{0, 1, 2, 0, std::numeric_limits<double>::quiet_NaN(), 0};
  const Array<float> before(24, 5.0f);
  Array<float> x = before;
  EmbedArguments a{.x = x.data(),
                   .batch = 2,
                   .rows = 3,
                   .width = 4,
                   .positions = bad.data(),
                   .position_rows = 2};
  const Status s = embed(e, a);
  EXPECT_TRUE(fails_with(s, Errc::not_finite, "positions"));
  EXPECT_EQ(s.error().index, 4) << "counted over the whole of [B, rows]";
  a.width = 5;
  EXPECT_TRUE(fails_with(embed(e, a), Errc::shape_mismatch, "x"));
  EXPECT_TRUE(fails_with(embed(rope(4), a), Errc::unsupported, "rope"));
  EXPECT_EQ(x, before);
}

TEST(Rotate, LeavesItsTargetUntouchedWhenItFails) {
  const Encoding e = rope(4);
  const Array<double> bad{0, 1, 0, std::numeric_limits<double>::infinity()}, good = counted(4);
  const Array<float> before(2 * 2 * 4, 5.0f), source(2 * 2 * 4, 1.0f);
  Array<float> x = before;
  const MemoryUse use = memory_use();
  RotateArguments a{.x = x.data(),
                    .from = source.data(),
                    .batch = 2,
                    .rows = 2,
                    .width = 4,
                    .positions = bad.data(),
                    .position_rows = 2};
  const Status s = rotate(e, a);
  EXPECT_TRUE(fails_with(s, Errc::not_finite, "positions"));
  EXPECT_EQ(s.error().index, 3);
  a.positions = good.data();
  a.width = 6;
  EXPECT_TRUE(fails_with(rotate(e, a), Errc::shape_mismatch, "x"));
  a.width = 4;
  a.axes = 2;
  EXPECT_TRUE(fails_with(rotate(e, a), Errc::shape_mismatch, "positions"));
  a.axes = 1;
  EXPECT_TRUE(fails_with(rotate(alibi(2), a), Errc::unsupported, "alibi"));
  {
    const AllocationsFailAfter none(0);
    EXPECT_TRUE(fails_with(rotate(e, a), Errc::out_of_memory, ""));
  }
  EXPECT_EQ(x, before);
  EXPECT_EQ(memory_use(), use);
}

/// Adds the row to channel 0 and the column to channel 1.
struct Grid : EncodingDefaults {
  struct Options {};
  static constexpr Spec spec = [] {
    Spec s{};
    s.id = "grid";
    s.sites = {.embed = true};
    s.axes = 2;
    return s;
  }();
  static constexpr std::array<Field, 0> fields{};
  static Result<Grid> make(Options) { return Grid{}; }
  Index embed_width() const { return 2; }
  Status accepts(const Positions& p) const { return check_real_positions(p); }
  template <class Arch>
  void embed(Arch, const RowBlock& b) const {
    for (Index t = 0; t < b.rows.rows; ++t)
      for (Index a = 0; a < 2; ++a)
        b.rows.row(t)[a] = b.source(t)[a] + static_cast<float>(b.positions.axis(a)[t]);
  }
};

TEST(Embed, TakesSeveralAxesAndASetForEachEntryOfSeveralHeads) {
  const Encoding e = reference::made_here<Grid>({});
  Array<double> p{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112};  // [2 sets, 2 axes, 3]
  Array<float> x(2 * 2 * 3 * 2, 0.5f);
  const EmbedArguments a{.x = x.data(),
                         .from = x.data(),
                         .batch = 2,
                         .heads = 2,
                         .rows = 3,
                         .width = 2,
                         .positions = p.data(),
                         .position_rows = 2,
                         .axes = 2};
  ASSERT_TRUE(succeeds(embed(e, a)));
  for (Index plane = 0; plane < 4; ++plane)
    for (Index t = 0; t < 3; ++t)
      for (Index axis = 0; axis < 2; ++axis)
        EXPECT_EQ(x[(plane * 3 + t) * 2 + axis],
                  static_cast<float>(0.5 + p[(plane / 2 * 2 + axis) * 3 + t]));
  p[10] = std::numeric_limits<double>::quiet_NaN();
  const Status s = embed(e, a);
  EXPECT_TRUE(fails_with(s, Errc::not_finite, "positions"));
  EXPECT_EQ(s.error().index, 10) << "over all sets and axes";
}

/// Makes a pair of each of 3 channels, at `position` radians in channel 0 only.
struct Widening : EncodingDefaults {
  struct Options {};
  static constexpr Spec spec = [] {
    Spec s{};
    s.id = "widening";
    s.sites = {.rotate = true};
    return s;
  }();
  static constexpr std::array<Field, 0> fields{};
  static Result<Widening> make(Options) { return Widening{}; }
  Index head_dim() const { return 3; }
  Rotation rotation() const { return {.pairs = 3, .partner = 3, .polar = true}; }
  Plan plan(double, double*) const { return {.inverse_frequencies = {}, .rotation = rotation()}; }
  void angles(const AngleBlock& b) const {
    for (Index t = 0; t < b.positions.count; ++t)
      for (Index i = 0; i < 3; ++i) {
        const double angle = i == 0 ? b.positions[t] : 0;
        b.out.row(t)[i] = static_cast<float>(std::cos(angle));
        b.out.row(t)[3 + i] = static_cast<float>(std::sin(angle));
      }
  }
};

TEST(Rotate, WritesWiderRowsWhereTheyGrow) {
  const Encoding e = reference::made_here<Widening>();
  constexpr Index rows = 70;  // more than one block of angles
  const Array<double> p = counted(rows);
  const Array<float> from = Random(2).floats(2 * rows * 3);
  Array<float> x(2 * rows * 6, reference::nan);
  RotateArguments a{.x = x.data(),
                    .from = from.data(),
                    .heads = 2,
                    .rows = rows,
                    .width = 3,
                    .positions = p.data()};
  ASSERT_TRUE(succeeds(rotate(e, a)));
  for (Index row = 0; row < 2 * rows; ++row)
    for (Index i = 0; i < 3; ++i) {
      const double length = std::log1p(std::exp(static_cast<double>(from[row * 3 + i])));
      const double angle = i == 0 ? p[row % rows] : 0;
      EXPECT_NEAR(x[row * 6 + i], length * std::cos(angle), 1e-6);
      EXPECT_NEAR(x[row * 6 + 3 + i], length * std::sin(angle), 1e-6);
    }
  const Array<float> before = x;
  a.inverse = true;
  EXPECT_TRUE(fails_with(rotate(e, a), Errc::unsupported, "inverse"));
  a.inverse = false;
  a.from = x.data();
  EXPECT_TRUE(fails_with(rotate(e, a), Errc::unsupported, "out"));
  EXPECT_TRUE(x.same_bits(before));
}

TEST(Rotate, DoesNothingToNoRows) {
  const Encoding e = rope(4);
  float x = 5;
  EXPECT_TRUE(succeeds(rotate(e, {.x = &x, .from = &x, .rows = 0, .width = 4})));
  EXPECT_TRUE(succeeds(rotate(
      e,
      {.x = &x, .from = &x, .batch = 0, .rows = 3, .width = 4, .positions = counted(3).data()})));
  EXPECT_EQ(x, 5);
}

TEST(Bias, WritesOneMatrixPerHead) {
  const Encoding e = alibi(2);  // slopes 2^-4 and 2^-8
  const Array<double> q{10, 4}, k{0, 4, 11};
  Array<float> out(2 * 2 * 3, reference::nan);
  ASSERT_TRUE(
      succeeds(bias(e, Positions::of(q.data(), 2), Positions::of(k.data(), 3), out.data())));
  for (Index h = 0; h < 2; ++h)
    for (Index t = 0; t < 2; ++t)
      for (Index j = 0; j < 3; ++j)
        EXPECT_EQ(out[(h * 2 + t) * 3 + j], (h == 0 ? 0x1p-4 : 0x1p-8) * (k[j] - q[t]));
}

TEST(Bias, FailsBeforeItWrites) {
  const Array<double> good{0, 1}, bad{0, std::numeric_limits<double>::quiet_NaN()};
  const Positions fine = Positions::of(good.data(), 2), broken = Positions::of(bad.data(), 2);
  const Array<float> before(8, 5.0f);
  Array<float> out = before;
  EXPECT_TRUE(fails_with(bias(alibi(2), fine, broken, out.data()), Errc::not_finite, "positions"));
  EXPECT_TRUE(fails_with(bias(alibi(2), broken, fine, out.data()), Errc::not_finite, "positions"));
  EXPECT_TRUE(fails_with(bias(rope(4), fine, fine, out.data()), Errc::unsupported, "rope"));
  const Encoding e = alibi(2);
  {
    const AllocationsFailAfter none(0);
    EXPECT_TRUE(fails_with(bias(e, fine, fine, out.data()), Errc::out_of_memory, ""));
  }
  EXPECT_EQ(out, before);
}

}  // namespace
}  // namespace posenc
