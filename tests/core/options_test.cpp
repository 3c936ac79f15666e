// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/options.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "posenc/core/option_bag.hpp"
#include "posenc/core/option_rules.hpp"
#include "reference/errors.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::fails_with;
using reference::succeeds;

enum class Mode { plain, fancy };
constexpr std::array<std::string_view, 2> mode_names{"plain", "fancy"};

/// One option of every kind.
struct Sample {
  int count = 3;
  std::optional<int> width;
  double rate = 0.5;
  bool flag = true;
  Mode mode = Mode::plain;
  Buffer<double> list;
  Table table, loose;
};
using F = FieldOf<Sample>;
constexpr std::array sample_fields{
    F::integer<&Sample::count>("count", "Needed.", 1, 100).required(5),
    F::integer<&Sample::width>("width", "Even.", 0, 64).multiple_of(2).falls_back_to("count"),
    F::number<&Sample::rate>("rate", "Above 0.", 0, 10).exclusive_min().logarithmic(),
    F::boolean<&Sample::flag>("flag", "Yes or no."),
    F::choice<&Sample::mode>("mode", "One of two.", mode_names),
    F::list<&Sample::list>("list", "One per count.", -1, 1, Dim::of("count")),
    F::table<&Sample::table>("table", "[2 count + 1, E].", Dim::of("count", 2, 1),
                             Dim::any("E", 8)),
    F::table<&Sample::loose>("loose", "[rows].", Dim::any("rows", 4)).initialised_by(0.5)};
constexpr auto sample_rules = rules_of(sample_fields);

Status decode(const OptionBag& bag, Sample& into) {
  return decode_options(sample_rules, &into, bag);
}
Status decode(const std::function<void(OptionBag&)>& fill) {
  OptionBag bag;
  bag.number("count", 2);
  fill(bag);
  Sample sample;
  return decode(bag, sample);
}

TEST(Options, FillTheStructAndLeaveDefaultsElsewhere) {
  OptionBag bag;
  bag.number("count", 7);
  bag.text("mode", "fancy");
  Sample sample;
  ASSERT_TRUE(succeeds(decode(bag, sample)));
  EXPECT_EQ(sample.count, 7);
  EXPECT_EQ(sample.mode, Mode::fancy);
  EXPECT_EQ(sample.width, std::nullopt);
  EXPECT_EQ(sample.rate, 0.5);
  EXPECT_TRUE(sample.flag);
  EXPECT_TRUE(sample.list.empty());
  EXPECT_TRUE(sample.table.empty());
}

