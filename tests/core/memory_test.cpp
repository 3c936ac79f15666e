// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "reference/errors.hpp"

namespace posenc {
namespace {

using reference::AllocationsFailAfter;
using reference::fails_with;

TEST(Memory, AlignsEveryBlockForAnyVector) {
  for (std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u}) {
    void* block = allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % memory_alignment, 0u) << bytes;
    release(block, bytes);
  }
}

TEST(Memory, CountsWhatIsLive) {
  const MemoryUse before = memory_use();
  void* first = allocate(100);
  void* second = allocate(0);
  EXPECT_EQ(memory_use().bytes, before.bytes + 100);
  EXPECT_EQ(memory_use().blocks, before.blocks + 2);
  release(first, 100);
  release(second, 0);
  EXPECT_EQ(memory_use(), before);
}

TEST(Memory, IgnoresTheReleaseOfNothing) {
  const MemoryUse before = memory_use();
  release(nullptr, 100);
  EXPECT_EQ(memory_use(), before);
}

TEST(Memory, AnswersAnImpossibleSizeWithNull) {
  const MemoryUse before = memory_use();
  EXPECT_EQ(allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(allocate(static_cast<std::size_t>(PTRDIFF_MAX)), nullptr);
  EXPECT_EQ(memory_use(), before);
}

TEST(Memory, FailsOnRequestFromAChosenAllocationOn) {
  const MemoryUse before = memory_use();
  {
    const AllocationsFailAfter two(2);
    void* first = allocate(8);
    void* second = allocate(8);
    EXPECT_NE(first, nullptr);
    EXPECT_NE(second, nullptr);
    EXPECT_EQ(allocate(8), nullptr);
    EXPECT_EQ(allocate(8), nullptr);
    release(first, 8);
    release(second, 8);
  }
  void* later = allocate(8);
  EXPECT_NE(later, nullptr);
  release(later, 8);
  EXPECT_EQ(memory_use(), before);
}

TEST(Memory, MultipliesSizesOnlyWhereTheyFit) {
  EXPECT_EQ(checked_product(6, 7), 42u);
  EXPECT_EQ(checked_product(0, SIZE_MAX), 0u);
  EXPECT_EQ(checked_product(1, SIZE_MAX), SIZE_MAX);
  EXPECT_EQ(checked_product(2, SIZE_MAX), std::nullopt);
  EXPECT_EQ(checked_product(SIZE_MAX / 2, 3), std::nullopt);
}

TEST(Buffer, StartsZeroFilledAndFreesItself) {
  const MemoryUse before = memory_use();
  {
    auto made = Buffer<double>::make(33);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->size(), 33u);
    for (std::size_t i = 0; i < 33; ++i) EXPECT_EQ((*made)[i], 0.0);
    EXPECT_EQ(memory_use().bytes, before.bytes + 33 * sizeof(double));
  }
  EXPECT_EQ(memory_use(), before);
}

TEST(Buffer, MovesWithoutCopying) {
  const MemoryUse before = memory_use();
  {
    auto made = Buffer<int>::make(3);
    ASSERT_TRUE(made);
    int* data = made->data();
    Buffer<int> first = std::move(*made);
    EXPECT_EQ(first.data(), data);
    EXPECT_TRUE(made->empty());
    Buffer<int> second;
    second = std::move(first);
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(second.size(), 3u);
    EXPECT_EQ(memory_use().blocks, before.blocks + 1);
  }
  EXPECT_EQ(memory_use(), before);
}

TEST(Buffer, MayBeEmpty) {
  const auto made = Buffer<float>::make(0);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->empty());
}

TEST(Buffer, RefusesACountWhoseBytesDoNotFit) {
  EXPECT_TRUE(fails_with(Buffer<double>::make(SIZE_MAX / 4), Errc::too_large, ""));
}

TEST(Buffer, SaysHowManyBytesWereNotToBeHad) {
  const MemoryUse before = memory_use();
  {
    const AllocationsFailAfter none(0);
    const auto made = Buffer<double>::make(5);
    EXPECT_TRUE(fails_with(made, Errc::out_of_memory, ""));
    EXPECT_EQ(made.error().received, 40);
  }
  EXPECT_EQ(memory_use(), before);
}

}  // namespace
}  // namespace posenc
