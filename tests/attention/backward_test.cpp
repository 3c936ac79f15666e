// SPDX-License-Identifier: Apache-2.0
/// The gradients of attention: against differences of the float64 reference, and for every
/// registered encoding against differences of attention itself.
#include "posenc/attention/backward_sequences.hpp"

#include "arches.hpp"
#include "attention/question.hpp"
#include "encodings/examples.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::Given;
using reference::Question;
using reference::Registered;
using reference::succeeds;

/// What the backward pass gave; NaN where it wrote nothing.
struct Gradients {
  Status status;
  Array<float> q, k, v, sinks, mask, q_norm, k_norm;
  std::vector<Array<float>> tables;
};

/// `run` is attention_backward, or the same at another width.
template <class Run>
Gradients gradients(const Question& ask, const Given& given, const Array<float>& by, Run&& run,
                    const std::vector<Index>& table_sizes = {}, int axes = 1) {
  const AttentionShape& s = ask.shape;
  Gradients made{{},
                 Array<float>(ask.q.size(), reference::nan),
                 Array<float>(ask.k.size(), reference::nan),
                 Array<float>(ask.v.size(), reference::nan),
                 Array<float>(ask.sinks.size(), reference::nan),
                 Array<float>(ask.mask.bias.size()),
                 Array<float>(ask.q_norm.weight_heads * s.head_dim),
                 Array<float>(ask.k_norm.weight_heads * s.head_dim),
                 {}};
  std::vector<float*> tables;
  for (Index size : table_sizes) {
    made.tables.emplace_back(size);
    tables.push_back(size > 0 ? made.tables.back().data() : nullptr);
  }
  Array<float> output = given.output, log_sum_exp = given.log_sum_exp;
  const auto positions = [&](const Array<double>& p, Index count) -> PositionRows {
    if (p.size() == 0) return {};
    return {.data = p.data(), .rows = p.size() / std::max<Index>(1, count * axes)};
  };
  const auto tensor = []<class T>(T* data, Index heads, Index rows, Index width) {
    return Tensor4<T>::bhnd(data, heads, rows, width);
  };
  made.status = run(BackwardArguments{
      .forward = {.shape = s,
                  .q = tensor(ask.q.data(), s.heads, s.queries, s.head_dim),
                  .k = tensor(ask.k.data(), s.kv_heads, s.keys, s.head_dim),
                  .v = tensor(ask.v.data(), s.kv_heads, s.keys, s.value_dim),
                  .output = tensor(output.data(), s.heads, s.queries, s.value_dim),
                  .log_sum_exp = log_sum_exp.data(),
                  .encodings = ask.encodings,
                  .axes = axes,
                  .query_positions = positions(ask.query_positions, s.queries),
                  .key_positions = positions(ask.key_positions, s.keys),
                  .scale = ask.scale,
                  .causal = ask.causal,
                  .query_offset = ask.query_offset,
                  .window = ask.window,
                  .prefix = ask.prefix,
                  .key_gap = ask.key_gap,
                  .mask = ask.mask.view(),
                  .sequences = ask.sequences,
                  .softcap = ask.softcap,
                  .sinks = ask.sinks.size() > 0 ? ask.sinks.data() : nullptr,
                  .query_scale = ask.query_scale,
                  .q_norm = ask.q_norm,
                  .k_norm = ask.k_norm,
                  .tiles = ask.tiles},
      .output_gradient = tensor(by.data(), s.heads, s.queries, s.value_dim),
      .q_gradient = tensor(made.q.data(), s.heads, s.queries, s.head_dim),
      .k_gradient = tensor(made.k.data(), s.kv_heads, s.keys, s.head_dim),
      .v_gradient = tensor(made.v.data(), s.kv_heads, s.keys, s.value_dim),
      .sink_gradient = made.sinks.size() > 0 ? made.sinks.data() : nullptr,
      .q_norm_gradient = made.q_norm.data(),
      .k_norm_gradient = made.k_norm.data(),
      .mask_gradient = made.mask.size() > 0 ? made.mask.data() : nullptr,
      .tables = tables});
  return made;
}

