// SPDX-License-Identifier: Apache-2.0
/// What every registered encoding must hold to, whichever it is. The laws inside attention are in
/// registry_attention_test.cpp.
#include "posenc/encodings/registry.hpp"

#include <gtest/gtest.h>

#include <set>

#include "encodings/examples.hpp"
#include "encodings/rotated.hpp"
#include "posenc/core/apply.hpp"

namespace posenc {
namespace {

using reference::Array;
using reference::example_of;
using reference::made_example;
using reference::Registered;
using reference::registered;
using reference::succeeds;

bool is_kebab(std::string_view id) {
  if (id.empty() || id.front() == '-' || id.back() == '-') return false;
  for (char c : id)
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-') return false;
  return id.find("--") == std::string_view::npos;
}
bool is_camel(std::string_view name) {
  if (name.empty() || name.front() < 'a' || name.front() > 'z') return false;
  for (char c : name)
    if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')) return false;
  return true;
}

TEST(Registry, GivesEveryEncodingAnIdOfItsOwn) {
  std::set<std::string_view> ids;
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    EXPECT_TRUE(is_kebab(r.spec.id));
    EXPECT_TRUE(ids.insert(r.spec.id).second);
  }
  EXPECT_GE(ids.size(), 8u);
}

TEST(Registry, SaysOfEveryEncodingWhatItIsAndWhoWroteIt) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Spec& s = r.spec;
    EXPECT_FALSE(s.title.empty());
    EXPECT_FALSE(s.formula.empty());
    ASSERT_FALSE(s.summary.empty());
    EXPECT_TRUE(s.summary.ends_with('.'));
    EXPECT_NE(s.paper.find_first_of("0123456789"), std::string_view::npos)
        << "no year in " << s.paper;
    EXPECT_TRUE(s.url.starts_with("https://"));
    EXPECT_GE(s.axes, 1);
  }
}

TEST(Registry, DescribesEveryOption) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    std::set<std::string_view> names;
    for (const Field& f : r.fields) {
      EXPECT_TRUE(is_camel(f.name)) << f.name;
      EXPECT_TRUE(names.insert(f.name).second) << f.name;
      ASSERT_FALSE(f.doc.empty()) << f.name;
      EXPECT_TRUE(f.doc.ends_with('.')) << f.name;
      EXPECT_EQ(f.kind == OptionKind::choice || f.kind == OptionKind::names, !f.choices.empty())
          << f.name;
    }
    for (const Field& f : r.fields) {
      if (!f.default_from.empty()) {
        EXPECT_TRUE(names.contains(f.default_from)) << f.name;
      }
      for (const Dim& d : f.shape)
        EXPECT_TRUE(d.option.empty() || names.contains(d.option)) << f.name;
    }
  }
}

TEST(Registry, KeepsDefaultsAndExamplesWithinTheirLimits) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    for (const Field& f : r.fields) {
      const double value = f.is_required ? f.example_value : r.initial(f);
      if (f.kind == OptionKind::table || std::isnan(value)) continue;
      EXPECT_GE(value, f.min) << f.name;
      EXPECT_LE(value, f.max) << f.name;
      if (f.above_min) {
        EXPECT_GT(value, f.min) << f.name;
      }
      if (f.kind == OptionKind::integer) {
        EXPECT_EQ(std::fmod(value, f.multiple), 0) << f.name;
      }
      if (f.kind == OptionKind::choice) {
        EXPECT_LT(value, static_cast<double>(f.choices.size())) << f.name;
      }
      if (f.is_logarithmic) {
        EXPECT_GT(f.min, 0) << f.name;
      }
    }
  }
}

TEST(Registry, MakesEveryEncodingFromItsExamples) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const MemoryUse before = memory_use();
    {
      const auto by_name = make_encoding(r.spec.id, example_of(r).bag());
      ASSERT_TRUE(succeeds(by_name));
      EXPECT_EQ(by_name->traits().id, r.spec.id);
      EXPECT_EQ(by_name->traits().sites, r.spec.sites);
    }
    EXPECT_EQ(memory_use(), before);
  }
}

TEST(Registry, TakesEveryNameOfEveryChoice) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    for (const Field& f : r.fields)
      for (std::size_t i = 0; i < f.choices.size(); ++i)
        EXPECT_TRUE(succeeds(make_encoding(
            r.spec.id, example_of(r, {{std::string(f.name), static_cast<double>(i)}}).bag())))
            << f.name << ' ' << f.choices[i];
  }
}

