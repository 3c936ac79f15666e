// SPDX-License-Identifier: Apache-2.0
/// The gradients of attention: against differences of the float64 reference, and for every
/// registered encoding against differences of attention itself.
#include "posenc/attention/backward_sequences.hpp"

#include "arches.hpp"
#include "attention/gradients.hpp"
#include "encodings/movable.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::expect_reference_gradients;
using reference::Given;
using reference::Gradients;
using reference::gradients;
using reference::Movable;
using reference::Question;
using reference::Registered;
using reference::succeeds;
using reference::Variant;
using reference::variants;
using reference::weighed;

struct DefaultRun {
  Status operator()(const BackwardArguments& a) const { return attention_backward(a); }
};
struct WideRun {
  Status operator()(const BackwardArguments& a) const {
    return attend_backward<xsimd::emulated<256>>(a);
  }
};

template <class Run>
class AttentionGradients : public ::testing::Test {};
using Runs = ::testing::Types<DefaultRun, WideRun>;
TYPED_TEST_SUITE(AttentionGradients, Runs);

TYPED_TEST(AttentionGradients, AreTheDifferencesOfTheReference) {
  reference::Random random(11);
  for (int round = 0; round < 48; ++round) {
    SCOPED_TRACE(round);
    const Index groups = 1 + random.below(2), group = 1 + random.below(3);
    const AttentionShape s{.batch = 1 + random.below(2),
                           .heads = groups * group,
                           .kv_heads = groups,
                           .queries = 1 + random.below(7),
                           .keys = 1 + random.below(20),
                           .head_dim = 1 + random.below(6),
                           .value_dim = 1 + random.below(5)};
    Question question = Question::of(s, 100 + static_cast<std::uint64_t>(round));
    question.causal = random.below(2) == 0;
    question.wants_weights = false;
    question.tiles = {.queries = 1 + random.below(9), .keys = 1 + random.below(20)};
    if (random.below(3) == 0) question.scale = 0.7;
    if (random.below(3) == 0) question.query_offset = random.below(3) - 1;
    question.mask.extents = {s.batch, 1, s.queries, s.keys};
    const Index kind = random.below(3);
    if (kind == 1) question.mask.bias = random.floats(question.mask.size());
    if (kind == 2) {
      question.mask.allowed = Array<std::uint8_t>(question.mask.size());
      for (Index i = 0; i < question.mask.size(); ++i)
        question.mask.allowed[i] = static_cast<std::uint8_t>(random.below(3) != 0);
    }
    if (random.below(2) == 0) question.window.left = random.below(6);
    if (random.below(3) == 0) question.window.right = random.below(6);
    if (random.below(4) == 0) question.window.first = random.below(4);
    if (random.below(4) == 0) question.window.chunk = 1 + random.below(6);
    if (random.below(4) == 0) question.prefix = random.below(s.keys + 1);
    if (random.below(3) == 0) question.softcap = 0.5 + static_cast<double>(random.below(3));
    if (random.below(3) == 0) question.sinks = random.floats(s.heads);
    if (random.below(4) == 0)
      question.query_scale = {.kind = QueryScale::Kind::llama4, .length = 3, .factor = 0.3};
    if (random.below(3) == 0) {
      question.query_offset.reset();
      question.prefix = 0;
      for (Index b = 0; b < s.batch; ++b) {
        const Index queries = random.below(s.queries + 1), keys = random.below(s.keys + 1);
        question.sequences.push_back({.batch = b, .queries = queries, .keys = keys});
        question.sequences.push_back({.batch = b,
                                      .first_query = queries,
                                      .queries = random.below(s.queries - queries + 1),
                                      .first_key = keys,
                                      .keys = random.below(s.keys - keys + 1),
                                      .prefix = 1});
      }
    }
    const auto norm = [&](Index heads, Array<float>& weight) {
      HeadNorm made;
      if (random.below(3) != 0) return made;
      made.kind = random.below(2) == 0 ? HeadNorm::Kind::rms : HeadNorm::Kind::l2;
      made.epsilon = random.below(2) == 0 ? 1e-6 : 0.9;
      made.after_rotation = random.below(2) == 0;
      made.weight_heads = random.below(2) == 0 ? 1 : heads;
      weight = random.floats(made.weight_heads * s.head_dim);
      made.weight = weight.data();
      return made;
    };
    Array<float> q_weight, k_weight;
    question.q_norm = norm(s.heads, q_weight);
    question.k_norm = norm(s.kv_heads, k_weight);
    const Array<float> by = random.floats(s.batch * s.heads * s.queries * s.value_dim);
    const Given given = reference::ask(question);
    ASSERT_TRUE(succeeds(given.status));
    expect_reference_gradients(question, by, gradients(question, given, by, TypeParam{}), q_weight,
                               k_weight);
  }
}

