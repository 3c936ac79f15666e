// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/rotation.hpp"

#include "arches.hpp"
#include "core/rows.hpp"
#include "posenc/core/apply.hpp"
#include "reference/errors.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::counted;
using reference::part;
using reference::Random;
using reference::rope;
using reference::succeeds;

template <class A>
class RotationKernel : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(RotationKernel, Arches);

/// One product and one sum are rounded, each by half a unit of a term no larger than this times it.
constexpr double rounding = 2 * 0x1p-24 * 1.5;

/// A row of `pairs` random angles: cosines, then sines.
Array<float> angles(Random& random, Index pairs) {
  Array<float> table(2 * pairs);
  for (Index i = 0; i < pairs; ++i) {
    const double angle = 100 * random.normal();
    table[i] = static_cast<float>(std::cos(angle));
    table[pairs + i] = static_cast<float>(std::sin(angle));
  }
  return table;
}

template <class Arch>
Array<float> rotated(const Rotation& r, Array<float> x, const Array<float>& table, Index rows,
                     bool inverse = false) {
  const Index width = x.size() / rows;
  rotate_rows<Arch>(r, {x.data(), rows, width, width},
                    {table.data(), rows, r.table_width(), r.table_width()}, inverse);
  return x;
}

Rotation half_of(Index pairs) { return {.layout = Layout::half, .pairs = pairs, .partner = pairs}; }
Rotation interleaved(Index pairs) { return {.layout = Layout::interleaved, .pairs = pairs}; }

TYPED_TEST(RotationKernel, TurnsEachPairByItsAngleInBothLayouts) {
  for (Index pairs = 1; pairs <= TestFixture::most; ++pairs)
    for (const Rotation& r : {half_of(pairs), interleaved(pairs)}) {
      Random random(static_cast<std::uint64_t>(pairs));
      const Array<float> x = random.floats(2 * pairs), table = angles(random, pairs);
      for (bool inverse : {false, true}) {
        const Array<float> y = rotated<TypeParam>(r, x, table, 1, inverse);
        for (Index i = 0; i < pairs; ++i) {
          const Index a = r.layout == Layout::half ? i : 2 * i;
          const Index b = r.layout == Layout::half ? i + pairs : 2 * i + 1;
          const double c = table[i], s = inverse ? -table[pairs + i] : table[pairs + i];
          const double size = std::abs(x[a]) + std::abs(x[b]);
          EXPECT_NEAR(y[a], x[a] * c - x[b] * s, rounding * size);
          EXPECT_NEAR(y[b], x[b] * c + x[a] * s, rounding * size);
        }
      }
    }
}

TYPED_TEST(RotationKernel, GivesTheSameBitsInBothLayoutsUpToTheOrderOfChannels) {
  for (Index pairs = 1; pairs <= TestFixture::most; ++pairs) {
    Random random(100 + static_cast<std::uint64_t>(pairs));
    const Array<float> x = random.floats(2 * pairs), table = angles(random, pairs);
    Array<float> in_turns(2 * pairs);
    for (Index i = 0; i < pairs; ++i) in_turns[2 * i] = x[i], in_turns[2 * i + 1] = x[pairs + i];
    for (bool inverse : {false, true}) {
      const Array<float> split = rotated<TypeParam>(half_of(pairs), x, table, 1, inverse);
      const Array<float> turned =
          rotated<TypeParam>(interleaved(pairs), in_turns, table, 1, inverse);
      for (Index i = 0; i < pairs; ++i) {
        EXPECT_TRUE(reference::same_bits(split[i], turned[2 * i]));
        EXPECT_TRUE(reference::same_bits(split[pairs + i], turned[2 * i + 1]));
      }
    }
  }
}

