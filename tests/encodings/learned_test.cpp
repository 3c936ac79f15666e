// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/learned.hpp"

#include "posenc/core/apply.hpp"

#include "arches.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::decoded;
using reference::embedding_of;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::positions;
using reference::succeeds;

/// Row r, channel c holds 100 r + c.
Array<float> numbered(Index rows, Index width) {
  Array<float> table(rows * width);
  for (Index i = 0; i < table.size(); ++i)
    table[i] = static_cast<float>(100 * (i / width) + i % width);
  return table;
}
Options table_of(Index rows, Index width) {
  return std::move(Options().table("table", numbered(rows, width), rows, width));
}
/// The row that each position takes, read off channel 0.
Array<double> rows_taken(const Encoding& e, const Array<double>& p) {
  const Array<float> x = embedding_of(e, p);
  Array<double> rows(p.size());
  for (Index t = 0; t < p.size(); ++t) rows[t] = x[t * e.embed_width()] / 100.0;
  return rows;
}

template <class A>
class LearnedRows : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(LearnedRows, Arches);

TYPED_TEST(LearnedRows, AreAddedToTheEmbeddingAtEveryWidth) {
  for (Index width = 1; width <= TestFixture::most; ++width) {
    reference::Random random(static_cast<std::uint64_t>(width));
    const Array<float> table = random.floats(5 * width), tokens = random.floats(3 * width);
    const Encoding e = made<Learned, TypeParam>(Options().table("table", table, 5, width));
    ASSERT_EQ(e.embed_width(), width);
    const Array<double> p{4, 0, 2};
    Array<float> x = tokens;
    e.embed({.rows = {x.data(), 3, width, width}, .positions = positions(p)});
    for (Index t = 0; t < 3; ++t)
      for (Index c = 0; c < width; ++c)
        EXPECT_EQ(x[t * width + c],
                  tokens[t * width + c] + table[static_cast<Index>(p[t]) * width + c]);
  }
}

TEST(Learned, CountsFromRow0AsBertAndGpt2) {
  const Encoding e = made<Learned>(table_of(8, 3));
  EXPECT_EQ(rows_taken(e, {0, 1, 7, 3}), (Array<double>{0, 1, 7, 3}));
}

TEST(Learned, ReservesTwoRowsForOpt) {
  const Encoding e = made<Learned>(table_of(8, 3).number("offset", 2));
  EXPECT_EQ(rows_taken(e, {0, 1, 5}), (Array<double>{2, 3, 7}));
  EXPECT_EQ(rows_taken(e, {-1}), Array<double>{1}) << "padding: cumsum(mask) * mask - 1 + 2";
}

TEST(Learned, IndexesAsIfTheReservedRowsWereCutOff) {
  const Array<float> rows = numbered(6, 4);
  Array<float> with_two(8 * 4, -1.0f);
  for (Index i = 0; i < rows.size(); ++i) with_two[8 + i] = rows[i];
  const Encoding plain = made<Learned>(Options().table("table", rows, 6, 4));
  const Encoding opt = made<Learned>(Options().table("table", with_two, 8, 4).number("offset", 2));
  const Array<double> p{0, 5, 3};
  EXPECT_TRUE(embedding_of(plain, p).same_bits(embedding_of(opt, p)));
}

TEST(Learned, F7StartsRobertaAfterItsPaddingRow) {
  // Padding index 1: three tokens take rows 2, 3, 4, and padding takes row 1.
  const Encoding e = made<Learned>(table_of(8, 3).number("offset", 2));
  EXPECT_EQ(rows_taken(e, {0, 1, 2, -1}), (Array<double>{2, 3, 4, 1}));
}

TEST(Learned, F8PadsWithThePaddingRow) {
  // Padding index 3: [[4, 5, 6], [4, 3, 3]].
  const Encoding e = made<Learned>(table_of(7, 2).number("offset", 4));
  EXPECT_EQ(rows_taken(e, {0, 1, 2, 0, -1, -1}), (Array<double>{4, 5, 6, 4, 3, 3}));
}

TEST(Learned, StatesTheUsableLength) {
  const auto usable = [](Index rows, double offset) {
    return decoded<Learned>(
               Options().table("table", Array<float>(rows), rows, 1).number("offset", offset))
        ->usable_length();
  };
  EXPECT_EQ(usable(512, 0), 512) << "BERT";
  EXPECT_EQ(usable(1024, 0), 1024) << "GPT-2";
  EXPECT_EQ(usable(2050, 2), 2048) << "OPT";
  EXPECT_EQ(usable(514, 2), 512) << "RoBERTa";
  EXPECT_EQ(usable(514, 4), 510) << "padding index 3";
}

TEST(Learned, F9RefusesARowPastTheEndAndSaysHowLongTheTableIs) {
  const Encoding e = made<Learned>(table_of(10, 2).number("offset", 2));
  const Array<double> p{0, 7, 8};
  const Status s = e.accepts(positions(p));
  EXPECT_TRUE(fails_with(s, Errc::position_out_of_table, "positions"));
  EXPECT_EQ(s.error().received, 8);
  EXPECT_EQ(s.error().index, 2);
  EXPECT_EQ(s.error().low, -2) << "the reserved rows";
  EXPECT_EQ(s.error().high, 7);
}