TEST(Registry, RefusesNaNWhereverANumberIsAskedFor) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    for (const Field& f : r.fields)
      if (f.kind == OptionKind::integer || f.kind == OptionKind::number) {
        reference::Options options = example_of(r);
        options.number(f.name, std::numeric_limits<double>::quiet_NaN());
        EXPECT_TRUE(reference::fails_with(make_encoding(r.spec.id, options.bag()), Errc::not_finite,
                                          f.name));
      }
  }
}

TEST(Registry, RefusesPositionsThatAreNotFinite) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    if (r.spec.sites == Sites{}) continue;
    const Encoding e = made_example(r);
    const Array<double> p(r.spec.axes, std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(reference::fails_with(e.accepts(Positions::of(p.data(), 1, r.spec.axes)),
                                      Errc::not_finite, "positions"));
  }
}

/// Where queries and keys differ, as in xPos, it is their product that keeps its size.
bool turns_keys_as_queries(const Encoding& e) {
  const Index width = e.rotation().table_width();
  const Array<double> p{100};
  Array<double> frequencies(e.rotation().pairs);
  const auto table = [&](Role role) {
    Array<float> made(width);
    e.angles({.out = {made.data(), 1, width, width},
              .positions = reference::positions(p),
              .role = role,
              .length = 1,
              .scratch = frequencies.data()});
    return made;
  };
  return table(Role::query).same_bits(table(Role::key));
}

TEST(Registry, KeepsTheNormOfWhatItRotatesUpToTheAttentionFactor) {
  constexpr double rounding = 1e-6;
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    if (!r.spec.sites.rotate) continue;
    const Encoding e = made_example(r);
    if (e.copies() > 1 || e.table_heads() > 1 || r.spec.axes > 1) continue;
    if (e.rotation().growth() > 0) continue;
    if (!turns_keys_as_queries(e)) continue;
    const Index width = e.head_dim();
    reference::Random random(1);
    for (double p : {0.0, 1.0, 777.0, 65536.0}) {
      const Array<float> x = random.floats(width), y = reference::rotated(e, x, {p});
      Array<double> frequencies(e.rotation().pairs);
      const double factor = e.plan(1, frequencies.data()).attention_factor;
      const double before = std::sqrt(reference::inner(x, x)),
                   after = std::sqrt(reference::inner(y, y));
      if (2 * e.rotation().pairs == width) {
        EXPECT_NEAR(after, factor * before, rounding * before) << p;
      }
    }
  }
}

TEST(Registry, WritesOneFrequencyPerPairIntoItsPlan) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    if (!r.spec.sites.rotate) continue;
    const Encoding e = made_example(r);
    Array<double> frequencies(e.rotation().pairs, -1);
    const Plan plan = e.plan(100, frequencies.data());
    EXPECT_EQ(plan.inverse_frequencies.data(), frequencies.data());
    EXPECT_EQ(static_cast<Index>(plan.inverse_frequencies.size()), e.rotation().pairs);
    for (double w : frequencies) EXPECT_TRUE(std::isfinite(w) && w >= 0);
    EXPECT_EQ(plan.length_policy, r.spec.length_policy);
  }
}

TEST(Registry, NamesTheOptionsThatChangeItsLengthPolicy) {
  int named = 0;
  for (const Registered& r : registered())
    for (const Field& f : r.fields) {
      if (!f.policy) continue;
      SCOPED_TRACE(std::string(r.spec.id) + ' ' + std::string(f.name));
      const Encoding e = made_example(r, {{std::string(f.name), 1}, {"trainedLength", 100}});
      Array<double> frequencies(e.rotation().pairs);
      EXPECT_NE(*f.policy, r.spec.length_policy);
      EXPECT_EQ(e.plan(100, frequencies.data()).length_policy, *f.policy);
      ++named;
    }
  EXPECT_EQ(named, 5);
}

