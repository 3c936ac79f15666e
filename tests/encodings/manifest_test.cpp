// SPDX-License-Identifier: Apache-2.0
#include "posenc/encodings/manifest.hpp"

#include <gtest/gtest.h>

#include <cctype>

namespace posenc {
namespace {

/// Whether a text is one JSON value; a recursive descent that keeps nothing.
class Json {
 public:
  static bool valid(std::string_view text) {
    Json parser(text);
    return parser.value() && parser.rest_.empty();
  }

 private:
  explicit Json(std::string_view text) : rest_(text) {}

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool value() {
    if (rest_.starts_with('{'))
      return sequence('{', '}', [&] { return string() && take(":") && value(); });
    if (rest_.starts_with('[')) return sequence('[', ']', [&] { return value(); });
    if (rest_.starts_with('"')) return string();
    return take("true") || take("false") || number();
  }
  template <class F>
  bool sequence(char open, char close, F&& item) {
    take({&open, 1});
    if (take({&close, 1})) return true;
    do {
      if (!item()) return false;
    } while (take(","));
    return take({&close, 1});
  }
  bool string() {
    if (!take("\"")) return false;
    while (!rest_.empty() && rest_[0] != '"') {
      if (static_cast<unsigned char>(rest_[0]) < 0x20) return false;
      rest_.remove_prefix(rest_[0] == '\\' ? 2 : 1);
    }
    return take("\"");
  }
  bool number() {
    std::size_t n = 0;
    while (n < rest_.size() && (std::isdigit(static_cast<unsigned char>(rest_[n])) != 0 ||
                                std::string_view("+-.eE").find(rest_[n]) != std::string_view::npos))
      ++n;
    rest_.remove_prefix(n);
    return n > 0;
  }

  std::string_view rest_;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(Manifest, IsJson) {
  ASSERT_TRUE(Json::valid(R"({"a":[1,-2.5e3,"x\"y",true,{}],"b":[]})"));
  ASSERT_FALSE(Json::valid(R"({"a":})"));
  ASSERT_FALSE(Json::valid("[nan]"));
  EXPECT_TRUE(Json::valid(manifest()));
}

TEST(Manifest, ListsEveryErrorInTheOrderOfTheTable) {
  const std::string text = manifest();
  std::size_t at = 0;
  for (const ErrcInfo& e : errc_table) {
    const std::string entry =
        R"({"code":")" + std::string(e.name) + R"(","kind":")" + std::string(e.kind) + R"("})";
    at = text.find(entry, at);
    ASSERT_NE(at, std::string::npos) << entry;
  }
}

TEST(Manifest, ListsEveryEncodingWithItsOptions) {
  const std::string text = manifest();
  any_encoding(Encodings{}, [&]<class E>() {
    const auto at = text.find(R"({"id":")" + std::string(E::spec.id) + '"');
    EXPECT_NE(at, std::string::npos) << E::spec.id;
    const std::string_view own =
        std::string_view(text).substr(at, text.find(R"({"id":)", at + 1) - at);
    for (const Field& f : E::fields)
      EXPECT_TRUE(contains(own, R"({"name":")" + std::string(f.name) + '"')) << f.name;
    for (std::string_view key :
         {"title", "summary", "formula", "paper", "url", "usedBy", "sites", "axes", "positions",
          "relative", "contentFree", "lengthPolicy", "fields", "tables", "gradients"})
      EXPECT_TRUE(contains(own, '"' + std::string(key) + "\":")) << E::spec.id << ' ' << key;
    return false;
  });
}

TEST(Manifest, EscapesWhatJsonCannotHold) {
  EXPECT_EQ(manifest_detail::quoted(R"(a "b" \ c)"), R"("a \"b\" \\ c")");
}

TEST(Manifest, SplitsListsOfWords) {
  EXPECT_EQ(manifest_detail::words(""), "[]");
  EXPECT_EQ(manifest_detail::words("one"), R"(["one"])");
  EXPECT_EQ(manifest_detail::words("one, two and three, four"),
            R"(["one","two and three","four"])");
}

TEST(Manifest, PrintsNumbersThatReadBackExactly) {
  for (double value : {0.1, 1e15, 10000.0, -1e9, 0.02, 1.0 / 3}) {
    EXPECT_EQ(std::stod(manifest_detail::numeral(value)), value);
  }
}

}  // namespace
}  // namespace posenc
