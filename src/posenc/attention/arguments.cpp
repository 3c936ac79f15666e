// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/arguments.hpp"

#include <cmath>
#include <limits>

namespace posenc {
namespace {

Status wrong(Errc code, std::string_view field, std::string_view expected, Index received) {
  return Error{.code = code,
               .field = field,
               .expected = expected,
               .received = static_cast<double>(received)};
}

Status check_geometry(const Encoding& e, const AttentionShape& s) {
  if (e.heads() != 0 && e.heads() != s.heads)
    return wrong(Errc::shape_mismatch, "heads", "the heads of q", e.heads());
  if (e.head_dim() != 0 && e.head_dim() != s.head_dim)
    return wrong(Errc::shape_mismatch, "headDim", "the width of q and k", e.head_dim());
  if (e.value_dim() != 0 && e.value_dim() != s.value_dim)
    return wrong(Errc::shape_mismatch, "valueTable", "as wide as v", e.value_dim());
  return {};
}

/// A row that grows is no longer one that another rotation or a content term could work on.
Status check_growth(std::span<const Encoding* const> encodings) {
  const auto content_term = [](const Encoding& e) {
    return e.traits().sites.score && !e.traits().content_free;
  };
  for (const Encoding* grows : encodings) {
    if (grows->rotation().growth() == 0) continue;
    for (const Encoding* other : encodings)
      if (other != grows && (other->traits().sites.rotate || content_term(*other)))
        return Error{.code = Errc::unsupported,
                     .field = other->traits().id,
                     .expected = "left out beside an encoding that makes rows wider"};
  }
  return {};
}

/// Rows and columns cannot be told from the order of tokens.
Status check_presence(const Encoding& e, const AttentionArguments& a) {
  const Traits& t = e.traits();
  if (t.axes == 1 || t.text_axes || !(t.sites.rotate || t.sites.score || t.sites.value)) return {};
  for (const auto& [rows, field] :
       {std::pair{a.query_positions, "queryPositions"}, {a.key_positions, "keyPositions"}})
    if (rows.data == nullptr)
      return Error{.code = Errc::missing_option,
                   .field = field,
                   .expected = "given, one list for each axis"};
  return {};
}

}  // namespace

Status check(const AttentionArguments& a) {
  const AttentionShape& s = a.shape;
  for (Index extent : {s.batch, s.queries, s.keys, s.head_dim, s.value_dim})
    if (extent < 0) return wrong(Errc::bad_shape, "q", "of extents from 0", extent);
  // Rounding up to whole panels must not overflow where Index has 32 bits.
  constexpr Index largest = std::numeric_limits<Index>::max() - 4096;
  for (Index extent : {s.queries, s.keys, s.head_dim, s.value_dim})
    if (extent > largest) return wrong(Errc::too_large, "q", "of smaller extents", extent);
  for (Index rows : {a.query_positions.rows, a.key_positions.rows})
    if (rows != 1 && rows != s.batch)
      return wrong(Errc::shape_mismatch, "positions", "one set, or one for each sequence", rows);
  if (s.heads < 1) return wrong(Errc::bad_shape, "q", "of at least one head", s.heads);
  if (s.kv_heads < 1) return wrong(Errc::bad_shape, "k", "of at least one head", s.kv_heads);
  if (s.heads % s.kv_heads != 0)
    return wrong(Errc::heads_not_divisible, "q", "of a multiple of k's heads", s.heads);
  if (a.encodings.size() > AttentionArguments::max_encodings)
    return wrong(Errc::unsupported, "encoding", "at most 8 encodings",
                 static_cast<Index>(a.encodings.size()));
  if (Status checked = check_growth(a.encodings); !checked) return checked;
  std::optional<double> wish;
  Index remaps = 0;
  for (const Encoding* e : a.encodings) {
    remaps += e->copies() > 1 ? 1 : 0;
    if (remaps > 1)
      return wrong(Errc::unsupported, "encoding", "at most one that remaps distances", remaps);
    if (e->table_heads() > 1 && s.heads != s.kv_heads)
      return wrong(Errc::unsupported, "k",
                   "of as many heads as q, since each head rotates its own way", s.kv_heads);
    if (Status checked = check_geometry(*e, s); !checked) return checked;
    if (Status checked = check_presence(*e, a); !checked) return checked;
    const auto own = e->score_scale(s.head_dim);
    if (own && wish && *own != *wish && !a.scale)
      return Error{.code = Errc::missing_option,
                   .field = "scale",
                   .expected = "given, since the encodings ask for different ones",
                   .received = *own};
    if (own) wish = own;
  }
  if (a.scale && !std::isfinite(*a.scale))
    return Error{.code = Errc::not_finite,
                 .field = "scale",
                 .expected = "a finite number",
                 .received = *a.scale};
  return {};
}

double effective_scale(const AttentionArguments& a) {
  double factor = 1;
  for (const Encoding* e : a.encodings) factor *= e->logit_scale();
  if (a.scale) return *a.scale * factor;
  for (const Encoding* e : a.encodings)
    if (const auto wish = e->score_scale(a.shape.head_dim)) return *wish * factor;
  return a.shape.head_dim > 0 ? factor / std::sqrt(static_cast<double>(a.shape.head_dim)) : factor;
}

}  // namespace posenc