TYPED_TEST(AttentionGradients, OfWhatIsHiddenAreZeroWhateverItHolds) {
  const AttentionShape s{
      .heads = 2, .kv_heads = 1, .queries = 5, .keys = 21, .head_dim = 3, .value_dim = 4};
  reference::Random random(5);
  Question question = Question::of(s, 9);
  question.wants_weights = false;
  question.mask.extents = {1, 1, s.queries, s.keys};
  question.mask.allowed = Array<std::uint8_t>(question.mask.size(), 1);
  for (Index t = 0; t < s.queries; ++t)
    for (Index j : {2, 8, 20}) question.mask.allowed[t * s.keys + j] = 0;
  for (Index j = 0; j < s.keys; ++j) question.mask.allowed[3 * s.keys + j] = 0;  // sees nothing
  Array<float> by = random.floats(s.heads * s.queries * s.value_dim);
  const Array<float> clean = by;
  const Gradients want = gradients(question, reference::ask(question), by, TypeParam{});
  for (Index j : {2, 8, 20}) {
    for (Index c = 0; c < s.head_dim; ++c) question.k[j * s.head_dim + c] = reference::nan;
    for (Index c = 0; c < s.value_dim; ++c) question.v[j * s.value_dim + c] = reference::infinity;
  }
  for (Index h = 0; h < s.heads; ++h)
    for (Index c = 0; c < s.head_dim; ++c)
      question.q[(h * s.queries + 3) * s.head_dim + c] = reference::nan;
  for (Index h = 0; h < s.heads; ++h)
    for (Index c = 0; c < s.value_dim; ++c)
      by[(h * s.queries + 3) * s.value_dim + c] = reference::nan;
  for (const TileSizes& tiles : {TileSizes{}, TileSizes{.queries = 2, .keys = 8}}) {
    question.tiles = tiles;
    const Gradients got = gradients(question, reference::ask(question), by, TypeParam{});
    ASSERT_TRUE(succeeds(got.status));
    for (const auto& [mine, its] :
         {std::pair{&got.q, &want.q}, {&got.k, &want.k}, {&got.v, &want.v}})
      for (Index i = 0; i < mine->size(); ++i) ASSERT_NEAR((*mine)[i], (*its)[i], 1e-5) << i;
    for (Index j : {2, 8, 20})
      for (Index c = 0; c < s.head_dim; ++c) ASSERT_EQ(got.k[j * s.head_dim + c], 0.0f);
  }
}

TEST(BackwardPass, WritesNothingWhereMemoryEnds) {
  const AttentionShape s{.queries = 3, .keys = 4, .head_dim = 2, .value_dim = 2};
  Question question = Question::of(s);
  const Given given = reference::ask(question);
  const Array<float> by(s.queries * s.value_dim, 1);
  const MemoryUse before = memory_use();
  const reference::AllocationsFailAfter limit(0);
  const Gradients got = gradients(question, given, by, DefaultRun{});
  EXPECT_TRUE(reference::fails_with(got.status, Errc::out_of_memory, ""));
  for (const Array<float>* x : {&got.q, &got.k, &got.v})
    for (float value : *x) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(memory_use().bytes, before.bytes);
}

// --- encodings ------------------------------------------------------------------------------------

/// Differences of float32 attention at a step of 4e-3: each output is off by 1e-7, so their weighed
/// sum of 100 by 1e-6, and the difference by 2.5e-4. Where a step crosses a kink of a piecewise
/// network, the slopes of its two sides differ and the gradient is between them; where it crosses
/// several, a smaller step does not.
constexpr double step = 4e-3, difference_tolerance = 2e-3;

/// Where tokens stand, and what else is asked of attention.
enum class Setting { plain, scattered, normalised };