TYPED_TEST(RotationKernel, RoundsAPairAlikeInTheBodyAndInTheTail) {
  // The first pairs of a long row sit in whole vectors, those of a short one in its tail.
  const Index most = TestFixture::most;
  Random random(3);
  const Array<float> a = random.floats(most), b = random.floats(most), table = angles(random, most);
  const auto turn = [&](Index pairs, Layout layout) {
    Array<float> x(2 * pairs), part(2 * pairs);
    for (Index i = 0; i < pairs; ++i) {
      x[layout == Layout::half ? i : 2 * i] = a[i];
      x[layout == Layout::half ? pairs + i : 2 * i + 1] = b[i];
      part[i] = table[i];
      part[pairs + i] = table[most + i];
    }
    const Rotation r = layout == Layout::half ? half_of(pairs) : interleaved(pairs);
    const Array<float> y = rotated<TypeParam>(r, x, part, 1);
    Array<float> firsts(pairs);
    for (Index i = 0; i < pairs; ++i) firsts[i] = y[layout == Layout::half ? i : 2 * i];
    return firsts;
  };
  for (Layout layout : {Layout::half, Layout::interleaved}) {
    const Array<float> whole = turn(most, layout);
    for (Index pairs = 1; pairs < most; ++pairs) {
      const Array<float> part = turn(pairs, layout);
      for (Index i = 0; i < pairs; ++i) EXPECT_TRUE(reference::same_bits(part[i], whole[i]));
    }
  }
}

TYPED_TEST(RotationKernel, LeavesChannelsOutsideThePairsUntouchedToTheBit) {
  for (Index pairs = 0; pairs <= TestFixture::lanes + 1; ++pairs)
    for (const Rotation& r : {half_of(pairs), interleaved(pairs)})
      for (Index rest : {Index{1}, Index{5}, Index{16}}) {
        Random random(5);
        Array<float> x = random.floats(2 * pairs + rest);
        for (Index c = 2 * pairs; c < x.size(); ++c)
          if (c % 2 == 0) x[c] = reference::nan;
        const Array<float> table = angles(random, pairs);
        const Array<float> y = rotated<TypeParam>(r, x, table, 1);
        for (Index c = 2 * pairs; c < x.size(); ++c) EXPECT_TRUE(reference::same_bits(x[c], y[c]));
      }
}

TYPED_TEST(RotationKernel, PairsAcrossAGapWhereThePartnerIsFarther) {
  // Three of four pairs rotate, but b still sits half the head away.
  Random random(6);
  const Array<float> x = random.floats(8), table = angles(random, 3);
  const Array<float> y =
      rotated<TypeParam>({.layout = Layout::half, .pairs = 3, .partner = 4}, x, table, 1);
  for (Index i = 0; i < 3; ++i) {
    const double c = table[i], s = table[3 + i], size = std::abs(x[i]) + std::abs(x[4 + i]);
    EXPECT_NEAR(y[i], x[i] * c - x[4 + i] * s, rounding * size);
    EXPECT_NEAR(y[4 + i], x[4 + i] * c + x[i] * s, rounding * size);
  }
  EXPECT_EQ(y[3], x[3]);
  EXPECT_EQ(y[7], x[7]);
}

TYPED_TEST(RotationKernel, TurnsTwoHeadsAsEachAlone) {
  for (Index vectors : {1, 2, 3, 5})
    for (const Rotation& r :
         {half_of(vectors * lanes<TypeParam>), interleaved(vectors * lanes<TypeParam>)}) {
      const Index width = 2 * r.pairs;
      ASSERT_TRUE(turns_two<TypeParam>(r, width));
      EXPECT_FALSE(turns_two<TypeParam>(r, width + 1));
      for (Index rows : {0, 1, 2, 7})
        for (bool inverse : {false, true}) {
          Random random(static_cast<std::uint64_t>(width * 10 + rows));
          // Heads lie as far apart as others between them want.
          const Index apart = (rows + 2) * width;
          const Array<float> x = random.floats(apart + rows * width);
          Array<float> table(rows * width);
          for (Index t = 0; t < rows; ++t) {
            const Array<float> row = angles(random, r.pairs);
            for (Index i = 0; i < width; ++i) table[t * width + i] = row[i];
          }
          const View2<const float> at{table.data(), rows, width, width};
          Array<float> alone(x.size(), reference::nan), two = alone, in_place = x;
          for (Index head : {Index{0}, apart})
            rotate_rows<TypeParam>(r, {x.data() + head, rows, width, width},
                                   {alone.data() + head, rows, width, width}, at, inverse);
          rotate_two<TypeParam>(r, {x.data(), rows, width, width}, {two.data(), rows, width, width},
                                at, inverse, apart);
          EXPECT_TRUE(two.same_bits(alone));
          const View2<float> own{in_place.data(), rows, width, width};
          rotate_two<TypeParam>(r, own, own, at, inverse, apart);
          for (Index i = 0; i < x.size(); ++i)
            if (i < rows * width || i >= apart)
              EXPECT_TRUE(reference::same_bits(in_place[i], alone[i])) << i;
            else
              EXPECT_TRUE(reference::same_bits(in_place[i], x[i])) << i;
        }
    }
}

