// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/encoding.hpp"

#include <gtest/gtest.h>

#include "posenc/core/encoding_contract.hpp"
#include "reference/errors.hpp"
#include "reference/numbers.hpp"

namespace posenc {
namespace {

using reference::AllocationsFailAfter;
using reference::fails_with;
using reference::succeeds;

constexpr Spec spec_of(std::string_view id, Sites sites, int axes = 1) {
  Spec spec{};
  spec.id = id;
  spec.sites = sites;
  spec.axes = axes;
  return spec;
}

/// Adds its `amount` to every score, and counts how many of its kind are alive.
class Lift : public EncodingDefaults {
 public:
  struct Options {
    double amount = 0;
  };
  static constexpr Spec spec = spec_of("lift", {.score = true}, 2);
  static constexpr std::array fields{
      FieldOf<Options>::number<&Options::amount>("amount", "Added.", -9, 9)};
  static Result<Lift> make(Options o) { return Lift(o.amount); }

  explicit Lift(double amount) : amount_(amount) { ++alive; }
  Lift(Lift&& other) noexcept : amount_(other.amount_) { ++alive; }
  Lift& operator=(Lift&&) noexcept = default;
  ~Lift() { --alive; }

  Index heads() const { return 3; }
  std::optional<double> score_scale(Index head_dim) const {
    return 1.0 / static_cast<double>(head_dim);
  }
  template <class Arch>
  void score(Arch, const ScoreTile& t) const {
    for (Index i = 0; i < t.scores.rows; ++i)
      for (Index j = 0; j < t.scores.cols; ++j) t.scores.row(i)[j] += static_cast<float>(amount_);
  }

  inline static int alive = 0;