void expect_gradients_of(const Registered& r, const reference::Wishes& extra, Setting setting) {
  Movable options(r, extra);
  Encoding e = options.make();
  const Index axes = r.spec.axes;
  const Index heads = e.heads() != 0 ? e.heads() : 4;
  const AttentionShape s{.batch = 1,
                         .heads = heads,
                         .kv_heads = e.table_heads() > 1 ? heads : heads / 2,
                         .queries = 7,
                         .keys = 19,
                         .head_dim = e.head_dim() != 0 ? e.head_dim() : 6,
                         .value_dim = e.value_dim() != 0 ? e.value_dim() : 5};
  Question question = Question::of(s, 21);
  reference::Random random(22);
  question.axes = static_cast<int>(axes);
  question.wants_weights = false;
  const bool scattered = setting == Setting::scattered;
  question.causal = !scattered;
  question.tiles = {.queries = 4, .keys = 8};
  if (scattered) {
    question.query_positions = Array<double>(axes * s.queries);
    question.key_positions = Array<double>(axes * s.keys);
    for (Array<double>* p : {&question.query_positions, &question.key_positions})
      for (double& x : std::span(p->data(), static_cast<std::size_t>(p->size())))
        x = static_cast<double>(random.below(axes > 1 ? 7 : 20));
  }
  if (setting != Setting::plain) {
    question.softcap = 2;
    question.sinks = random.floats(s.heads);
    question.window = {.left = 11, .right = 9};
    question.q_norm.kind = question.k_norm.kind = HeadNorm::Kind::rms;
    question.q_norm.after_rotation = question.k_norm.after_rotation =
        setting == Setting::normalised && e.rotation().growth() == 0;
    question.query_scale = {.kind = QueryScale::Kind::llama4, .length = 5, .factor = 0.3};
  }
  const Array<float> by = random.floats(s.heads * s.queries * s.value_dim);
  const auto forward = [&](const Encoding& with) {
    Array<float> output(by.size()), log_sum_exp(s.heads * s.queries);
    const Encoding* list[] = {&with};
    AttentionArguments a = question.arguments();
    a.encodings = list;
    a.q = Tensor4<const float>::bhnd(question.q.data(), s.heads, s.queries, s.head_dim);
    a.k = Tensor4<const float>::bhnd(question.k.data(), s.kv_heads, s.keys, s.head_dim);
    a.v = Tensor4<const float>::bhnd(question.v.data(), s.kv_heads, s.keys, s.value_dim);
    a.output = Tensor4<float>::bhnd(output.data(), s.heads, s.queries, s.value_dim);
    a.log_sum_exp = log_sum_exp.data();
    EXPECT_TRUE(succeeds(attention(a)));
    return Given{{}, std::move(output), {}, std::move(log_sum_exp)};
  };
  question.encodings = {&e};
  std::vector<Index> sizes;
  for (std::string_view name : e.gradients()) sizes.push_back(options.size(name));
  const Given here = forward(e);
  const Gradients got = gradients(question, here, by, DefaultRun{}, sizes);
  ASSERT_TRUE(succeeds(got.status));
  const double loss_here = weighed(here.output, by);

  const auto check = [&](const Array<float>& gradient, const std::string& name, auto&& move) {
    for (int round = 0; round < 8; ++round) {
      // Half of the rounds move single numbers, the others a direction of length 1.
      Array<float> direction = random.floats(gradient.size());
      double square = 0;
      for (float x : direction) square += static_cast<double>(x) * x;
      for (Index i = 0; i < direction.size(); ++i)
        direction[i] /= static_cast<float>(std::sqrt(square));
      if (round % 2 == 0) {
        direction = Array<float>(gradient.size());
        direction[random.below(gradient.size())] = 1;
      }
      double slope = 0, size = 0;
      for (Index i = 0; i < direction.size(); ++i) {
        slope += static_cast<double>(gradient[i]) * direction[i];
        size = std::max<double>(size, std::abs(gradient[i]));
      }
      double difference = 0, kink = 0;
      for (double by_step : {step, step / 4}) {
        const double above = move(direction, by_step), below = move(direction, -by_step);
        difference = (above - below) / (2 * by_step);
        kink = std::abs(above - 2 * loss_here + below) / (2 * by_step);
        if (std::abs(slope - difference) <= difference_tolerance * (1 + size) + kink) break;
      }
      ASSERT_NEAR(slope, difference, difference_tolerance * (1 + size) + kink)
          << name << ", round " << round;
    }
  };
  const auto moved = [&](Array<float>& x) {
    return [&](const Array<float>& direction, double by_step) {
      const Array<float> before = x;
      for (Index i = 0; i < x.size(); ++i) x[i] += static_cast<float>(by_step) * direction[i];
      const double loss = weighed(forward(e).output, by);
      x = before;
      return loss;
    };
  };
  check(got.q, "q", moved(question.q));
  check(got.k, "k", moved(question.k));
  check(got.v, "v", moved(question.v));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    const std::string_view name = e.gradients()[i];
    double largest = 0;
    for (float x : got.tables[i]) largest = std::max<double>(largest, std::abs(x));
    EXPECT_GT(largest, 0) << name;
    check(got.tables[i], std::string(name), [&](const Array<float>& direction, double by_step) {
      options.move(name, direction, by_step);
      const double loss = weighed(forward(options.make()).output, by);
      options.move(name, direction, -by_step);
      return loss;
    });
  }
}

TEST(GradientsOfEncodings, AreTheDifferencesOfAttention) {
  for (const Registered& r : reference::registered()) {
    const Sites& sites = r.spec.sites;
    if (!sites.rotate && !sites.score && !sites.value) continue;
    for (Setting setting : {Setting::plain, Setting::scattered, Setting::normalised}) {
      if (setting != Setting::scattered && r.spec.axes > 1 && !r.spec.text_axes) continue;
      SCOPED_TRACE(std::string(r.spec.id) + ' ' + std::to_string(static_cast<int>(setting)));
      expect_gradients_of(r, {}, setting);
      for (const Variant& variant : variants())
        if (variant.id == r.spec.id) {
          SCOPED_TRACE(variant.extra.begin()->first);
          expect_gradients_of(r, variant.extra, setting);
        }
    }
  }
}

TEST(GradientsOfEncodings, ExistForEveryLearnedTable) {
  for (const Registered& r : reference::registered()) {
    const Encoding e = reference::made_example(r);
    EXPECT_TRUE(e.differentiable()) << r.spec.id;
    for (const Field& f : r.fields) {
      if (f.kind != OptionKind::table) continue;
      EXPECT_EQ(std::count(e.gradients().begin(), e.gradients().end(), f.name), 1)
          << r.spec.id << ' ' << f.name;
    }
  }
}

}  // namespace
}  // namespace posenc
