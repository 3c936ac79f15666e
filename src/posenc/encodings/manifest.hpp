// SPDX-License-Identifier: Apache-2.0
/// The registry as JSON: what types, documentation, demo controls and generic tests derive from.
/// Read by the native tool and by tests; never linked into the WebAssembly module.
#pragma once

#include <charconv>
#include <cmath>
#include <string>

#include "posenc/encodings/registry.hpp"

namespace posenc {

namespace manifest_detail {

inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

inline std::string numeral(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

/// `"key":value` pairs, comma-separated; an empty value leaves the key out.
class Object {
 public:
  Object& raw(std::string_view key, std::string_view value) {
    if (value.empty()) return *this;
    if (!body_.empty()) body_ += ',';
    body_ += quoted(key) + ':' + std::string(value);
    return *this;
  }
  Object& text(std::string_view key, std::string_view value) { return raw(key, quoted(value)); }
  Object& number(std::string_view key, double value) { return raw(key, numeral(value)); }
  Object& flag(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  std::string str() const { return '{' + body_ + '}'; }

 private:
  std::string body_;
};

template <class Range, class F>
std::string array_of(const Range& range, F&& to_json) {
  std::string out = "[";
  for (const auto& item : range) {
    if (out.size() > 1) out += ',';
    out += to_json(item);
  }
  return out + ']';
}

inline std::string words(std::string_view list) {
  std::string out = "[";
  while (!list.empty()) {
    const auto comma = list.find(", ");
    if (out.size() > 1) out += ',';
    out += quoted(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 2);
  }
  return out + ']';
}

inline std::string extent(const Dim& d) {
  if (d.option.empty() && d.free.empty()) return numeral(d.plus);
  if (d.option.empty()) return Object{}.text("free", d.free).number("example", d.example).str();
  Object o;
  o.text("option", d.option).number("times", d.times).number("plus", d.plus);
  if (d.over != 1) o.number("over", d.over);
  return o.str();
}

inline std::string_view type_name(OptionKind kind) {
  constexpr std::array<std::string_view, 7> names{"integer", "number", "boolean", "choice",
                                                  "names",   "list",   "table"};
  return names[static_cast<std::size_t>(kind)];
}

/// A value of the field as JSON: numbers as they are, booleans and choices by name.
inline std::string value(const Field& f, double v) {
  if (f.kind == OptionKind::names) {
    std::string list;
    for (std::size_t i = 0; i < f.choices.size(); ++i)
      if ((static_cast<unsigned>(v) >> i & 1u) != 0)
        list += (list.empty() ? "" : ", ") + std::string(f.choices[i]);
    return words(list);
  }
  if (f.kind == OptionKind::boolean) return v != 0 ? "true" : "false";
  if (f.kind == OptionKind::choice) return quoted(f.choices[static_cast<std::size_t>(v)]);
  return numeral(v);
}

inline std::string field(const Field& f, const void* defaults) {
  Object o;
  o.text("name", f.name)
      .text("doc", f.doc)
      .text("type", type_name(f.kind))
      .flag("required", f.is_required);
  const double initial = f.read(defaults);
  if (!f.is_required && !std::isnan(initial)) o.raw("default", value(f, initial));
  if (!f.default_from.empty()) o.text("defaultFrom", f.default_from);
  if (!f.example_list.empty())
    o.raw("example", array_of(f.example_list, numeral));
  else if (f.is_required)
    o.raw("example", value(f, f.example_value));
  if (std::isfinite(f.min)) o.number("min", f.min);
  if (std::isfinite(f.max)) o.number("max", f.max);
  if (f.above_min) o.flag("exclusiveMin", true);
  if (f.multiple > 1) o.number("multipleOf", f.multiple);
  if (f.is_logarithmic) o.flag("logarithmic", true);
  if (!f.choices.empty()) o.raw("choices", array_of(f.choices, quoted));
  if (f.kind == OptionKind::list) o.raw("length", extent(f.shape[0]));
  if (f.policy) o.text("lengthPolicy", length_policy_names[static_cast<std::size_t>(*f.policy)]);
  return o.str();
}

inline std::string table(const Field& f) {
  const std::span<const Dim> shape(f.shape.data(), static_cast<std::size_t>(f.rank));
  Object o;
  o.text("name", f.name)
      .text("doc", f.doc)
      .flag("required", f.is_required)
      .raw("shape", array_of(shape, extent))
      .number("deviation", f.deviation);
  if (f.is_usual) o.flag("usual", true);
  return o.str();
}

inline std::string sites(const Sites& s) {
  std::string list;
  for (const auto& [name, acts] : {std::pair<std::string_view, bool>{"embed", s.embed},
                                   {"rotate", s.rotate},
                                   {"score", s.score},
                                   {"value", s.value}})
    if (acts) list += (list.empty() ? "" : ", ") + std::string(name);
  return words(list);
}

template <class E>
std::string encoding() {
  constexpr const Spec& spec = E::spec;
  constexpr std::array<std::string_view, 3> position_kinds{"real", "integer", "index"};
  const typename E::Options defaults{};
  std::string fields = "[", tables = "[";
  for (const Field& f : E::fields) {
    std::string& list = f.kind == OptionKind::table ? tables : fields;
    if (list.size() > 1) list += ',';
    list += f.kind == OptionKind::table ? table(f) : field(f, &defaults);
  }
  return Object{}
      .text("id", spec.id)
      .text("title", spec.title)
      .text("summary", spec.summary)
      .text("formula", spec.formula)
      .text("paper", spec.paper)
      .text("url", spec.url)
      .raw("usedBy", words(spec.used_by))
      .raw("sites", sites(spec.sites))
      .number("axes", spec.axes)
      .text("positions", position_kinds[static_cast<std::size_t>(spec.positions)])
      .flag("textAxes", spec.text_axes)
      .flag("relative", spec.relative)
      .flag("contentFree", spec.content_free)
      .flag("remapsDistance", Remaps<E>)
      .text("lengthPolicy", length_policy_names[static_cast<std::size_t>(spec.length_policy)])
      .raw("fields", fields + ']')
      .raw("tables", tables + ']')
      .raw("gradients", array_of(E::gradients, quoted))
      .str();
}

}  // namespace manifest_detail

inline std::string manifest() {
  using namespace manifest_detail;
  std::string encodings = "[";
  any_encoding(Encodings{}, [&]<class E>() {
    if (encodings.size() > 1) encodings += ',';
    encodings += encoding<E>();
    return false;
  });
  const std::string errors = array_of(errc_table, [](const ErrcInfo& e) {
    return Object{}.text("code", e.name).text("kind", e.kind).str();
  });
  return Object{}.raw("errors", errors).raw("encodings", encodings + ']').str();
}

}  // namespace posenc
