// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/arena.hpp"

#include <gtest/gtest.h>

#include "reference/errors.hpp"

namespace posenc {
namespace {

using reference::AllocationsFailAfter;
using reference::fails_with;
using reference::succeeds;

TEST(Arena, HandsOutNothingWhileItMeasures) {
  Arena arena;
  EXPECT_EQ(arena.take<float>(10), nullptr);
  EXPECT_EQ(arena.take<double>(3, 4), nullptr);
}

TEST(Arena, HandsOutAlignedZeroedPiecesThatDoNotOverlap) {
  const MemoryUse before = memory_use();
  {
    Arena arena;
    float* floats = nullptr;
    unsigned char* bytes = nullptr;
    double* doubles = nullptr;
    const auto carve = [&] {
      floats = arena.take<float>(3, 5);
      bytes = arena.take<unsigned char>(1);
      doubles = arena.take<double>(7);
    };
    carve();
    ASSERT_TRUE(succeeds(arena.commit()));
    EXPECT_EQ(memory_use().blocks, before.blocks + 1);
    carve();
    for (const void* piece :
         {static_cast<void*>(floats), static_cast<void*>(bytes), static_cast<void*>(doubles)})
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % memory_alignment, 0u);
    for (int i = 0; i < 15; ++i) EXPECT_EQ(floats[i], 0.0f);
    for (int i = 0; i < 15; ++i) floats[i] = 1;
    *bytes = 2;
    for (int i = 0; i < 7; ++i) doubles[i] = 3;
    for (int i = 0; i < 15; ++i) EXPECT_EQ(floats[i], 1.0f);
    EXPECT_EQ(*bytes, 2);
  }
  EXPECT_EQ(memory_use(), before);
}

TEST(Arena, MayHoldNothing) {
  Arena arena;
  arena.take<float>(0);
  arena.take<float>(5, 0);
  EXPECT_TRUE(succeeds(arena.commit()));
}

TEST(Arena, SaysTooLargeWhenTheSumDoesNotFit) {
  Arena arena;
  for (int i = 0; i < 3; ++i) arena.take<double>(PTRDIFF_MAX / 2);
  EXPECT_TRUE(fails_with(arena.commit(), Errc::too_large, ""));
}

TEST(Arena, SaysTooLargeWhenAProductDoesNotFit) {
  for (Index extent : {PTRDIFF_MAX, PTRDIFF_MAX / 2 + 1, PTRDIFF_MAX / 3}) {
    Arena arena;
    arena.take<double>(extent, extent);
    EXPECT_TRUE(fails_with(arena.commit(), Errc::too_large, "")) << extent;
  }
}

TEST(Arena, StaysTooLargeWhateverIsTakenAfterwards) {
  Arena arena;
  arena.take<double>(PTRDIFF_MAX, PTRDIFF_MAX);
  arena.take<double>(1);
  EXPECT_TRUE(fails_with(arena.commit(), Errc::too_large, ""));
}

TEST(Arena, ReportsAFailedAllocation) {
  const MemoryUse before = memory_use();
  {
    Arena arena;
    arena.take<float>(100);
    const AllocationsFailAfter none(0);
    EXPECT_TRUE(fails_with(arena.commit(), Errc::out_of_memory, ""));
  }
  EXPECT_EQ(memory_use(), before);
}

}  // namespace
}  // namespace posenc