double weighed(const auto& output, const Array<float>& by) {
  double sum = 0;
  for (Index i = 0; i < by.size(); ++i)
    if (by[i] != 0) sum += static_cast<double>(output[i]) * by[i];
  return sum;
}

Array<double> doubles(const Array<float>& x) {
  Array<double> y(x.size());
  for (Index i = 0; i < x.size(); ++i) y[i] = x[i];
  return y;
}

/// Differences of the float64 reference at a step of 1e-5 are right to 1e-9; what remains is the
/// rounding of float32 on the way back.
constexpr double reference_tolerance = 2e-5;

/// Without encodings: every gradient against central differences of the reference.
void expect_reference_gradients(Question& question, const Array<float>& by, const Gradients& got,
                                Array<float>& q_weight, Array<float>& k_weight) {
  ASSERT_TRUE(succeeds(got.status));
  Array<double> q = doubles(question.q), k = doubles(question.k), v = doubles(question.v);
  const auto loss = [&] {
    const AttentionShape& s = question.shape;
    return weighed(reference::attention(
                       s, reference::normalised(q, question.q_norm, s.heads, s.queries, s.head_dim),
                       reference::normalised(k, question.k_norm, s.kv_heads, s.keys, s.head_dim), v,
                       reference::scale_of(question), reference::terms_of(question))
                       .output,
                   by);
  };
  const auto compare = [&](auto& x, const Array<float>& gradient, double step, double tolerance,
                           const char* name) {
    for (Index i = 0; i < x.size(); ++i) {
      const auto at = x[i];
      using Real = std::remove_const_t<decltype(at)>;
      x[i] = static_cast<Real>(at + step);
      const double above = loss();
      x[i] = static_cast<Real>(at - step);
      const double slope = (above - loss()) / (2 * step);
      x[i] = at;
      ASSERT_NEAR(gradient[i], slope, tolerance * (1 + std::abs(slope))) << name << ' ' << i;
    }
  };
  compare(q, got.q, 1e-5, reference_tolerance, "q");
  compare(k, got.k, 1e-5, reference_tolerance, "k");
  compare(v, got.v, 1e-5, reference_tolerance, "v");
  // Held in float32, which takes larger steps: 2^-10 adds an error of 1e-6.
  compare(question.sinks, got.sinks, 0x1p-10, 2e-4, "sinks");
  compare(question.mask.bias, got.mask, 0x1p-10, 2e-4, "mask");
  compare(q_weight, got.q_norm, 0x1p-10, 2e-4, "q norm");
  compare(k_weight, got.k_norm, 0x1p-10, 2e-4, "k norm");
}

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

const reference::Wishes wishes{
    {"heads", 4}, {"headDim", 6}, {"valueDim", 5}, {"reach", 4}, {"maxPositions", 6}};

/// Options that can be moved, and the encoding made from them.
struct Movable {
  const Registered& registered;
  reference::Wishes numbers;
  reference::Options options;

