// SPDX-License-Identifier: Apache-2.0
/// The base of every rotary encoding: options they share, and the class that turns a frequency
/// schedule into angles. A RoPE scaling is a schedule; there is no second kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "posenc/core/encoding.hpp"
#include "posenc/core/position_rules.hpp"
#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/angles.hpp"

namespace posenc {

struct RotaryOptions {
  int head_dim = 0;
  std::optional<int> rotary_dim;
  double base = 10000;
  Layout layout = Layout::half;
  Precision precision = Precision::exact;
};

/// The options every rotary encoding has, followed by its own.
template <class Options, class... Own>
constexpr auto rotary_fields(Own... own) {
  using F = FieldOf<Options>;
  return std::array<Field, 5 + sizeof...(own)>{
      F::template integer<&RotaryOptions::head_dim>("headDim", "Width of one head.", 1, 4096)
          .required(64),
      F::template integer<&RotaryOptions::rotary_dim>(
          "rotaryDim", "Leading channels that rotate; even.", 0, 4096)
          .multiple_of(2)
          .falls_back_to("headDim"),
      F::template number<&RotaryOptions::base>(
          "base", "Theta: the wavelengths span 2 pi to 2 pi base.", 1, 1e15)
          .exclusive_min()
          .logarithmic(),
      F::template choice<&RotaryOptions::layout>(
          "layout", "Which channels pair: (i, i + r/2) or (2i, 2i + 1).", layout_names),
      F::template choice<&RotaryOptions::precision>(
          "precision", "Angles in float64, or float32 exactly as Hugging Face computes them.",
          precision_names),
      own...};
}

/// base^(2i/r): positions per radian. In float32 by the operations of the reference.
template <std::floating_point Real>
Real rotary_period(double base, Index rotary_dim, Index pair) {
  const Real exponent = static_cast<Real>(2 * pair) / static_cast<Real>(rotary_dim);
  return static_cast<Real>(power(static_cast<Real>(base), exponent));
}

/// base^(-2i/r); in float32 by the operations of the reference: 1 / base^(2i/r).
template <std::floating_point Real>
Real rotary_frequency(double base, Index rotary_dim, Index pair) {
  return Real(1) / rotary_period<Real>(base, rotary_dim, pair);
}

/// What every schedule requires of the widths.
inline Status check_widths(const RotaryOptions& o) {
  const int rotary_dim = o.rotary_dim.value_or(o.head_dim);
  if (rotary_dim % 2 != 0)
    return fault(Errc::not_even, "headDim",
                 "an even integer; rotaryDim selects a part of an odd head",
                 static_cast<double>(rotary_dim));
  if (rotary_dim > o.head_dim)
    return outside(Errc::out_of_range, "rotaryDim", "at most headDim",
                   static_cast<double>(rotary_dim), 0, static_cast<double>(o.head_dim));
  return {};
}

/// What most schedules leave as it is. A schedule derives from this and hides what it does itself;
/// it is made anew for each length, so nothing sticks from an earlier call.
struct ScheduleDefaults {
  /// What the options require of each other; `rotary_dim` is even and at most headDim.
  static Status check(const RotaryOptions&, Index /*rotary_dim*/) { return {}; }
  /// Where the encoding is defined, after the general rule for real positions.
  static Status accepts(const RotaryOptions&, const Positions&) { return {}; }
  /// Half layout: channels from a to b of a pair.
  static Index partner(const RotaryOptions&, Index rotary_dim) { return rotary_dim / 2; }
  /// Multiplies the softmax scale in force.
  static double logit_scale(const RotaryOptions&) { return 1; }
  static double query_scale(const RotaryOptions&, double /*position*/) { return 1; }
  /// `declared` is what the spec says; options that let the length in, or pin it, say otherwise.
  static LengthPolicy length_policy(const RotaryOptions&, LengthPolicy declared) {
    return declared;
  }

  /// Multiplies cosine and sine.
  double attention_factor() const { return 1; }
  /// The axis whose coordinate turns a pair.
  Index axis(Index /*pair*/) const { return 0; }
  /// The coordinate that stands for a position on an axis; remaps change it per role and copy.
  double coordinate(const AngleBlock&, Index /*axis*/, double position) const { return position; }
  /// Multiplies the cosine and sine of one pair at one position (xPos).
  double amplitude(const AngleBlock&, Index /*pair*/, double /*position*/) const { return 1; }

