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

TEST(Result, HoldsAnErrorInsteadOfAValue) {
  const Result<int> made = Error{.code = Errc::out_of_range, .field = "base", .received = -1};
  EXPECT_TRUE(reference::fails_with(made, Errc::out_of_range, "base"));
  EXPECT_EQ(made.error().received, -1);
}

}  // namespace
}  // namespace posenc
