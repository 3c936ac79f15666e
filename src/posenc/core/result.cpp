// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/result.hpp"

namespace posenc {

Status Status::at(const char* field, std::ptrdiff_t first) const {
  Status moved = *this;
  if (failed_) {
    moved.error_.field = field;
    if (error_.index >= 0) moved.error_.index += static_cast<double>(first);
  }
  return moved;
}

Status fault(Errc code, const char* field, const char* expected) {
  return fault(code, std::string_view(field), expected);
}
Status fault(Errc code, std::string_view field, const char* expected) {
  return Error{.code = code, .field = field, .expected = expected};
}
Status fault(Errc code, const char* field, const char* expected, double received) {
  return fault(code, field, expected, received, -1);
}
Status fault(Errc code, const char* field, const char* expected, double received, double index) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  return outside(code, field, expected, received, none, none, index);
}
Status wrong_number(Errc code, const char* field, const char* expected, std::ptrdiff_t received) {
  return fault(code, field, expected, static_cast<double>(received));
}
Status outside(Errc code, const char* field, const char* expected, double received, double low,
               double high) {
  return outside(code, field, expected, received, low, high, -1);
}
Status outside(Errc code, const char* field, const char* expected, double received, double low,
               double high, double index) {
  return Error{.code = code,
               .field = field,
               .expected = expected,
               .received = received,
               .index = index,
               .low = low,
               .high = high};
}

}  // namespace posenc
