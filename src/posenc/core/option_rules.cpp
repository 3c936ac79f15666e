// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/option_rules.hpp"

namespace posenc {
namespace {

/// A byte, with 255 for -1.
int signed_byte(const std::uint8_t*& at) { return (*at++ + 1) % 256 - 1; }

double packed_number(const std::uint8_t*& at) {
  std::uint64_t bits = 0;
  const int count = *at++;
  for (int i = 0; i < count; ++i) bits |= std::uint64_t{*at++} << (56 - 8 * i);
  return std::bit_cast<double>(bits);
}

}  // namespace

std::string_view packed_text(const std::uint8_t*& at) {
  const std::size_t length = *at++;
  const std::string_view text(reinterpret_cast<const char*>(at), length);
  at += length;
  return text;
}

bool RuleReader::next(OptionRule& rule) {
  if (at_ == end_) return false;
  const int flags = *at_++;
  rule.kind = static_cast<OptionKind>(flags & 7);
  rule.above_min = (flags & 8) != 0;
  rule.is_required = (flags & 16) != 0;
  rule.may_hide = (flags & 32) != 0;
  rule.storage = static_cast<Storage>(*at_++);
  rule.offset = *at_++;
  rule.offset += 128 * *at_++;
  rule.name = packed_text(at_);
  rule.multiple = signed_byte(at_);
  rule.default_from = signed_byte(at_);
  rule.min = packed_number(at_);
  rule.max = packed_number(at_);
  rule.choice_count = *at_++;
  rule.choices = at_;
  for (int i = 0; i < rule.choice_count; ++i) packed_text(at_);
  rule.rank = *at_++;
  for (std::size_t a = 0; a < static_cast<std::size_t>(rule.rank); ++a) {
    Extent& e = rule.shape[a];
    for (int* part : {&e.option, &e.times, &e.over, &e.plus, &e.free}) *part = signed_byte(at_);
  }
  return true;
}

}  // namespace posenc