TEST(Options, TakeEveryKind) {
  OptionBag bag;
  const Array<double> list{-1, 1};
  const Array<float> table{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  bag.table("table", table.data(), {5, 2, 0},
            2);  // its shape follows from count, which comes later
  bag.list("list", {list.data(), 2});
  bag.number("width", 6);
  bag.number("rate", 10);
  bag.boolean("flag", false);
  bag.number("count", 2);
  Sample sample;
  ASSERT_TRUE(succeeds(decode(bag, sample)));
  EXPECT_EQ(sample.width, 6);
  EXPECT_EQ(sample.rate, 10);
  EXPECT_FALSE(sample.flag);
  EXPECT_EQ(sample.list[1], 1);
  EXPECT_EQ(sample.table.rank, 2);
  EXPECT_EQ(sample.table.row(4)[1], 9);
}

TEST(Options, CopyTheirDataSoThatTheCallerMayLetGo) {
  Sample sample;
  {
    Array<float> rows{1, 2, 3};
    OptionBag bag;
    bag.number("count", 1);
    bag.table("loose", rows.data(), {3, 0, 0}, 1);
    ASSERT_TRUE(succeeds(decode(bag, sample)));
    rows[0] = 99;
  }
  EXPECT_EQ(sample.loose.data[0], 1.0f);
}

TEST(Options, RefuseAnUnknownName) {
  EXPECT_TRUE(fails_with(decode([](OptionBag& b) { b.number("cuont", 1); }), Errc::unknown_option,
                         "cuont"));
  EXPECT_TRUE(fails_with(decode([](OptionBag& b) { b.number("", 1); }), Errc::unknown_option, ""));
  EXPECT_TRUE(fails_with(decode([](OptionBag& b) { b.number("Count", 1); }), Errc::unknown_option,
                         "Count"));
  const std::string endless(100, 'n');
  EXPECT_TRUE(fails_with(decode([&](OptionBag& b) { b.number(endless, 1); }), Errc::unknown_option,
                         endless));
}

TEST(Options, MissARequiredOneByName) {
  Sample sample;
  EXPECT_TRUE(fails_with(decode(OptionBag{}, sample), Errc::missing_option, "count"));
}

TEST(Options, RefuseAValueOfAnotherKind) {
  const float x = 0;
  const double d = 0;
  const auto wrong = [](std::string_view field, const std::function<void(OptionBag&)>& fill) {
    EXPECT_TRUE(fails_with(decode(fill), Errc::wrong_type, field));
  };
  wrong("rate", [](OptionBag& b) { b.text("rate", "1"); });
  wrong("rate", [](OptionBag& b) { b.boolean("rate", true); });
  wrong("width", [](OptionBag& b) { b.text("width", "2"); });
  wrong("flag", [](OptionBag& b) { b.number("flag", 1); });
  wrong("mode", [](OptionBag& b) { b.number("mode", 1); });
  wrong("list", [](OptionBag& b) { b.number("list", 1); });
  wrong("list", [&](OptionBag& b) { b.table("list", &x, {1, 0, 0}, 1); });
  wrong("table", [&](OptionBag& b) { b.list("table", {&d, 1}); });
  wrong("loose", [](OptionBag& b) { b.number("loose", 1); });
}

TEST(Options, RefuseNumbersThatAreNotFinite) {
  for (double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(
        fails_with(decode([&](OptionBag& b) { b.number("rate", bad); }), Errc::not_finite, "rate"));
    EXPECT_TRUE(fails_with(decode([&](OptionBag& b) { b.number("width", bad); }), Errc::not_finite,
                           "width"));
  }
}

TEST(Options, RefuseFractionsOfIntegers) {
  const Status s = decode([](OptionBag& b) { b.number("width", 2.5); });
  EXPECT_TRUE(fails_with(s, Errc::not_integer, "width"));
  EXPECT_EQ(s.error().received, 2.5);
}

TEST(Options, RefuseOddNumbersWhereEvenOnesAreNeeded) {
  const Status s = decode([](OptionBag& b) { b.number("width", 5); });
  EXPECT_TRUE(fails_with(s, Errc::not_even, "width"));
  EXPECT_EQ(s.error().received, 5);
}

TEST(Options, RefuseWhatLiesOutsideTheRangeAndSayTheRange) {
  for (double bad : {-1.0, 66.0, 2147483648.0, 9007199254740992.0, -1e300}) {
    const Status s = decode([&](OptionBag& b) { b.number("width", bad); });
    EXPECT_TRUE(fails_with(s, Errc::out_of_range, "width"));
    EXPECT_EQ(s.error().received, bad);
    EXPECT_EQ(s.error().low, 0);
    EXPECT_EQ(s.error().high, 64);
  }
}

TEST(Options, TakeTheEndsOfARangeUnlessOneIsExcluded) {
  EXPECT_TRUE(succeeds(decode([](OptionBag& b) { b.number("width", 0), b.number("rate", 10); })));
  EXPECT_TRUE(
      succeeds(decode([](OptionBag& b) { b.number("width", 64), b.number("rate", 5e-324); })));
  EXPECT_TRUE(
      fails_with(decode([](OptionBag& b) { b.number("rate", 0); }), Errc::out_of_range, "rate"));
  EXPECT_TRUE(
      fails_with(decode([](OptionBag& b) { b.number("rate", -0.0); }), Errc::out_of_range, "rate"));
}

TEST(Options, RefuseANameThatIsNoChoice) {
  for (std::string_view bad : {"", "Plain", "plain ", "other"})
    EXPECT_TRUE(
        fails_with(decode([&](OptionBag& b) { b.text("mode", bad); }), Errc::out_of_range, "mode"));
}

TEST(Options, RefuseAListOfAnotherLength) {
  const Array<double> list(3);
  for (std::size_t n : {0u, 1u, 3u}) {
    const Status s = decode([&](OptionBag& b) { b.list("list", {list.data(), n}); });
    EXPECT_TRUE(fails_with(s, Errc::shape_mismatch, "list"));
    EXPECT_EQ(s.error().received, static_cast<double>(n));
  }
}

TEST(Options, NameTheElementOfAListAtFault) {
  const Array<double> far{0, 1.5}, nothing{std::numeric_limits<double>::quiet_NaN(), 0};
  Status s = decode([&](OptionBag& b) { b.list("list", {far.data(), 2}); });
  EXPECT_TRUE(fails_with(s, Errc::out_of_range, "list"));
  EXPECT_EQ(s.error().index, 1);
  s = decode([&](OptionBag& b) { b.list("list", {nothing.data(), 2}); });
  EXPECT_TRUE(fails_with(s, Errc::not_finite, "list"));
  EXPECT_EQ(s.error().index, 0);
}

TEST(Options, RefuseATableOfAnotherRank) {
  const Array<float> data(16);
  for (int rank : {0, 1, 3}) {
    const Status s = decode([&](OptionBag& b) { b.table("table", data.data(), {5, 2, 1}, rank); });
    EXPECT_TRUE(fails_with(s, Errc::shape_mismatch, "table"));
    EXPECT_EQ(s.error().received, rank);
  }
}

TEST(Options, RefuseATableOfAnotherShapeAndNameTheAxis) {
  const Array<float> data(16);
  const auto shape_of = [&](Index rows, Index cols) {
    return decode([&](OptionBag& b) { b.table("table", data.data(), {rows, cols, 0}, 2); });
  };
  Status s = shape_of(4, 2);
  EXPECT_TRUE(fails_with(s, Errc::shape_mismatch, "table"));
  EXPECT_EQ(s.error().index, 0);
  EXPECT_EQ(s.error().received, 4);
  s = shape_of(5, 0);
  EXPECT_TRUE(fails_with(s, Errc::shape_mismatch, "table"));
  EXPECT_EQ(s.error().index, 1);
  EXPECT_TRUE(succeeds(shape_of(5, 1)));
  EXPECT_TRUE(succeeds(shape_of(5, 3)));
}

TEST(Options, RefuseTablesThatHoldWhatIsNotANumber) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
    Array<float> data(15, 1.0f);
    data[7] = bad;
    data[9] = bad;
    const Status s = decode([&](OptionBag& b) { b.table("table", data.data(), {5, 3, 0}, 2); });
    EXPECT_TRUE(fails_with(s, Errc::not_finite, "table"));
    EXPECT_EQ(s.error().index, 7);
  }
}