TEST(Learned, F10ChecksOffsetAndLengthTogether) {
  const Encoding e = made<Learned>(table_of(10, 2));
  EXPECT_TRUE(succeeds(e.accepts(positions(reference::counted(2, 8)))));
  EXPECT_TRUE(fails_with(e.accepts(positions(reference::counted(4, 8))),
                         Errc::position_out_of_table, "positions"));
}

TEST(Learned, F11RefusesIndicesOnEitherSide) {
  const Encoding e = made<Learned>(table_of(8, 2));
  for (double bad : {8.0, -1.0, 1e15, -0x1p53}) {
    const Array<double> p{0, bad};
    const Status s = e.accepts(positions(p));
    EXPECT_TRUE(fails_with(s, Errc::position_out_of_table, "positions"));
    EXPECT_EQ(s.error().received, bad);
    EXPECT_EQ(s.error().index, 1);
  }
  const Encoding offset = made<Learned>(table_of(8, 2).number("offset", 2));
  EXPECT_TRUE(succeeds(offset.accepts(positions({-2}))));
  EXPECT_TRUE(
      fails_with(offset.accepts(positions({-3})), Errc::position_out_of_table, "positions"));
}

TEST(Learned, RefusesWhatIsNoIndex) {
  const Encoding e = made<Learned>(table_of(8, 2));
  EXPECT_TRUE(fails_with(e.accepts(positions({0.5})), Errc::not_integer, "positions"));
  EXPECT_TRUE(fails_with(e.accepts(positions({std::nan("")})), Errc::not_finite, "positions"));
  EXPECT_TRUE(fails_with(e.accepts(positions({1e300})), Errc::out_of_range, "positions"));
}

TEST(Learned, ClampsOnlyWhenAsked) {
  const Encoding e = made<Learned>(table_of(4, 2).text("pastEnd", "clamp"));
  const Array<double> p{2, 3, 4, 0x1p53};
  EXPECT_TRUE(succeeds(e.accepts(positions(p))));
  EXPECT_EQ(rows_taken(e, p), (Array<double>{2, 3, 3, 3}));
  EXPECT_TRUE(fails_with(e.accepts(positions({-1})), Errc::position_out_of_table, "positions"))
      << "before the table there is no last row";
}

TEST(Learned, FollowsAPermutationOfTokensAndChangesNothingWhenZero) {
  const Encoding e = made<Learned>(table_of(8, 3));
  const Array<float> in_order = embedding_of(e, {0, 1, 2}), permuted = embedding_of(e, {2, 0, 1});
  for (Index c = 0; c < 3; ++c) EXPECT_EQ(permuted[c], in_order[6 + c]);
  const Encoding zero = made<Learned>(Options().table("table", Array<float>(12), 4, 3));
  Array<float> x{1, -2, 3};
  zero.embed({.rows = {x.data(), 1, 3, 3}, .positions = positions({3})});
  EXPECT_EQ(x, (Array<float>{1, -2, 3}));
}

TEST(Learned, SumsTheGradientOfARowOverAllThatTookIt) {
  const Encoding e = made<Learned>(table_of(4, 2).text("pastEnd", "clamp"));
  const Array<float> by{1, 2, 3, 4, 5, 6, 7, 8};
  const Array<double> p{1, 9};
  Array<float> table(8);
  float* tables[] = {table.data()};
  ASSERT_TRUE(succeeds(embed_backward(e, {.gradient = by.data(),
                                          .batch = 2,
                                          .rows = 2,
                                          .width = 2,
                                          .positions = p.data(),
                                          .tables = tables})));
  EXPECT_EQ(table, (Array<float>{0, 0, 1 + 5, 2 + 6, 0, 0, 3 + 7, 4 + 8}));
  EXPECT_TRUE(fails_with(embed_backward(e, {.rows = 2, .width = 3, .positions = p.data()}),
                         Errc::shape_mismatch, "x"));
  const Encoding strict = made<Learned>(table_of(4, 2));
  EXPECT_TRUE(fails_with(embed_backward(strict, {.rows = 2, .width = 2, .positions = p.data()}),
                         Errc::position_out_of_table, "positions"));
}

TEST(Learned, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<Learned>({}), Errc::missing_option, "table"));
  EXPECT_TRUE(fails_with(decoded<Learned>(table_of(4, 2).number("offset", 4)), Errc::out_of_range,
                         "offset"));
  EXPECT_TRUE(fails_with(decoded<Learned>(table_of(4, 2).number("offset", -1)), Errc::out_of_range,
                         "offset"));
  EXPECT_TRUE(fails_with(decoded<Learned>(table_of(4, 2).number("offset", 0.5)), Errc::not_integer,
                         "offset"));
  EXPECT_TRUE(fails_with(decoded<Learned>(table_of(4, 2).text("pastEnd", "wrap")),
                         Errc::out_of_range, "pastEnd"));
  EXPECT_TRUE(fails_with(decoded<Learned>(Options().table("table", Array<float>(4), {4, 0, 0}, 1)),
                         Errc::shape_mismatch, "table"));
  EXPECT_TRUE(fails_with(decoded<Learned>(Options().table("table", {}, 0, 4)), Errc::shape_mismatch,
                         "table"));
}

}  // namespace
}  // namespace posenc
