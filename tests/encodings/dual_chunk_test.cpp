// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/dual_chunk.hpp"

#include "arches.hpp"
#include "posenc/core/apply.hpp"
#include "reference/remapped.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::fails_with;
using reference::Trial;

DualChunkOptions options(int head_dim, int chunk, int local, std::optional<int> clamp_max = {}) {
  DualChunkOptions o;
  o.head_dim = head_dim;
  o.chunk = chunk;
  o.local = local;
  o.clamp_max = clamp_max;
  return o;
}
template <class Arch>
Encoding dual_chunk(const DualChunkOptions& o) {
  return reference::encoding_of<Arch, DualChunk>(o);
}

/// The distance of a causal pair, read off a matrix: within a chunk it is true; one chunk apart it
/// is true but for the clamp, which moves the query back; farther apart the query stands at the
/// clamp.
double distance(double m, double j, double stride, double greatest) {
  const double apart = std::floor(m / stride) - std::floor(j / stride);
  if (apart == 0) return m - j;
  const double key = std::fmod(j, stride);
  if (apart == 1) return std::min(m - j, greatest - key);
  return std::min(2 * stride - 1, greatest) - key;
}
reference::Logit by_distance(Index dim, double stride, double greatest) {
  return [=](Index, const float* q, const float* k, const double* m, const double* j) {
    return reference::turned_product(q, k, dim, dim, 10000, distance(*m, *j, stride, greatest));
  };
}

/// The same from the three cases of the paper: q and k each turned to a place of its own.
reference::Logit by_cases(Index dim, double stride, double greatest) {
  return [=](Index, const float* q, const float* k, const double* m, const double* j) {
    const double m_inside = std::fmod(*m, stride), j_inside = std::fmod(*j, stride);
    const Index chunks = static_cast<Index>(*m / stride) - static_cast<Index>(*j / stride);
    const double place = chunks == 0   ? m_inside
                         : chunks == 1 ? std::min(m_inside + stride, greatest)
                                       : std::min(2 * stride - 1, greatest);
    const Index pairs = dim / 2;
    double sum = 0;
    for (Index i = 0; i < pairs; ++i) {
      const double frequency =
          std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      const auto turn = [&](const float* x, double at) {
        const double c = std::cos(at * frequency), s = std::sin(at * frequency);
        return std::pair{x[i] * c - x[i + pairs] * s, x[i + pairs] * c + x[i] * s};
      };
      const auto [qa, qb] = turn(q, place);
      const auto [ka, kb] = turn(k, j_inside);
      sum += qa * ka + qb * kb;
    }
    return sum;
  };
}

template <class A>
class DualChunkTest : public AtEveryWidth<A> {};
TYPED_TEST_SUITE(DualChunkTest, Arches);

TYPED_TEST(DualChunkTest, AttendsByDistances) {
  for (const Trial& trial : reference::trials(6)) {
    reference::expect_attention<TypeParam>(dual_chunk<TypeParam>(options(6, 10, 4)), trial,
                                           by_distance(6, 6, 9));
    reference::expect_attention<TypeParam>(dual_chunk<TypeParam>(options(6, 10, 4, 10)), trial,
                                           by_distance(6, 6, 10));
  }
}

TYPED_TEST(DualChunkTest, AttendsByTheThreeCases) {
  for (const Trial& trial : reference::trials(8)) {
    reference::expect_attention<TypeParam>(dual_chunk<TypeParam>(options(8, 7, 2)), trial,
                                           by_cases(8, 5, 6));
    // A window larger than the rest of the chunk: the clamp is never reached.
    reference::expect_attention<TypeParam>(dual_chunk<TypeParam>(options(8, 10, 8)), trial,
                                           by_cases(8, 2, 9));
  }
}

TYPED_TEST(DualChunkTest, IsRopeWithinOneChunk) {
  for (const Trial& trial : reference::trials(6))
    reference::expect_attention<TypeParam>(
        dual_chunk<TypeParam>(options(6, 70, 10)), trial,
        [](Index, const float* q, const float* k, const double* m, const double* j) {
          return reference::turned_product(q, k, 6, 6, 10000, *m - *j);
        });
}

TYPED_TEST(DualChunkTest, ComputesOneProductWhereATileIsOfOneCopy) {
  reference::expect_products_saved<TypeParam>(dual_chunk<TypeParam>(options(8, 32, 8)), 230);
}

using Native = xsimd::default_arch;