TYPED_TEST(RotationKernel, UndoesItselfWithTheInverse) {
  constexpr double two_roundings = 4 * rounding;
  for (Index pairs : {Index{1}, TestFixture::lanes, TestFixture::most})
    for (const Rotation& r : {half_of(pairs), interleaved(pairs)}) {
      Random random(8);
      const Array<float> x = random.floats(2 * pairs), table = angles(random, pairs);
      const Array<float> back =
          rotated<TypeParam>(r, rotated<TypeParam>(r, x, table, 1), table, 1, true);
      for (Index c = 0; c < x.size(); ++c) EXPECT_NEAR(back[c], x[c], two_roundings * 6);
    }
}

TYPED_TEST(RotationKernel, GivesEachRowItsOwnAngles) {
  constexpr Index rows = 3, pairs = 5;
  for (const Rotation& r : {half_of(pairs), interleaved(pairs)}) {
    Random random(11);
    const Array<float> x = random.floats(rows * 2 * pairs);
    Array<float> table(rows * 2 * pairs);
    for (Index t = 0; t < rows; ++t) {
      const Array<float> row = angles(random, pairs);
      for (Index i = 0; i < 2 * pairs; ++i) table[t * 2 * pairs + i] = row[i];
    }
    const Array<float> together = rotated<TypeParam>(r, x, table, rows);
    for (Index t = 0; t < rows; ++t) {
      Array<float> one(2 * pairs), own(2 * pairs);
      for (Index i = 0; i < 2 * pairs; ++i)
        one[i] = x[t * 2 * pairs + i], own[i] = table[t * 2 * pairs + i];
      const Array<float> alone = rotated<TypeParam>(r, one, own, 1);
      for (Index i = 0; i < 2 * pairs; ++i) EXPECT_EQ(alone[i], together[t * 2 * pairs + i]);
    }
  }
}

TYPED_TEST(RotationKernel, MakesAPairOfEachMagnitudeWhereItIsPolar) {
  constexpr double units = 8 * 0x1p-24;  // four of softplus, one of the product, and of the table
  for (Index pairs : {Index{1}, TestFixture::lanes, TestFixture::most}) {
    Random random(12);
    const Array<float> given = random.floats(pairs), table = angles(random, pairs);
    Array<float> x(2 * pairs, reference::nan);  // what a row grows into is never read
    for (Index i = 0; i < pairs; ++i) x[i] = given[i];
    const Rotation r{.pairs = pairs, .partner = pairs, .polar = true};
    EXPECT_EQ(r.growth(), pairs);
    const Array<float> y = rotated<TypeParam>(r, x, table, 1);
    for (Index i = 0; i < pairs; ++i) {
      const double length = std::log1p(std::exp(static_cast<double>(given[i])));
      EXPECT_NEAR(y[i], length * table[i], units * length);
      EXPECT_NEAR(y[pairs + i], length * table[pairs + i], units * length);
    }
  }
}

