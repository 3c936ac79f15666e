// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/result.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "reference/errors.hpp"

namespace posenc {
namespace {

TEST(Result, ListsEveryCodeOnceInTheOrderOfTheEnum) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < errc_table.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(errc_table[i].code), i);
    EXPECT_TRUE(names.insert(errc_table[i].name).second) << errc_table[i].name;
  }
  EXPECT_EQ(static_cast<std::size_t>(Errc::internal) + 1, errc_table.size());
}

TEST(Result, NamesCodesInCapitalsAndKindsFromTheClosedList) {
  const std::set<std::string_view> kinds{"argument", "config", "format",   "state",
                                         "resource", "init",   "internal", "none"};
  for (const ErrcInfo& e : errc_table) {
    ASSERT_FALSE(e.name.empty());
    for (char c : e.name) EXPECT_TRUE((c >= 'A' && c <= 'Z') || c == '_') << e.name;
    EXPECT_TRUE(kinds.contains(e.kind)) << e.kind;
    EXPECT_EQ(e.kind == "none", e.code == Errc::ok) << e.name;
  }
}

TEST(Result, LooksUpAKindByCode) {
  EXPECT_EQ(info(Errc::out_of_memory).name, "OUT_OF_MEMORY");
  EXPECT_EQ(info(Errc::out_of_memory).kind, "resource");
  EXPECT_EQ(info(Errc::shape_mismatch).kind, "argument");
}

TEST(Result, StatusIsTrueUntilAnErrorIsPutIn) {
  EXPECT_TRUE(Status{});
  EXPECT_EQ(Status{}.error().code, Errc::ok);
  const Status failed = Error{.code = Errc::too_large, .field = "x"};
  EXPECT_TRUE(reference::fails_with(failed, Errc::too_large, "x"));
}

TEST(Result, AnErrorStartsWithoutNumbers) {
  const Error error;
  EXPECT_TRUE(std::isnan(error.received));
  EXPECT_TRUE(std::isnan(error.low));
  EXPECT_TRUE(std::isnan(error.high));
  EXPECT_EQ(error.index, -1);
  EXPECT_TRUE(error.field.empty());
}

TEST(Result, HoldsAValueThatOnlyMoves) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
  ASSERT_TRUE(made);
  EXPECT_EQ(**made, 7);
  const std::unique_ptr<int> taken = std::move(*made);
  EXPECT_EQ(*taken, 7);
}

/// How many there are, and that nobody destroys what was never made.
struct Counted {
  static inline int alive = 0;
  std::unique_ptr<int> held = std::make_unique<int>(7);
  Counted() { ++alive; }
  Counted(Counted&& other) noexcept : held(std::move(other.held)) { ++alive; }
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --alive; }
};
const Error failure{.code = Errc::bad_mask,
                    .field = "mask",
                    .expected = "something else",
                    .received = 3,
                    .index = 4,
                    .low = 1,
                    .high = 2};
void expect_failure(const Error& error) {
  EXPECT_EQ(error.code, failure.code);
  EXPECT_EQ(error.field, failure.field);
  EXPECT_EQ(error.expected, failure.expected);
  EXPECT_EQ(error.received, failure.received);
  EXPECT_EQ(error.index, failure.index);
  EXPECT_EQ(error.low, failure.low);
  EXPECT_EQ(error.high, failure.high);
}

TEST(Result, DestroysWhatItHoldsOnceAndNothingWhereItHoldsAnError) {
  {
    Result<Counted> first = Counted();
    EXPECT_EQ(Counted::alive, 1);
    Result<Counted> second = std::move(first);
    EXPECT_EQ(Counted::alive, 2);
    ASSERT_TRUE(second);
    EXPECT_EQ(*second->held, 7);
    EXPECT_EQ(second.error().code, Errc::ok);
    // What was moved from is a value still, which may be destroyed.
    ASSERT_TRUE(first);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(first->held, nullptr);
    Result<Counted> failed = failure;
    Result<Counted> moved = std::move(failed);
    EXPECT_FALSE(moved);
    expect_failure(moved.error());
    EXPECT_EQ(Counted::alive, 2);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Result, StatusKeepsItsErrorThroughCopiesAndAssignments) {
  Status one = failure;
  const Status copy = one;
  expect_failure(copy.error());
  one = Status{};
  EXPECT_TRUE(one);
  EXPECT_EQ(one.error().code, Errc::ok);
  expect_failure(copy.error());
  one = copy;
  EXPECT_FALSE(one);
  expect_failure(one.error());
  const Status& self = one;
  one = self;
  expect_failure(one.error());
  Status fine;
  const Status another = fine;
  EXPECT_TRUE(another);
  fine = Status{};
  EXPECT_TRUE(fine);
  // A failure that comes from a function and goes on through another.
  const auto inner = [] { return Result<int>(failure); };
  const auto outer = [&]() -> Status {
    if (auto got = inner(); !got) return got.error();
    return {};
  };
  expect_failure(outer().error());
  static_assert(Status{} && !Status{Error{}});
}

TEST(Result, HoldsAnErrorInsteadOfAValue) {
  const Result<int> made = Error{.code = Errc::out_of_range, .field = "base", .received = -1};
  EXPECT_TRUE(reference::fails_with(made, Errc::out_of_range, "base"));
  EXPECT_EQ(made.error().received, -1);
}

}  // namespace
}  // namespace posenc
