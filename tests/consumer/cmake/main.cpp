// SPDX-License-Identifier: Apache-2.0
// Uses the installed library as its documentation says: an encoding by name, a bias of known value,
// an error that names its field.
#include <cmath>
#include <cstdio>

#include "posenc/encodings/make_encoding.hpp"

namespace {

int failures = 0;

void expect(bool holds, const char* sentence) {
  std::printf("%s  %s\n", holds ? "ok    " : "FAILED", sentence);
  if (!holds) ++failures;
}

void an_encoding_by_name_gives_its_bias() {
  posenc::OptionBag options;
  options.number("heads", 8);
  const auto alibi = posenc::make_encoding("alibi", options);
  expect(static_cast<bool>(alibi), "alibi with eight heads can be made");
  if (!alibi) return;

  const double positions[] = {0, 1, 2};
  float scores[9] = {};
  alibi->score({.scores = {scores, 3, 3, 3},
                .q_pos = posenc::Positions::of(positions, 3),
                .k_pos = posenc::Positions::of(positions, 3)});
  // The first of eight heads has slope 1/2.
  expect(scores[8] == 0.0f && scores[7] == -0.5f && scores[6] == -1.0f,
         "its bias is the slope times the distance");
}

void a_misspelt_option_is_named() {
  posenc::OptionBag options;
  options.number("haeds", 8);
  const auto alibi = posenc::make_encoding("alibi", options);
  expect(!alibi && std::string_view(alibi.error().field) == "haeds", "a misspelt option is named");
}

}  // namespace

int main() {
  an_encoding_by_name_gives_its_bias();
  a_misspelt_option_is_named();
  return failures == 0 ? 0 : 1;
}
