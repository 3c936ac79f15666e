// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/shaw.hpp"

#include "arches.hpp"
#include "posenc/attention/arguments.hpp"
#include "reference/attention.hpp"
#include "reference/options.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::counted;
using reference::decoded;
using reference::fails_with;
using reference::made;
using reference::Options;
using reference::positions;
using reference::Random;

/// Sums of `dim` products of numbers of size about 1.
constexpr double tolerance = 1e-5;

Index clipped(double relative, Index k) {
  const double limit = static_cast<double>(k);
  return static_cast<Index>(relative < -limit ? -limit : relative > limit ? limit : relative) + k;
}

/// Tables, and the terms of the paper computed from them element by element.
struct Tables {
  Index k, dim, value_dim;
  Array<float> keys, values, queries;

  Tables(Index reach, Index width, Index value_width, std::uint64_t seed)
      : k(reach), dim(width), value_dim(value_width) {
    Random random(seed);
    keys = random.floats((2 * k + 1) * dim);
    values = random.floats((2 * k + 1) * value_dim);
    queries = random.floats((2 * k + 1) * dim);
  }
  Options options(bool with_values = true, bool with_queries = false) const {
    Options o;
    o.number("headDim", static_cast<double>(dim)).number("maxDistance", static_cast<double>(k));
    o.table("keyTable", keys, 2 * k + 1, dim);
    if (with_values) o.table("valueTable", values, 2 * k + 1, value_dim);
    if (with_queries) o.table("queryTable", queries, 2 * k + 1, dim);
    return o;
  }
  double key(double relative, Index c) const { return keys[clipped(relative, k) * dim + c]; }
  double value(double relative, Index c) const {
    return values[clipped(relative, k) * value_dim + c];
  }
  double query(double relative, Index c) const { return queries[clipped(relative, k) * dim + c]; }
};

template <class A>
class ShawTerms : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(ShawTerms, Arches);

/// The score term of a tile whose scores start at 0.
Array<float> score_term(const Encoding& e, const Array<float>& q, const Array<float>& k,
                        float scale, const Positions& q_pos, const Positions& k_pos) {
  Array<float> scores(q_pos.count * k_pos.count);
  Array<float> scratch(e.score_scratch(q_pos.count, k_pos.count));
  const Index dim = e.head_dim();
  e.score({.scores = {scores.data(), q_pos.count, k_pos.count, k_pos.count},
           .q = {q.data(), q_pos.count, dim, dim},
           .k = {k.data(), k_pos.count, dim, dim},
           .q_pos = q_pos,
           .k_pos = k_pos,
           .scale = scale,
           .scratch = scratch.data()});
  return scores;
}

TYPED_TEST(ShawTerms, MultiplyTheQueryWithTheKeyTableAtEveryWidth) {
  for (Index dim = 1; dim <= TestFixture::most; ++dim) {
    const Tables tables(3, dim, 1, static_cast<std::uint64_t>(dim));
    const Encoding e = made<Shaw, TypeParam>(tables.options(true, true));
    Random random(5);
    for (double first : {-9.0, -2.0, 0.0, 3.0, 20.0}) {
      const Array<double> q_pos{4, 0, 7}, k_pos = counted(11, first);
      const Array<float> q = random.floats(3 * dim), k = random.floats(11 * dim);
      for (bool consecutive : {true, false}) {
        Positions keys = positions(k_pos);
        keys.consecutive = consecutive;
        const Array<float> got = score_term(e, q, k, 0.5f, positions(q_pos), keys);
        for (Index t = 0; t < 3; ++t)
          for (Index j = 0; j < 11; ++j) {
            double want = 0;  // q arrives scaled, k as given
            for (Index c = 0; c < dim; ++c)
              want += q[t * dim + c] * tables.key(k_pos[j] - q_pos[t], c) +
                      0.5 * k[j * dim + c] * tables.query(k_pos[j] - q_pos[t], c);
            ASSERT_NEAR(got[t * 11 + j], want, tolerance) << dim << ' ' << first;
          }
      }
    }
  }
}

