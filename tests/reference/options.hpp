// SPDX-License-Identifier: Apache-2.0
/// Options that own their data, and encodings made from them.
#pragma once

#include <deque>

#include "posenc/core/encoding.hpp"
#include "posenc/core/option_rules.hpp"
#include "reference/errors.hpp"
#include "reference/numbers.hpp"
#include "support/at_width.hpp"

namespace reference {

/// A bag of options for one line of a test: `Options().number("heads", 8).text("form", "key")`.
class Options {
 public:
  Options& number(std::string_view name, double value) {
    bag_.number(name, value);
    return *this;
  }
  Options& flag(std::string_view name, bool value) {
    bag_.boolean(name, value);
    return *this;
  }
  Options& text(std::string_view name, std::string_view value) {
    bag_.text(name, value);
    return *this;
  }
  Options& list(std::string_view name, Array<double> values) {
    const Array<double>& kept = lists_.emplace_back(std::move(values));
    bag_.list(name, {kept.data(), static_cast<std::size_t>(kept.size())});
    return *this;
  }
  Options& table(std::string_view name, Array<float> values, std::array<Index, 3> shape, int rank) {
    bag_.table(name, tables_.emplace_back(std::move(values)).data(), shape, rank);
    return *this;
  }
  Options& table(std::string_view name, Array<float> values, Index rows, Index cols) {
    return table(name, std::move(values), {rows, cols, 0}, 2);
  }
  const posenc::OptionBag& bag() const { return bag_; }

 private:
  posenc::OptionBag bag_;
  std::deque<Array<double>> lists_;
  std::deque<Array<float>> tables_;
};

/// The encoding class itself, through the decoder, as callers from outside make it.
template <class E>
posenc::Result<E> decoded(const Options& options) {
  typename E::Options o;
  if (posenc::Status s = posenc::decode_options(posenc::option_rules<E>, &o, options.bag()); !s)
    return s.error();
  return E::make(std::move(o));
}

/// An encoding that must come about, of a class that only a test has.
template <class E, class Arch = xsimd::default_arch>
posenc::Encoding made_here(const Options& options = {}) {
  auto decoded_one = decoded<E>(options);
  EXPECT_TRUE(succeeds(decoded_one)) << E::spec.id;
  auto encoding = posenc::Encoding::of<Arch>(std::move(*decoded_one));
  EXPECT_TRUE(succeeds(encoding)) << E::spec.id;
  return std::move(*encoding);
}

/// A registered encoding that must come about.
template <class E, class Arch = xsimd::default_arch>
posenc::Encoding made(const Options& options) {
  auto encoding = make_encoding<Arch>(E::spec.id, options.bag());
  EXPECT_TRUE(succeeds(encoding)) << E::spec.id;
  return std::move(*encoding);
}

inline posenc::Positions positions(const Array<double>& p) {
  return posenc::Positions::of(p.data(), p.size());
}

/// What a content-free encoding adds to the scores of one head, [T, S].
inline Array<float> bias_of(const posenc::Encoding& e, Index head, const posenc::Positions& queries,
                            const posenc::Positions& keys) {
  Array<float> out(queries.count * keys.count);
  Array<float> scratch(e.score_scratch(queries.count, keys.count));
  e.score({.scores = {out.data(), queries.count, keys.count, keys.count},
           .q = {},
           .k = {},
           .q_pos = queries,
           .k_pos = keys,
           .head = head,
           .scratch = scratch.data()});
  return out;
}

/// What an embedding adds at these positions, [n, width].
inline Array<float> embedding_of(const posenc::Encoding& e, const Array<double>& p) {
  const Index width = e.embed_width();
  Array<float> rows(p.size() * width);
  e.embed({.rows = {rows.data(), p.size(), width, width}, .positions = positions(p)});
  return rows;
}

}  // namespace reference