/// The sum over angles: what a pair turns by between the two is the distance times its frequency.
TEST(Registry, CountsTheDistancesThatItTurnsBy) {
  constexpr double rounding = 3e-5;  // of a product of cosines in float32, times a few hundred
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Encoding e = made_example(r);
    EXPECT_EQ(e.remaps_distance(), e.copies() > 1);
    Array<double> q{200, 131, 7}, k{0, 5, 64, 130, 131, 180, 200, 300};
    Array<double> distances_of(q.size() * k.size());
    const Status status =
        distances(e, reference::positions(q), reference::positions(k), distances_of.data());
    if (!e.remaps_distance()) {
      EXPECT_TRUE(reference::fails_with(status, Errc::unsupported, r.spec.id));
      continue;
    }
    ASSERT_TRUE(succeeds(status));
    const Index pairs = e.rotation().pairs, width = e.rotation().table_width();
    Array<double> frequencies(pairs);
    e.plan(301, frequencies.data());
    const auto angles = [&](double position, Role role, Index copy) {
      Array<float> row(width);
      const Array<double> at{position};
      Array<double> scratch(pairs);
      e.angles({.out = {row.data(), 1, width, width},
                .positions = reference::positions(at),
                .role = role,
                .length = 301,
                .copy = copy,
                .scratch = scratch.data()});
      return row;
    };
    for (Index t = 0; t < q.size(); ++t)
      for (Index j = 0; j < k.size(); ++j) {
        const double d = distances_of[t * k.size() + j];
        EXPECT_TRUE(std::isfinite(d));
        std::uint8_t copy = 0;
        e.choose(q[t], Positions::of(&k[j], 1), &copy);
        const Array<float> a = angles(q[t], Role::query, copy),
                           b = angles(k[j], Role::key, std::min<Index>(copy, e.key_copies() - 1));
        for (Index i = 0; i < pairs; ++i) {
          const double cosine = double{a[i]} * b[i] + double{a[pairs + i]} * b[pairs + i];
          EXPECT_NEAR(cosine, std::cos(d * frequencies[i]), rounding) << q[t] << ' ' << k[j];
        }
      }
  }
}

/// Runs `call` with ever more allocations allowed, until it succeeds; every failure must be typed,
/// leak nothing and leave `target` as it was.
template <class F>
void fail_everywhere(Array<float>& target, F&& call) {
  const Array<float> untouched = target;
  const MemoryUse before = memory_use();
  for (long n = 0; n < 1000; ++n) {
    const reference::AllocationsFailAfter limit(n);
    const auto outcome = call();
    if (outcome) return;
    EXPECT_EQ(outcome.error().code, Errc::out_of_memory);
    ASSERT_EQ(memory_use(), before) << n;
    ASSERT_TRUE(target.same_bits(untouched)) << n;
  }
  FAIL() << "never succeeds";
}

TEST(Registry, SurvivesAFailureOfEveryAllocationWhileMaking) {
  Array<float> none;
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const reference::Options options = example_of(r);
    fail_everywhere(none, [&] { return make_encoding(r.spec.id, options.bag()); });
  }
}

TEST(Registry, SurvivesAFailureOfEveryAllocationAtItsSites) {
  for (const Registered& r : registered()) {
    SCOPED_TRACE(std::string(r.spec.id));
    const Encoding e = made_example(r);
    if (r.spec.axes > 1) continue;
    const Array<double> p = reference::counted(5, 3);
    const Positions at = reference::positions(p);
    if (r.spec.sites.embed) {
      Array<float> x(5 * e.embed_width(), 1.0f);
      fail_everywhere(x, [&] {
        return embed(e, {.x = x.data(),
                         .from = x.data(),
                         .rows = 5,
                         .width = e.embed_width(),
                         .positions = p.data()});
      });
    }
    if (r.spec.sites.rotate) {
      const Index heads = e.table_heads(), growth = e.rotation().growth();
      const Array<float> from(heads * 5 * e.head_dim(), 1.0f);
      Array<float> x(heads * 5 * (e.head_dim() + growth), 2.0f);
      fail_everywhere(x, [&] {
        return rotate(e, {.x = x.data(),
                          .from = from.data(),
                          .heads = heads,
                          .rows = 5,
                          .width = e.head_dim(),
                          .positions = p.data()});
      });
    }
    if (r.spec.sites.score && r.spec.content_free) {
      Array<float> x(std::max<Index>(1, e.heads()) * 25, 1.0f);
      fail_everywhere(x, [&] { return bias(e, at, at, x.data()); });
    }
  }
}

}  // namespace
}  // namespace posenc
