// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/rotary/angles.hpp"

#include <algorithm>
#include <cmath>

#include "posenc/core/waves.hpp"

namespace posenc {
namespace {

class Fill {
 public:
  Fill(const AngleBlock& block, const Plan& plan, const AngleRules& rules)
      : b_(block), plan_(plan), rules_(rules), pairs_(plan.rotation.pairs) {}

  void exact() const {
    for (Index first = 0; first < pairs_; first += Waves::most) {
      const Index n = std::min(Waves::most, pairs_ - first);
      Waves waves(plan_.inverse_frequencies.data() + first, n);
      // All positions of one axis, then all of the next: neighbours share what `waves` remembers.
      for (Index axis = 0; axis < axes(); ++axis)
        for (Index t = 0; t < b_.positions.count; ++t) {
          waves.at(coordinate(axis, t));
          float *cosines = b_.out.row(t) + first, *sines = cosines + pairs_;
          if (rules_.axis == nullptr && rules_.amplitude == nullptr)
            waves.write(plan_.attention_factor, cosines, sines);
          else
            pick(waves, first, n, axis, t, cosines, sines);
        }
    }
  }

  void float32() const {
    for (Index t = 0; t < b_.positions.count; ++t) {
      float *cosines = b_.out.row(t), *sines = cosines + pairs_;
      const auto angle = [&](Index i) -> double {
        return static_cast<float>(coordinate(axis_of(i), t)) *
               static_cast<float>(plan_.inverse_frequencies[static_cast<std::size_t>(i)]);
      };
      for_each_cosine_and_sine(pairs_, angle, [&](Index i, double cosine, double sine) {
        const auto factor = static_cast<float>(factor_of(i, b_.positions.axis(axis_of(i))[t]));
        cosines[i] = static_cast<float>(cosine) * factor;
        sines[i] = static_cast<float>(sine) * factor;
      });
    }
  }

 private:
  Index axes() const { return rules_.axis == nullptr ? 1 : b_.positions.axes; }
  Index axis_of(Index pair) const {
    return rules_.axis == nullptr ? 0 : rules_.axis(rules_.schedule, pair);
  }
  double coordinate(Index axis, Index t) const {
    const double position = b_.positions.axis(axis)[t];
    if (rules_.coordinate == nullptr) return position;
    return rules_.coordinate(rules_.schedule, b_, axis, position);
  }
  double factor_of(Index pair, double position) const {
    if (rules_.amplitude == nullptr) return plan_.attention_factor;
    return plan_.attention_factor * rules_.amplitude(rules_.schedule, b_, pair, position);
  }

  /// The pairs of one axis, each with its own factor.
  void pick(const Waves& waves, Index first, Index n, Index axis, Index t, float* cosines,
            float* sines) const {
    std::array<double, static_cast<std::size_t>(Waves::most)> c, s;
    waves.write(c.data(), s.data());
    for (Index i = 0; i < n; ++i) {
      if (axis_of(first + i) != axis) continue;
      const double factor = factor_of(first + i, b_.positions.axis(axis)[t]);
      cosines[i] = static_cast<float>(factor * c[static_cast<std::size_t>(i)]);
      sines[i] = static_cast<float>(factor * s[static_cast<std::size_t>(i)]);
    }
  }

  const AngleBlock& b_;
  const Plan& plan_;
  const AngleRules& rules_;
  Index pairs_;
};

}  // namespace

void fill_angles(const AngleBlock& block, const Plan& plan, Precision precision,
                 const AngleRules& rules) {
  const Fill fill(block, plan, rules);
  precision == Precision::exact ? fill.exact() : fill.float32();
}

}  // namespace posenc