  Movable(const Registered& r, const reference::Wishes& extra)
      : registered(r), numbers(r.spec.axes == 1 ? wishes : reference::Wishes{}) {
    for (const auto& [name, value] : extra) numbers[name] = value;
    options = reference::example_of(r, numbers);
    // Lists without an example hold zeros, where nothing moves.
    for (const auto& entry : options.bag().entries())
      for (double& x : list(entry.name)) x = x == 0 ? 0.3 : x;
  }
  const OptionBag::Entry* find(std::string_view name) const {
    for (const auto& entry : options.bag().entries())
      if (entry.name == name) return &entry;
    return nullptr;
  }
  std::span<double> list(std::string_view name) const {
    const auto* entry = find(name);
    if (entry == nullptr || entry->value.kind != OptionValue::Kind::list) return {};
    return {const_cast<double*>(entry->value.list.data()), entry->value.list.size()};
  }
  Index size(std::string_view name) const {
    const auto* entry = find(name);
    if (entry == nullptr) return is_number(name) ? 1 : 0;
    if (entry->value.kind == OptionValue::Kind::number) return 1;
    if (entry->value.kind == OptionValue::Kind::list) return static_cast<Index>(list(name).size());
    Index count = 1;
    for (std::size_t a = 0; a < static_cast<std::size_t>(entry->value.rank); ++a)
      count *= entry->value.shape[a];
    return count;
  }
  bool is_number(std::string_view name) const {
    for (const Field& f : registered.fields)
      if (f.name == name) return f.kind == OptionKind::number;
    return false;
  }
  /// option += step * direction
  void move(std::string_view name, const Array<float>& direction, double step) {
    if (is_number(name)) {
      numbers[std::string(name)] =
          reference::number_of(registered, name, numbers) + step * direction[0];
      options = reference::example_of(registered, numbers);
      return;
    }
    const auto* entry = find(name);
    for (Index i = 0; i < direction.size(); ++i)
      if (entry->value.kind == OptionValue::Kind::list)
        list(name)[static_cast<std::size_t>(i)] += step * direction[i];
      else
        const_cast<float*>(entry->value.table)[i] += static_cast<float>(step) * direction[i];
  }
  Encoding make() const {
    auto made = make_encoding(registered.spec.id, options.bag());
    EXPECT_TRUE(succeeds(made)) << registered.spec.id;
    return std::move(*made);
  }
};

struct Variant {
  std::string_view id;
  reference::Wishes extra;
};
const std::vector<Variant>& variants() {
  static const std::vector<Variant> all{
      {"alibi", {{"slopes", 1}}},
      {"alibi", {{"slopes", 1}, {"form", 2}, {"slopeScale", 0.5}}},
      {"t5", {{"bidirectional", 0}}},
      {"kerple", {{"kind", 1}}},
      {"kerple", {{"symmetric", 1}, {"w1", 1}, {"w2", 1}}},
      {"cope", {{"scaleLogits", 0}}},
      {"fire", {{"l", 20}, {"multiplier", -0.8}, {"c", -0.3}}},
      {"forgetting", {{"form", 1}}},
      {"deberta", {{"buckets", 6}, {"maxDistance", 12}}},
      {"dynamic-bias", {{"logDistance", 1}, {"activation", 1}}},
      {"learned", {}},
      {"transformer-xl", {{"clamp", 5}}}};
  return all;
}

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
    const auto rows = [](const Array<double>& p) {
      return PositionRows{.data = p.size() > 0 ? p.data() : nullptr};
    };
    EXPECT_TRUE(succeeds(attention(
        {.shape = s,
         .q = Tensor4<const float>::bhnd(question.q.data(), s.heads, s.queries, s.head_dim),
         .k = Tensor4<const float>::bhnd(question.k.data(), s.kv_heads, s.keys, s.head_dim),
         .v = Tensor4<const float>::bhnd(question.v.data(), s.kv_heads, s.keys, s.value_dim),
         .output = Tensor4<float>::bhnd(output.data(), s.heads, s.queries, s.value_dim),
         .log_sum_exp = log_sum_exp.data(),
         .encodings = list,
         .axes = static_cast<int>(axes),
         .query_positions = rows(question.query_positions),
         .key_positions = rows(question.key_positions),
         .causal = question.causal,
         .window = question.window,
         .softcap = question.softcap,
         .sinks = question.sinks.size() > 0 ? question.sinks.data() : nullptr,
         .query_scale = question.query_scale,
         .q_norm = question.q_norm,
         .k_norm = question.k_norm,
         .tiles = question.tiles})));
    return Given{{}, std::move(output), {}, std::move(log_sum_exp)};
  };
  question.encodings = {&e};
  std::vector<Index> sizes;
  for (std::string_view name : e.gradients()) sizes.push_back(options.size(name));
  const Given here = forward(e);
  const Gradients got = gradients(question, here, by, DefaultRun{}, sizes, static_cast<int>(axes));
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