TYPED_TEST(ShawTerms, AddWeightedRowsOfTheValueTableAtEveryWidth) {
  for (Index width = 1; width <= TestFixture::most; ++width) {
    const Tables tables(2, 4, width, static_cast<std::uint64_t>(width));
    const Encoding e = made<Shaw, TypeParam>(tables.options());
    ASSERT_EQ(e.value_dim(), width);
    Random random(6);
    const Array<double> q_pos{5, 0, 3}, k_pos{0, 1, 2, 3, 9, 3, -7, 4};
    const Index keys = k_pos.size();
    Array<float> weights(3 * keys), before = random.floats(3 * width);
    for (Index i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(random.uniform());
    weights[4] = 0;
    Array<float> out = before;
    e.value({.weights = {weights.data(), 3, keys, keys},
             .out = {out.data(), 3, width, width},
             .q_pos = positions(q_pos),
             .k_pos = positions(k_pos)});
    for (Index t = 0; t < 3; ++t)
      for (Index c = 0; c < width; ++c) {
        double want = before[t * width + c];
        for (Index j = 0; j < keys; ++j)
          want += weights[t * keys + j] * tables.value(k_pos[j] - q_pos[t], c);
        EXPECT_NEAR(out[t * width + c], want, tolerance);
      }
  }
}

struct Attended {
  Array<float> output;
  Status status;
};
Attended attend(const Encoding* e, const AttentionShape& s, const Array<float>& q,
                const Array<float>& k, const Array<float>& v, bool causal, double shift = 0) {
  Attended a{Array<float>(s.batch * s.heads * s.queries * s.value_dim), {}};
  const Array<double> q_pos = counted(s.queries, shift + static_cast<double>(s.keys - s.queries));
  const Array<double> k_pos = counted(s.keys, shift);
  const std::span<const Encoding* const> all(&e, e == nullptr ? 0 : 1);
  a.status =
      attention({.shape = s,
                 .q = Tensor4<const float>::bhnd(q.data(), s.heads, s.queries, s.head_dim),
                 .k = Tensor4<const float>::bhnd(k.data(), s.kv_heads, s.keys, s.head_dim),
                 .v = Tensor4<const float>::bhnd(v.data(), s.kv_heads, s.keys, s.value_dim),
                 .output = Tensor4<float>::bhnd(a.output.data(), s.heads, s.queries, s.value_dim),
                 .encodings = all,
                 .query_positions = {.data = q_pos.data()},
                 .key_positions = {.data = k_pos.data()},
                 .causal = causal,
                 .tiles = {.queries = 4, .keys = 16}});
  EXPECT_TRUE(reference::succeeds(a.status));
  return a;
}

TEST(Shaw, EqualsTheExplicitFormulaInsideAttention) {
  const AttentionShape s{.batch = 2,
                         .heads = 4,
                         .kv_heads = 2,
                         .queries = 9,
                         .keys = 37,
                         .head_dim = 6,
                         .value_dim = 5};
  Random random(7);
  const Array<float> q = random.floats(2 * 4 * 9 * 6), k = random.floats(2 * 2 * 37 * 6),
                     v = random.floats(2 * 2 * 37 * 5);
  for (Index reach : {1, 4, 40})  // 40: nothing is clipped
    for (bool causal : {false, true}) {
      const Tables tables(reach, 6, 5, 8);
      const auto relative = [&](Index t, Index j) {
        return static_cast<double>(j - (t + s.keys - s.queries));
      };
      reference::Terms terms;
      terms.key = [&](Index, Index, Index t, Index j, Index c) {
        return tables.key(relative(t, j), c);
      };
      terms.value = [&](Index, Index, Index t, Index j, Index c) {
        return tables.value(relative(t, j), c);
      };
      if (causal) terms.visible = reference::causal(s.keys - s.queries);
      const reference::Answer want = reference::attention(s, q, k, v, 1 / std::sqrt(6.0), terms);
      const Encoding e = made<Shaw>(tables.options());
      const Attended got = attend(&e, s, q, k, v, causal);
      for (Index i = 0; i < got.output.size(); ++i)
        ASSERT_NEAR(got.output[i], want.output[i], tolerance) << i;
    }
}

TEST(Shaw, IsPlainAttentionWithTablesOfZeros) {
  const AttentionShape s{.queries = 5, .keys = 8, .head_dim = 3, .value_dim = 2};
  Random random(9);
  const Array<float> q = random.floats(15), k = random.floats(24), v = random.floats(16);
  const Encoding zero = made<Shaw>(Options()
                                       .number("headDim", 3)
                                       .number("maxDistance", 2)
                                       .table("keyTable", Array<float>(15), 5, 3)
                                       .table("valueTable", Array<float>(10), 5, 2));
  EXPECT_EQ(attend(&zero, s, q, k, v, true).output, attend(nullptr, s, q, k, v, true).output);
}

TEST(Shaw, DependsOnDifferencesAlone) {
  const AttentionShape s{.queries = 6, .keys = 20, .head_dim = 4, .value_dim = 3};
  Random random(10);
  const Array<float> q = random.floats(24), k = random.floats(80), v = random.floats(60);
  const Encoding e = made<Shaw>(Tables(3, 4, 3, 11).options());
  const Attended here = attend(&e, s, q, k, v, false);
  for (double shift : {1.0, -1000.0, 1e15})
    EXPECT_TRUE(here.output.same_bits(attend(&e, s, q, k, v, false, shift).output));
}

TEST(Shaw, HasTheWorkedIndexMatrix) {
  // k = 2, L = 5; the key table holds the row number, so the term is the index.
  const Encoding e = made<Shaw>(Options()
                                    .number("headDim", 1)
                                    .number("maxDistance", 2)
                                    .table("keyTable", {0, 1, 2, 3, 4}, 5, 1));
  const Array<float> ones(5, 1.0f);
  const Array<double> p = counted(5);
  EXPECT_EQ(
      score_term(e, ones, ones, 1, positions(p), positions(p)),
      (Array<float>{2, 3, 4, 4, 4, 1, 2, 3, 4, 4, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 0, 0, 0, 1, 2}));
}

TEST(Shaw, F14ClipsDistancesBeyondTheTable) {
  const Encoding e = made<Shaw>(Options()
                                    .number("headDim", 1)
                                    .number("maxDistance", 4)
                                    .table("keyTable", {0, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 1));
  const Array<float> ones(4, 1.0f);
  const Array<double> q{0}, k{5, -5, 0x1p53, -0x1p53};
  EXPECT_EQ(score_term(e, ones, ones, 1, positions(q), positions(k)), (Array<float>{8, 0, 8, 0}));
}

TEST(Shaw, F15NeedsTwoRowsPerDistanceAndOneMore) {
  const auto with_rows = [](Index rows) {
    return decoded<Shaw>(Options()
                             .number("headDim", 1)
                             .number("maxDistance", 2)
                             .table("keyTable", Array<float>(rows), rows, 1));
  };
  EXPECT_TRUE(reference::succeeds(with_rows(5)));
  for (Index rows : {3, 4, 6})
    EXPECT_TRUE(fails_with(with_rows(rows), Errc::shape_mismatch, "keyTable"));
}

TEST(Shaw, ServesADecodeRowAsTheLastRowOfTheFullMatrix) {
  const Tables tables(3, 4, 2, 12);
  const Encoding e = made<Shaw>(tables.options(true, true));
  Random random(13);
  const Array<float> q = random.floats(10 * 4), k = random.floats(10 * 4);
  const Array<double> p = counted(10), last{9};
  const Array<float> full = score_term(e, q, k, 0.5f, positions(p), positions(p));
  Array<float> last_q(4);
  for (Index c = 0; c < 4; ++c) last_q[c] = q[36 + c];
  const Array<float> row = score_term(e, last_q, k, 0.5f, positions(last), positions(p));
  for (Index j = 0; j < 10; ++j) EXPECT_EQ(row[j], full[90 + j]);
}

TEST(Shaw, RefusesOptionsThatDoNotFit) {
  EXPECT_TRUE(fails_with(decoded<Shaw>({}), Errc::missing_option, "headDim"));
  const Tables tables(2, 3, 4, 14);
  const auto plain = [&] { return tables.options(); };
  EXPECT_TRUE(reference::succeeds(decoded<Shaw>(plain())));
  EXPECT_TRUE(
      fails_with(decoded<Shaw>(plain().number("headDim", 4)), Errc::shape_mismatch, "keyTable"));
  EXPECT_TRUE(fails_with(decoded<Shaw>(plain().number("maxDistance", 0)), Errc::out_of_range,
                         "maxDistance"));
  EXPECT_TRUE(fails_with(decoded<Shaw>(plain().table("valueTable", Array<float>(16), 4, 4)),
                         Errc::shape_mismatch, "valueTable"));
  EXPECT_TRUE(fails_with(decoded<Shaw>(plain().table("queryTable", Array<float>(20), 5, 4)),
                         Errc::shape_mismatch, "queryTable"));
  EXPECT_TRUE(
      fails_with(made<Shaw>(plain()).accepts(positions({1.5})), Errc::not_integer, "positions"));
  EXPECT_EQ(made<Shaw>(tables.options(false)).value_dim(), 0)
      << "without a value table any width will do";
}

}  // namespace
}  // namespace posenc
