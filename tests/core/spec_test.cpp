// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/spec.hpp"

#include <gtest/gtest.h>

namespace posenc {
namespace {

TEST(Spec, ComparesSitesOneByOne) {
  EXPECT_EQ((Sites{.score = true}), (Sites{false, false, true, false}));
  EXPECT_NE((Sites{.score = true}), (Sites{.value = true}));
  EXPECT_NE((Sites{.embed = true}), (Sites{.rotate = true}));
}

TEST(Spec, DerivesAnExtentFromAnOptionOrLeavesItFree) {
  constexpr Dim tied = Dim::of("maxDistance", 2, 1);
  EXPECT_EQ(tied.option, "maxDistance");
  EXPECT_EQ(tied.times, 2);
  EXPECT_EQ(tied.plus, 1);
  constexpr Dim free = Dim::any("rows", 512);
  EXPECT_TRUE(free.option.empty());
  EXPECT_EQ(free.free, "rows");
  EXPECT_EQ(free.example, 512);
}

TEST(Spec, KeepsAsTraitsWhatRunningCodeAsksFor) {
  constexpr Spec spec = [] {
    Spec s{};
    s.id = "x";
    s.sites = {.rotate = true};
    s.positions = PositionKind::integer;
    s.axes = 2;
    s.relative = true;
    s.content_free = true;
    s.length_policy = LengthPolicy::switched;
    return s;
  }();
  constexpr Traits traits(spec);
  EXPECT_EQ(traits.id, "x");
  EXPECT_EQ(traits.sites, spec.sites);
  EXPECT_EQ(traits.positions, PositionKind::integer);
  EXPECT_EQ(traits.axes, 2);
  EXPECT_TRUE(traits.relative);
  EXPECT_TRUE(traits.content_free);
  EXPECT_EQ(traits.length_policy, LengthPolicy::switched);
}

}  // namespace
}  // namespace posenc
