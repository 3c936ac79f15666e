// SPDX-License-Identifier: Apache-2.0
/// The kernels for a few query rows, alone and against the packed ones that many rows use.
#include "posenc/attention/direct.hpp"

#include "arches.hpp"
#include "attention/question.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::ask;
using reference::Given;
using reference::Question;
using reference::Random;

// The last of a tile's rows are a whole group, so kernels that take three rows as four stay within it.
static_assert(row_group % direct_detail::direct_group == 0);

template <class A>
class Direct : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(Direct, Arches);

/// Sums of up to 130 products below 10 in size.
constexpr double tolerance = 130 * 10 * 0x1p-24;

TYPED_TEST(Direct, MultipliesRowsAsTheyLieAndWritesNothingElse) {
  for (Index depth : {0, 1, 4, 7, 33, 64, 130})
    for (Index rows : {1, 2, 3, 4, 7, 8})
      for (Index keys : {0, 1, 3, 4, 5, 13, 64}) {
        SCOPED_TRACE(::testing::Message() << rows << " x " << keys << " x " << depth);
        Random random(static_cast<std::uint64_t>(depth * 1000 + rows * 100 + keys));
        for (Index gap : {0, 3}) {
          const Index stride = depth + gap, out_stride = keys + 2;
          const Array<float> q = random.floats(rows * stride), k = random.floats(keys * stride);
          Array<float> out(direct_rows_of(rows) * out_stride, 100.0f);
          Array<float> laid_out(interleaved_size<TypeParam>(rows, depth));
          interleave_rows<TypeParam>({q.data(), rows, depth, stride}, laid_out.data());
          dot_rows<TypeParam>(laid_out.data(), rows, {k.data(), keys, depth, stride}, out.data(),
                              out_stride);
          for (Index i = 0; i < rows; ++i)
            for (Index j = 0; j < out_stride; ++j) {
              double want = 0;
              for (Index c = 0; j < keys && c < depth; ++c)
                want += double{q[i * stride + c]} * k[j * stride + c];
              ASSERT_NEAR(out[i * out_stride + j], j < keys ? want : 100, tolerance);
            }
        }
      }
}

/// Room for an order, as attention has it.
struct Order {
  Arena arena;
  SumOrder order;
  explicit Order(Index streams) {
    order.carve(arena, 64, streams);
    EXPECT_TRUE(arena.commit());
    order.carve(arena, 64, streams);
  }
};

TYPED_TEST(Direct, SumsWeightedRowsThatAreSeenAndWritesNothingElse) {
  for (Index width : {0, 1, 4, 7, 33, 64, 130})
    for (Index rows : {1, 2, 4, 7, 8})
      for (Index keys : {0, 1, 5, 16, 19})
        for (Index streams : {1, 2, 4}) {
          SCOPED_TRACE(::testing::Message() << keys << " x " << rows << " x " << width);
          Random random(static_cast<std::uint64_t>(width * 1000 + rows * 100 + keys));
          Order room(streams);
          for (Index gap : {0, 3}) {
            const Index stride = width + gap, out_stride = width + 1;
            const Index first = gap * keys / 8, last = keys - first / 2;
            const Array<float> w = random.floats(direct_rows_of(rows) * 20),
                               v = random.floats(keys * stride + 1);
            Array<float> out(rows * out_stride, 1.0f);
            Array<float> sums(interleaved_size<TypeParam>(rows, width));
            add_weighted_rows<TypeParam>({w.data(), rows, keys, 20},
                                         {v.data(), keys, width, stride},
                                         room.order.of(keys, first, last), sums.data());
            add_interleaved<TypeParam>(sums.data(), {out.data(), rows, width, out_stride});
            for (Index i = 0; i < rows; ++i)
              for (Index c = 0; c < out_stride; ++c) {
                double want = 1;
                for (Index j = first; c < width && j < last; ++j)
                  want += double{w[i * 20 + j]} * v[j * stride + c];
                ASSERT_NEAR(out[i * out_stride + c], want, tolerance);
              }
          }
        }
}

/// Rows that are hidden by a range, by a weight of 0 and one by one.
TYPED_TEST(Direct, SumsWhatIsSeenInOneOrder) {
  constexpr Index keys = 23, width = 9, most = 8;
  for (Index rows : {1, 2, 3, 4, 6, 8})
    for (Index first : {0, 1, 5, 13, 22})
      for (Index last : {23, 22, 17, 12, 6}) {
        if (first >= last) continue;
        SCOPED_TRACE(::testing::Message() << rows << " rows, " << first << " to " << last);
        Random random(static_cast<std::uint64_t>(rows * 1000 + first * 30 + last));
        Array<float> w = random.floats(most * keys);
        const Array<float> v = random.floats(keys * width);
        const View2<const float> weights{w.data(), rows, keys, keys},
            values{v.data(), keys, width, width};
        Order room(sum_streams(rows));
        Array<float> sums[3], out[3];
        for (Array<float>& sum : sums) sum = Array<float>(interleaved_size<TypeParam>(rows, width));
        add_weighted_rows<TypeParam>(weights, values, room.order.of(keys, first, last),
                                     sums[0].data());
        const std::span<const Index> all = room.order.of(keys, 0, keys);
        for (Index i = 0; i < rows; ++i)
          add_visible_rows<TypeParam>(weights.row(i), i, rows, values, all, sums[1].data(),
                                      [&](Index j) { return j >= first && j < last; });
        for (Index i = 0; i < most * keys; ++i)
          if (i % keys < first || i % keys >= last) w[i] = 0;
        add_weighted_rows<TypeParam>(weights, values, all, sums[2].data());
        for (Index n = 0; n < 3; ++n) {
          out[n] = Array<float>(rows * width, 0.0f);
          add_interleaved<TypeParam>(sums[n].data(), {out[n].data(), rows, width, width});
          EXPECT_TRUE(out[n].same_bits(out[0])) << n;
        }
      }
}