TEST(DualChunk, RepeatsTheDistancesOfItsExample) {
  const Encoding paper = dual_chunk<Native>(options(4, 10, 4)),
                 code = dual_chunk<Native>(options(4, 10, 4, 10));
  reference::expect_distances(paper, 11, {9, 8, 7, 6, 5, 4, 5, 4, 3, 2, 1, 0});
  reference::expect_distances(paper, 15, {9, 8, 7, 6, 5, 4, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  reference::expect_distances(paper, 17, {9, 8, 7, 6, 5, 4, 9, 8, 7, 6, 5, 4, 5, 4, 3, 2, 1, 0});
  reference::expect_distances(code, 11, {10, 9, 8, 7, 6, 5, 5, 4, 3, 2, 1, 0});
}

TEST(DualChunk, IsExactUpToTheLocalWindowAndBoundedBeyond) {
  for (const auto& [chunk, local, clamp] :
       {std::tuple{10, 4, 9}, {10, 4, 10}, {16, 3, 15}, {9, 1, 8}}) {
    const Encoding e = dual_chunk<Native>(options(4, chunk, local, clamp));
    const double exact = local + (clamp - (chunk - 1));
    double greatest = 0;
    for (double query = 0; query < 60; ++query) {
      const Index keys = static_cast<Index>(query) + 1;
      const auto row = reference::effective_distances(e, query, reference::counted(keys));
      for (Index j = 0; j < keys; ++j) {
        greatest = std::max(greatest, row[j]);
        const double true_distance = query - static_cast<double>(j);
        if (true_distance <= exact) {
          EXPECT_NEAR(row[j], true_distance, 1e-4);
        }
      }
    }
    EXPECT_NEAR(greatest, clamp, 1e-4);
  }
}

TEST(DualChunk, NeedsOneCopyOfTheKeys) {
  const Encoding e = dual_chunk<Native>(options(4, 10, 4));
  EXPECT_EQ(e.copies(), 3);
  EXPECT_EQ(e.key_copies(), 1);
}

TEST(DualChunk, CountsChunksBelowZeroToo) {
  const Encoding e = dual_chunk<Native>(options(4, 10, 4));
  EXPECT_NEAR(reference::effective_distances(e, 2, {-1.0})[0], 3, 1e-4);  // one chunk apart
  EXPECT_NEAR(reference::effective_distances(e, 5, {-6.0})[0], 9, 1e-4);
}

TEST(DualChunk, GrowsOnlyWhenAsked) {
  Array<double> frequencies(4);
  DualChunkOptions o = options(8, 10, 4);
  const Plan still = dual_chunk<Native>(o).plan(1000, frequencies.data());
  EXPECT_EQ(still.attention_factor, 1);
  EXPECT_EQ(still.length_policy, LengthPolicy::fixed);
  o.dca_mscale = true;
  o.trained_length = 100;
  const Encoding e = dual_chunk<Native>(o);
  EXPECT_EQ(e.plan(0, frequencies.data()).attention_factor, 1);
  EXPECT_EQ(e.plan(0, frequencies.data()).length_policy, LengthPolicy::per_length);
  EXPECT_EQ(e.plan(100, frequencies.data()).attention_factor, 1);
  EXPECT_NEAR(e.plan(1000, frequencies.data()).attention_factor, 1 + 0.05 * std::log(10.0), 1e-15);

  o.trained_length = 12;
  const Trial trial{.shape = {1, 2, 2, 33, 33, 8, 4}};
  const double factor = 1 + 0.05 * std::log(33.0 / 12);
  const reference::Logit plain = by_cases(8, 6, 9);
  reference::expect_attention<Native>(
      dual_chunk<Native>(o), trial,
      [&](Index h, const float* q, const float* k, const double* m, const double* j) {
        return factor * factor * plain(h, q, k, m, j);
      });
}

TEST(DualChunk, RefusesOptionsThatContradictEachOther) {
  EXPECT_TRUE(fails_with(DualChunk::make(options(8, 10, 10)), Errc::out_of_range, "local"));
  EXPECT_TRUE(fails_with(DualChunk::make(options(8, 10, 4, 5)), Errc::out_of_range, "clampMax"));
  EXPECT_TRUE(reference::succeeds(DualChunk::make(options(8, 10, 4, 6))));
  DualChunkOptions o = options(8, 10, 4);
  o.dca_mscale = true;
  EXPECT_TRUE(fails_with(DualChunk::make(std::move(o)), Errc::missing_option, "trainedLength"));
}

}  // namespace
}  // namespace posenc