  // Distance remaps; see EncodingDefaults.
  static constexpr Index copies = 1, key_copies = 1;
  static void choose(const RotaryOptions&, double, const Positions& keys, std::uint8_t* copy) {
    std::fill_n(copy, keys.count, std::uint8_t{0});
  }
};

/// A function of options, rotary width and length that gives each pair its frequency: all that
/// tells one RoPE scaling from another.
template <class S>
concept FrequencySchedule = std::derived_from<S, ScheduleDefaults> &&
                            std::derived_from<typename S::Options, RotaryOptions> &&
                            requires(const S& s, const typename S::Options& o) {
                              { S(o, Index{}, double{}) };
                              { s.template frequency<double>(Index{}) } -> std::same_as<double>;
                              { s.template frequency<float>(Index{}) } -> std::same_as<float>;
                            };

template <FrequencySchedule S>
class Rotary : public EncodingDefaults {
 public:
  using Options = typename S::Options;
  static constexpr Spec spec = S::spec;
  static constexpr auto fields = S::fields;

  static Result<Rotary> make(Options&& o) {
    if (Status s = check_widths(o); !s) return s;
    const int rotary_dim = o.rotary_dim.value_or(o.head_dim);
    if (Status s = S::check(o, rotary_dim); !s) return s;
    Rotary made(std::move(o), rotary_dim);
    if (made.length_policy() == LengthPolicy::fixed) {
      if (Status s = made.frequencies_.allocate(static_cast<std::size_t>(rotary_dim / 2)); !s)
        return s;
      made.fill_frequencies(S(made.o_, rotary_dim, 0), made.frequencies_.data());
    }
    return made;
  }

  Index head_dim() const { return o_.head_dim; }
  double logit_scale() const { return S::logit_scale(o_); }
  double query_scale(double position) const { return S::query_scale(o_, position); }
  Status accepts(const Positions& positions) const {
    if (Status s = check_real_positions(positions); !s) return s;
    return S::accepts(o_, positions);
  }

  Index copies() const { return S::copies; }
  Index key_copies() const { return S::key_copies; }
  void choose(double query, const Positions& keys, std::uint8_t* copy) const {
    S::choose(o_, query, keys, copy);
  }

  /// The coordinate that angles are made of.
  double place(Role role, Index copy, double position) const
    requires(S::copies > 1)
  {
    return S(o_, rotary_dim_, 1).coordinate({.role = role, .copy = copy}, 0, position);
  }

  Rotation rotation() const {
    return {.layout = o_.layout, .pairs = rotary_dim_ / 2, .partner = S::partner(o_, rotary_dim_)};
  }

  Plan plan(double length, double* frequencies) const {
    const S schedule(o_, rotary_dim_, length);
    const Rotation r = rotation();
    if (frequencies_.empty())
      fill_frequencies(schedule, frequencies);
    else
      std::copy_n(frequencies_.data(), r.pairs, frequencies);
    return {.inverse_frequencies = {frequencies, static_cast<std::size_t>(r.pairs)},
            .attention_factor = schedule.attention_factor(),
            .logit_scale = S::logit_scale(o_),
            .rotation = r,
            .length_policy = length_policy()};
  }

  void angles(const AngleBlock& b) const {
    const S schedule(o_, rotary_dim_, b.length);
    fill_angles(b, plan(b.length, b.scratch), o_.precision, rules_of(schedule));
  }

 private:
  Rotary(Options&& o, Index rotary_dim) : o_(std::move(o)), rotary_dim_(rotary_dim) {}

  LengthPolicy length_policy() const { return S::length_policy(o_, spec.length_policy); }

  void fill_frequencies(const S& schedule, double* frequencies) const {
    for (Index i = 0; i < rotary_dim_ / 2; ++i)
      frequencies[i] = o_.precision == Precision::exact
                           ? schedule.template frequency<double>(i)
                           : static_cast<double>(schedule.template frequency<float>(i));
  }

  /// What the schedule hides of its defaults; the fill need not ask for the rest.
  static AngleRules rules_of(const S& schedule) {
    AngleRules rules{.schedule = &schedule};
    if constexpr (!std::same_as<decltype(&S::axis), decltype(&ScheduleDefaults::axis)>)
      rules.axis = [](const void* s, Index pair) { return static_cast<const S*>(s)->axis(pair); };
    if constexpr (!std::same_as<decltype(&S::coordinate), decltype(&ScheduleDefaults::coordinate)>)
      rules.coordinate = [](const void* s, const AngleBlock& b, Index axis, double position) {
        return static_cast<const S*>(s)->coordinate(b, axis, position);
      };
    if constexpr (!std::same_as<decltype(&S::amplitude), decltype(&ScheduleDefaults::amplitude)>)
      rules.amplitude = [](const void* s, const AngleBlock& b, Index pair, double position) {
        return static_cast<const S*>(s)->amplitude(b, pair, position);
      };
    return rules;
  }

  Options o_;
  Index rotary_dim_;
  Buffer<double> frequencies_;  ///< where no length changes them: powers are slow
};

}  // namespace posenc