TYPED_TEST(Direct, FindsEveryValueThatIsNotFinite) {
  for (Index width : {1, 7, 33})
    for (Index at = 0; at < 3 * width; ++at)
      for (float bad : {static_cast<float>(reference::nan), INFINITY, -INFINITY}) {
        Array<float> rows(3 * width, 2.0f);
        EXPECT_TRUE(all_finite<TypeParam>({rows.data(), 3, width, width}));
        rows[at] = bad;
        EXPECT_FALSE(all_finite<TypeParam>({rows.data(), 3, width, width})) << at;
      }
}

/// Shapes of a decode step and of a few tokens at once; smaller blocks make the same call pack.
TYPED_TEST(Direct, AgreesWithThePackedKernels) {
  std::uint64_t seed = 0;
  for (Index kv_heads : {1, 3})
    for (Index group : {1, 2, 4, 8})
      for (Index queries : {1, 2, 8}) {
        if (group * queries > 8) continue;
        for (Index keys : {1, 17, 130, 300}) {
          Random random(++seed);
          Question question = Question::of({.batch = 2,
                                            .heads = kv_heads * group,
                                            .kv_heads = kv_heads,
                                            .queries = queries,
                                            .keys = keys,
                                            .head_dim = 1 + random.below(40),
                                            .value_dim = 1 + random.below(40)},
                                           seed);
          question.causal = random.below(2) == 0;
          question.rows_first = random.below(2) == 0;
          if (random.below(2) == 0) {
            question.mask = {.extents = {2, 1, queries, keys},
                             .allowed = Array<std::uint8_t>(2 * queries * keys)};
            for (Index i = 0; i < question.mask.allowed.size(); ++i)
              question.mask.allowed[i] = random.below(3) > 0;
          }
          SCOPED_TRACE(::testing::Message() << kv_heads << " x " << group << " T " << queries
                                            << " S " << keys << " seed " << seed);
          const reference::Answer want = reference::answer(question);
          reference::expect_close(question, ask<TypeParam>(question), want);
          question.tiles.queries = group * queries - 1;  // one row too many: packed
          reference::expect_close(question, ask<TypeParam>(question), want);
        }
      }
}

TYPED_TEST(Direct, ChangesNoBitForWhatHiddenKeysHold) {
  for (Index queries : {1, 3}) {
    Question question = Question::of({.heads = 2,
                                      .kv_heads = 1,
                                      .queries = queries,
                                      .keys = 150,
                                      .head_dim = 20,
                                      .value_dim = 19});
    question.mask = {.extents = {1, 1, 1, 150}, .allowed = Array<std::uint8_t>(150)};
    for (Index j = 0; j < 150; ++j) question.mask.allowed[j] = j % 5 != 2 && j < 140;
    const Given clean = ask<TypeParam>(question);
    ASSERT_TRUE(reference::succeeds(clean.status));
    for (float garbage : {static_cast<float>(reference::nan), INFINITY, 1e38f}) {
      for (Index j = 0; j < 150; ++j) {
        if (question.mask.allowed[j] != 0) continue;
        for (Index c = 0; c < 20; ++c) question.k[j * 20 + c] = garbage;
        for (Index c = 0; c < 19; ++c) question.v[j * 19 + c] = garbage;
      }
      const Given got = ask<TypeParam>(question);
      EXPECT_TRUE(got.output.same_bits(clean.output));
      EXPECT_TRUE(got.weights.same_bits(clean.weights));
      EXPECT_TRUE(got.log_sum_exp.same_bits(clean.log_sum_exp));
    }
  }
}

TYPED_TEST(Direct, KeepsANaNThatIsSeenToItsRow) {
  Question question = Question::of({.queries = 2, .keys = 40, .head_dim = 8, .value_dim = 8});
  question.causal = true;  // the first query does not see the last key
  question.v[39 * 8 + 3] = static_cast<float>(reference::nan);
  const Given got = ask<TypeParam>(question);
  for (Index c = 0; c < 16; ++c) EXPECT_EQ(std::isnan(got.output[c]), c == 8 + 3) << c;
}

}  // namespace
}  // namespace posenc