TEST(Rotate, GivesARowTheSameBitsAloneAndAmongMany) {
  const Index rows = 1500, heads = 2;
  for (const char* layout : {"half", "interleaved"})
    for (const auto& [width, pairs] : {std::pair<int, int>{64, 32}, {11, 3}}) {
      OptionBag bag;
      bag.number("headDim", width), bag.number("rotaryDim", 2 * pairs);
      bag.text("layout", layout);
      const Encoding e = std::move(*make_encoding("rope", bag));
      const Array<double> p = counted(rows, 5);
      Random random(7);
      const Array<float> x = random.floats(heads * rows * width);
      for (bool inverse : {false, true}) {
        Array<float> apart(x.size(), reference::nan), in_place = x;
        RotateArguments a{.x = apart.data(),
                          .from = x.data(),
                          .heads = heads,
                          .rows = rows,
                          .width = width,
                          .positions = p.data(),
                          .inverse = inverse};
        ASSERT_TRUE(succeeds(rotate(e, a)));
        a.x = in_place.data(), a.from = in_place.data();
        ASSERT_TRUE(succeeds(rotate(e, a)));
        EXPECT_TRUE(in_place.same_bits(apart));
        for (Index row = 0; row < heads * rows; row += 7) {
          Array<float> alone = part(x, row * width, width);
          ASSERT_TRUE(succeeds(rotate(e, {.x = alone.data(),
                                          .from = alone.data(),
                                          .rows = 1,
                                          .width = width,
                                          .positions = p.data() + row % rows,
                                          .inverse = inverse})));
          ASSERT_TRUE(alone.same_bits(part(apart, row * width, width))) << row;
        }
      }
    }
}

TEST(Rotate, SharesATableOverBatchAndHeads) {
  const Encoding e = rope(6);
  const Array<double> p = counted(3, 5);
  Random random(2);
  const Array<float> plane = random.floats(18);
  Array<float> x(4 * 18);
  for (Index i = 0; i < x.size(); ++i) x[i] = plane[i % 18];
  ASSERT_TRUE(succeeds(rotate(e, {.x = x.data(),
                                  .from = x.data(),
                                  .batch = 2,
                                  .heads = 2,
                                  .rows = 3,
                                  .width = 6,
                                  .positions = p.data()})));
  for (Index plane_at : {18, 36, 54}) EXPECT_EQ(part(x, 0, 18), part(x, plane_at, 18));
  EXPECT_NE(part(x, 0, 18), plane);
}

TEST(Rotate, TakesASetOfPositionsForEachBatchEntry) {
  const Encoding e = rope(4);
  const Array<double> sets{0, 1, 2, 100, 50, 0};
  Random random(3);
  const Array<float> x = random.floats(2 * 2 * 3 * 4);
  Array<float> together(x.size());
  ASSERT_TRUE(succeeds(rotate(e, {.x = together.data(),
                                  .from = x.data(),
                                  .batch = 2,
                                  .heads = 2,
                                  .rows = 3,
                                  .width = 4,
                                  .positions = sets.data(),
                                  .position_rows = 2})));
  for (Index b = 0; b < 2; ++b) {
    Array<float> alone = part(x, b * 24, 24);
    ASSERT_TRUE(succeeds(rotate(e, {.x = alone.data(),
                                    .from = alone.data(),
                                    .heads = 2,
                                    .rows = 3,
                                    .width = 4,
                                    .positions = sets.data() + 3 * b})));
    EXPECT_TRUE(part(together, b * 24, 24).same_bits(alone));
  }
}

TEST(Rotate, GivesTheSameBitsHoweverTheSequenceIsCut) {
  // 150 rows cross two of the kernel's own blocks of 64.
  constexpr Index rows = 150, width = 10;
  const Encoding e = rope(width);
  const Array<double> p = counted(rows, 1000);
  Random random(4);
  const Array<float> x = random.floats(rows * width);
  Array<float> whole = x;
  const auto turn = [&](Array<float>& data, Index first, Index n) {
    return rotate(e, {.x = data.data() + first * width,
                      .from = data.data() + first * width,
                      .rows = n,
                      .width = width,
                      .positions = p.data() + first});
  };
  ASSERT_TRUE(succeeds(turn(whole, 0, rows)));
  for (Index chunk : {1, 7, 63, 64, 65, 149}) {
    Array<float> cut = x;
    for (Index t = 0; t < rows; t += chunk)
      ASSERT_TRUE(succeeds(turn(cut, t, std::min(chunk, rows - t))));
    EXPECT_TRUE(whole.same_bits(cut)) << chunk;
  }
}

}  // namespace
}  // namespace posenc