 private:
  double amount_;
};
static_assert(ActsWhereItSays<Lift>);
static_assert(PositionalEncoding<Lift>);

/// Says that it scores, and misspells the hook.
struct Misspelt : EncodingDefaults {
  struct Options {};
  static constexpr Spec spec = spec_of("misspelt", {.score = true});
  [[maybe_unused]] static constexpr std::array<Field, 0> fields{};
  static Result<Misspelt> make(Options) { return Misspelt{}; }
  template <class Arch>
  void scores(Arch, const ScoreTile&) const {}
};
static_assert(!ActsWhereItSays<Misspelt>);
static_assert(!PositionalEncoding<Misspelt>);

/// Defines a hook that it does not declare.
struct Undeclared : EncodingDefaults {
  struct Options {};
  static constexpr Spec spec = spec_of("undeclared", {});
  [[maybe_unused]] static constexpr std::array<Field, 0> fields{};
  static Result<Undeclared> make(Options) { return Undeclared{}; }
  template <class Arch>
  void value(Arch, const ValueTile&) const {}
};
static_assert(!ActsWhereItSays<Undeclared>);

/// Hooks that change the encoding would not be safe to share.
struct NotConst : EncodingDefaults {
  static constexpr Spec spec = spec_of("not-const", {.score = true});
  template <class Arch>
  void score(Arch, const ScoreTile&) {}
};
static_assert(!ActsWhereItSays<NotConst>);

/// Acts nowhere and defines nothing optional.
struct Nothing : EncodingDefaults {
  struct Options {};
  static constexpr Spec spec = spec_of("nothing", {});
  [[maybe_unused]] static constexpr std::array<Field, 0> fields{};
  static Result<Nothing> make(Options) { return Nothing{}; }
};
static_assert(PositionalEncoding<Nothing>);

/// Without the defaults, a hook of a wrong type could hide unnoticed.
struct Baseless {
  struct Options {};
  static constexpr Spec spec = spec_of("baseless", {});
  [[maybe_unused]] static constexpr std::array<Field, 0> fields{};
  static Result<Baseless> make(Options) { return Baseless{}; }
};
static_assert(!PositionalEncoding<Baseless>);

Encoding lift(double amount) {
  auto made = Encoding::of<xsimd::default_arch>(Lift(amount));
  EXPECT_TRUE(succeeds(made));
  return std::move(*made);
}

float lifted(const Encoding& e) {
  float score = 0;
  e.score({.scores = {&score, 1, 1, 1}, .q = {}, .k = {}, .q_pos = {}, .k_pos = {}});
  return score;
}

TEST(Encoding, CallsTheHooksOfWhatItHolds) {
  const Encoding e = lift(2.5);
  EXPECT_EQ(lifted(e), 2.5f);
  EXPECT_EQ(e.heads(), 3);
  EXPECT_EQ(e.score_scale(4), 0.25);
  EXPECT_EQ(e.traits().id, "lift");
}

TEST(Encoding, DoesNothingWhereItDoesNotAct) {
  auto made = Encoding::of<xsimd::default_arch>(Nothing{});
  ASSERT_TRUE(succeeds(made));
  const Encoding& e = *made;
  EXPECT_EQ(lifted(e), 0.0f);
  EXPECT_EQ(e.embed_width(), 0);
  EXPECT_EQ(e.heads(), 0);
  EXPECT_EQ(e.head_dim(), 0);
  EXPECT_EQ(e.value_dim(), 0);
  EXPECT_EQ(e.score_scratch(10, 10), 0);
  EXPECT_EQ(e.score_scale(64), std::nullopt);
  EXPECT_EQ(e.logit_scale(), 1);
  EXPECT_EQ(e.query_scale(1e6), 1);
  EXPECT_EQ(e.carry_width(), 0);
  EXPECT_EQ(e.copies(), 1);
  EXPECT_EQ(e.key_copies(), 1);
  EXPECT_EQ(e.table_heads(), 1);
  EXPECT_EQ(e.rotation().pairs, 0);
  EXPECT_TRUE(e.plan(10, nullptr).inverse_frequencies.empty());
  const reference::Array<double> keys{3, 4};
  std::uint8_t copies[2] = {9, 9};
  e.choose(5, Positions::of(keys.data(), 2), copies);
  EXPECT_EQ(copies[0], 0);
  EXPECT_EQ(copies[1], 0);
  float x = 1;
  e.embed({.rows = {&x, 1, 1, 1}, .positions = {}});
  e.angles({.out = {&x, 1, 1, 1}, .positions = {}});
  e.value({.weights = {&x, 1, 1, 1}, .out = {&x, 1, 1, 1}, .q_pos = {}, .k_pos = {}});
  EXPECT_EQ(x, 1);
}

TEST(Encoding, DestroysWhatItHoldsAndFreesItsMemory) {
  const MemoryUse before = memory_use();
  const int alive = Lift::alive;
  {
    const Encoding e = lift(1);
    EXPECT_EQ(Lift::alive, alive + 1);
    EXPECT_EQ(memory_use().blocks, before.blocks + 1);
  }
  EXPECT_EQ(Lift::alive, alive);
  EXPECT_EQ(memory_use(), before);
}

TEST(Encoding, MovesInsteadOfCopying) {
  static_assert(!std::is_copy_constructible_v<Encoding> && !std::is_copy_assignable_v<Encoding>);
  static_assert(std::is_nothrow_move_constructible_v<Encoding> &&
                std::is_nothrow_move_assignable_v<Encoding>);
  const int alive = Lift::alive;
  {
    Encoding first = lift(1), second = lift(2);
    const Encoding moved = std::move(first);
    EXPECT_EQ(lifted(moved), 1.0f);
    first = std::move(second);
    EXPECT_EQ(lifted(first), 2.0f);
    EXPECT_EQ(Lift::alive, alive + 2);
  }
  EXPECT_EQ(Lift::alive, alive);
}

TEST(Encoding, SurvivesBeingMovedIntoItself) {
  Encoding e = lift(4);
  Encoding& same = e;
  e = std::move(same);
  EXPECT_EQ(lifted(e), 4.0f);
}

TEST(Encoding, AsksForAsManyAxesAsItHas) {
  const Encoding e = lift(1);
  const reference::Array<double> p{0, 1, 2, 3};
  EXPECT_TRUE(succeeds(e.accepts(Positions::of(p.data(), 2, 2))));
  EXPECT_TRUE(
      fails_with(e.accepts(Positions::of(p.data(), 4, 1)), Errc::shape_mismatch, "positions"));
}

TEST(Encoding, FailsForLackOfMemoryWithoutLeaking) {
  const int alive = Lift::alive;
  const MemoryUse before = memory_use();
  {
    const AllocationsFailAfter none(0);
    EXPECT_TRUE(fails_with(Encoding::of<xsimd::default_arch>(Lift(1)), Errc::out_of_memory, ""));
  }
  EXPECT_EQ(Lift::alive, alive);
  EXPECT_EQ(memory_use(), before);
}

}  // namespace
}  // namespace posenc
