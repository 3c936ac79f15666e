// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/make_encoding.hpp"

#include <gtest/gtest.h>

#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::fails_with;
using reference::Options;
using reference::succeeds;

TEST(MakeEncoding, MakesTheEncodingThatTheIdNames) {
  const auto made = make_encoding("alibi", Options().number("heads", 4).bag());
  ASSERT_TRUE(succeeds(made));
  EXPECT_EQ(made->traits().id, "alibi");
  EXPECT_EQ(made->heads(), 4);
}

TEST(MakeEncoding, RefusesAnIdThatIsNotThere) {
  for (std::string_view id : {"", "Alibi", "alibi ", "rope_linear", "nothing"})
    EXPECT_TRUE(fails_with(make_encoding(id, {}), Errc::unknown_encoding, id));
}

TEST(MakeEncoding, PassesOnWhatTheDecoderFinds) {
  EXPECT_TRUE(fails_with(make_encoding("alibi", {}), Errc::missing_option, "heads"));
  EXPECT_TRUE(
      fails_with(make_encoding("none", Options().number("x", 1).bag()), Errc::unknown_option, "x"));
}

TEST(MakeEncoding, PassesOnWhatTheEncodingRequires) {
  EXPECT_TRUE(fails_with(make_encoding("rope", Options().number("headDim", 5).bag()),
                         Errc::not_even, "headDim"));
}

TEST(MakeEncoding, FailsForLackOfMemoryWithoutLeaking) {
  const MemoryUse before = memory_use();
  const Options options = std::move(Options().number("heads", 6));
  long allocations = 0;
  for (;; ++allocations) {
    const reference::AllocationsFailAfter limit(allocations);
    const auto made = make_encoding("alibi", options.bag());
    if (made) break;
    EXPECT_EQ(made.error().code, Errc::out_of_memory);
    ASSERT_EQ(memory_use(), before);
    ASSERT_LT(allocations, 100);
  }
  EXPECT_GT(allocations, 0);
  EXPECT_EQ(memory_use(), before);
}

}  // namespace
}  // namespace posenc
