// SPDX-License-Identifier: Apache-2.0
/// What an attention call allocates, seen from inside it: an encoding is asked for its opinion of
/// the positions before the workspace is taken, and for scores after, so it can look at the books.
#include <gtest/gtest.h>

#include "attention/question.hpp"
#include "posenc/core/memory.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::ask;
using reference::Question;

struct Bookkeeper : EncodingDefaults {
  struct Options {};
  static constexpr Spec spec = [] {
    Spec s{};
    s.id = "bookkeeper";
    s.sites = {.score = true};
    return s;
  }();
  static constexpr std::array<Field, 0> fields{};
  static Result<Bookkeeper> make(Options) { return Bookkeeper{}; }

  Status accepts(const Positions&) const {
    seen = memory_use();
    return {};
  }
  template <class Arch>
  void score(Arch, const ScoreTile&) const {
    in_hook = memory_use();
  }
  inline static MemoryUse seen, in_hook;
};

/// Bytes and blocks of the workspace of one call.
MemoryUse workspace(const AttentionShape& shape, bool weights = true) {
  const Encoding e = reference::made_here<Bookkeeper>();
  Question question = Question::of(shape);
  question.encodings = {&e};
  question.wants_weights = weights;
  const MemoryUse before = memory_use();
  EXPECT_TRUE(reference::succeeds(ask(question).status));
  EXPECT_EQ(memory_use(), before) << "all of it comes back";
  EXPECT_EQ(Bookkeeper::seen, before) << "everything is checked before anything is allocated";
  return {Bookkeeper::in_hook.bytes - before.bytes, Bookkeeper::in_hook.blocks - before.blocks};
}
std::size_t bytes(Index queries, Index keys) {
  return workspace({.queries = queries, .keys = keys, .head_dim = 32, .value_dim = 32}).bytes;
}

TEST(MemoryUse, IsOneBlockPerCall) {
  EXPECT_EQ(workspace({.queries = 5, .keys = 9, .head_dim = 3, .value_dim = 2}).blocks, 1u);
}

TEST(MemoryUse, GrowsLinearlyWithTheKeys) {
  const std::size_t a = bytes(64, 512), b = bytes(64, 1024), c = bytes(64, 2048);
  EXPECT_NEAR(static_cast<double>(c - b), 2 * static_cast<double>(b - a), 1024);
  // Keys and values packed, a position and a bit of bookkeeping each.
  EXPECT_LE(c - b, 1024 * (2 * 32 * sizeof(float) + sizeof(double) + 8));
}

TEST(MemoryUse, GrowsLinearlyWithTheQueriesAndHardlyAtThat) {
  const std::size_t a = bytes(512, 64), b = bytes(1024, 64), c = bytes(2048, 64);
  EXPECT_EQ(c - b, 2 * (b - a));
  EXPECT_LE(c - b, 1024 * 16) << "a position each";
}

TEST(MemoryUse, HoldsNoMatrixOfScores) {
  // 512 x 2048 floats would be 4 MB.
  EXPECT_LT(bytes(512, 2048), 1u << 20);
}

TEST(MemoryUse, DoesNotDependOnTheNumberOfHeadsOrSequences) {
  const AttentionShape one{.queries = 100, .keys = 100, .head_dim = 8, .value_dim = 8};
  AttentionShape many = one;
  many.batch = 3;
  many.heads = many.kv_heads = 5;
  EXPECT_EQ(workspace(one).bytes, workspace(many).bytes);
}

TEST(MemoryUse, IsTheSameWithAndWithoutWeights) {
  const AttentionShape shape{.queries = 100, .keys = 100, .head_dim = 8, .value_dim = 8};
  EXPECT_EQ(workspace(shape, true).bytes, workspace(shape, false).bytes);
}

}  // namespace
}  // namespace posenc