TEST(Options, TakeMinusInfinityWhereATableMayHide) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  struct Hiding {
    Table table;
  };
  constexpr auto rules = rules_of(std::array{
      FieldOf<Hiding>::table<&Hiding::table>("table", "[rows].", Dim::any("rows", 2)).hiding()});
  for (const auto& [entry, fine] : {std::pair{-infinity, true}, {infinity, false}}) {
    Hiding made;
    const Array<float> data{0, entry};
    OptionBag bag;
    bag.table("table", data.data(), {2, 0, 0}, 1);
    EXPECT_EQ(static_cast<bool>(decode_options(rules, &made, bag)), fine);
  }
}

TEST(Options, HoldTablesToOneFreeExtentOfTheSameName) {
  struct Network {
    Table weight, bias, out;
  };
  constexpr auto rules = rules_of(std::array{
      FieldOf<Network>::table<&Network::weight>("weight", "[width].", Dim::any("width", 2)),
      FieldOf<Network>::table<&Network::bias>("bias", "[width].", Dim::any("width", 2)),
      FieldOf<Network>::table<&Network::out>("out", "[n, width].", Dim::any("n", 2),
                                             Dim::any("width", 2))});
  const Array<float> data(32);
  const auto decoded_with = [&](Index weight, Index bias, Index out) {
    Network made;
    OptionBag bag;  // in another order than that of the rules
    bag.table("out", data.data(), {3, out, 0}, 2);
    if (bias > 0) bag.table("bias", data.data(), {bias, 0, 0}, 1);
    bag.table("weight", data.data(), {weight, 0, 0}, 1);
    return decode_options(rules, &made, bag);
  };
  EXPECT_TRUE(succeeds(decoded_with(4, 4, 4)));
  EXPECT_TRUE(succeeds(decoded_with(4, 0, 4)));
  EXPECT_TRUE(fails_with(decoded_with(4, 5, 4), Errc::shape_mismatch, "bias"));
  const Status s = decoded_with(4, 4, 3);
  EXPECT_TRUE(fails_with(s, Errc::shape_mismatch, "out"));
  EXPECT_EQ(s.error().index, 1);
  EXPECT_EQ(s.error().received, 3);
  EXPECT_EQ(s.error().low, 4);
}

TEST(Options, FailForLackOfMemoryWithoutLeaking) {
  const MemoryUse before = memory_use();
  const Array<float> data(4);
  const Array<double> list(2);
  for (long n : {0L, 1L}) {
    const reference::AllocationsFailAfter limit(n);
    const Status s = decode([&](OptionBag& b) {
      b.list("list", {list.data(), 2});
      b.table("loose", data.data(), {4, 0, 0}, 1);
    });
    EXPECT_FALSE(s);
    EXPECT_EQ(s.error().code, Errc::out_of_memory);
    EXPECT_EQ(memory_use(), before);
  }
}

TEST(OptionBag, SaysWhenItIsFull) {
  OptionBag bag;
  for (std::size_t i = 0; i < OptionBag::capacity; ++i) EXPECT_TRUE(bag.number("count", 1));
  EXPECT_FALSE(bag.number("count", 1));
  EXPECT_EQ(bag.entries().size(), OptionBag::capacity);
  bag.clear();
  EXPECT_TRUE(bag.entries().empty());
  EXPECT_TRUE(bag.number("count", 1));
}

TEST(OptionBag, LetsTheLastOfTwoWin) {
  OptionBag bag;
  bag.number("count", 1);
  bag.number("count", 9);
  Sample sample;
  ASSERT_TRUE(succeeds(decode(bag, sample)));
  EXPECT_EQ(sample.count, 9);
}

TEST(Field, ReadsValuesBackForTheManifest) {
  Sample sample;
  EXPECT_EQ(sample_fields[0].read(&sample), 3);
  EXPECT_TRUE(std::isnan(sample_fields[1].read(&sample)));
  sample.width = 8;
  EXPECT_EQ(sample_fields[1].read(&sample), 8);
  EXPECT_EQ(sample_fields[3].read(&sample), 1);
  EXPECT_EQ(sample_fields[4].read(&sample), 0);
  EXPECT_TRUE(std::isnan(sample_fields[5].read(&sample)));
  EXPECT_TRUE(std::isnan(sample_fields[6].read(&sample)));
}

}  // namespace
}  // namespace posenc
