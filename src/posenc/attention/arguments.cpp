// SPDX-License-Identifier: Apache-2.0
#include "posenc/attention/arguments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "posenc/core/powers.hpp"

namespace posenc {
namespace {

Status check_geometry(const Encoding& e, const AttentionShape& s) {
  if (e.heads() != 0 && e.heads() != s.heads)
    return wrong_number(Errc::shape_mismatch, "heads", "the heads of q", e.heads());
  if (e.head_dim() != 0 && e.head_dim() != s.head_dim)
    return wrong_number(Errc::shape_mismatch, "headDim", "the width of q and k", e.head_dim());
  if (e.value_dim() != 0 && e.value_dim() != s.value_dim)
    return wrong_number(Errc::shape_mismatch, "valueTable", "as wide as v", e.value_dim());
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
        return fault(Errc::unsupported, other->traits().id,
                     "left out beside an encoding that makes rows wider");
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
      return fault(Errc::missing_option, field, "given, one list for each axis");
  return {};
}

/// Positions have as many axes as the encodings that act, or those axes are a text token's index and
/// the others, of one axis, take the first.
Status check_axes(std::span<const Encoding* const> encodings) {
  int axes = 1;
  bool text = true;
  for (const Encoding* e : encodings) {
    const Traits& t = e->traits();
    if (!(t.sites.rotate || t.sites.score || t.sites.value) || t.axes == 1) continue;
    if (axes != 1 && axes != t.axes)
      return wrong_number(Errc::shape_mismatch, "encoding", "encodings of the same number of axes",
                          t.axes);
    axes = t.axes;
    text = text && t.text_axes;
  }
  if (axes == 1 || text) return {};
  for (const Encoding* e : encodings) {
    const Traits& t = e->traits();
    if (t.axes == 1 && (t.sites.rotate || t.sites.score || t.sites.value))
      return wrong_number(Errc::shape_mismatch, "encoding",
                          "encodings of the same number of axes, where axes are rows and columns",
                          1);
  }
  return {};
}

Status check_rules(const AttentionArguments& a) {
  // Places are added up in 64 bits.
  constexpr std::int64_t most = std::int64_t{1} << 53;
  const auto count = [](const char* field, Index n) -> Status {
    if (n >= 0 && std::int64_t{n} <= most) return {};
    return wrong_number(Errc::out_of_range, field, "a number of keys from 0", n);
  };
  if (std::int64_t{a.first_query()} > most || std::int64_t{a.first_query()} < -most)
    return wrong_number(Errc::out_of_range, "queryOffset", "from -2^53 to 2^53", a.first_query());
  if (Status s = count("window.left", a.window.left.value_or(0)); !s) return s;
  if (Status s = count("window.right", a.window.right.value_or(0)); !s) return s;
  if (Status s = count("window.first", a.window.first); !s) return s;
  if (Status s = count("chunk", a.window.chunk); !s) return s;
  if (Status s = count("prefix", a.prefix); !s) return s;
  if (Status s = count("keyGap", a.key_gap.at); !s) return s;
  if (Status s = count("keyGap", a.key_gap.by); !s) return s;
  if (!(a.softcap >= 0) || !std::isfinite(static_cast<float>(a.softcap)) ||
      (a.softcap > 0 && static_cast<float>(a.softcap) < std::numeric_limits<float>::min()))
    return fault(Errc::out_of_range, "softcap", "a positive float32 number, or 0 for none",
                 a.softcap);
  if (a.sinks != nullptr)
    for (Index h = 0; h < a.shape.heads; ++h)
      if (!(a.sinks[h] < std::numeric_limits<float>::infinity()))
        return fault(Errc::not_finite, "sinks", "finite logits, or -infinity for none", a.sinks[h],
                     static_cast<double>(h));
  return {};
}

Status check_query_scale(const QueryScale& q) {
  if (q.kind == QueryScale::Kind::none) return {};
  const bool log_n = q.kind == QueryScale::Kind::log_n;
  if (!std::isfinite(q.length) || q.length < (log_n ? 2 : 1))
    return fault(Errc::out_of_range, "queryScale.length",
                 log_n ? "a number from 2" : "a number from 1", q.length);
  if (!log_n && !std::isfinite(q.factor))
    return fault(Errc::not_finite, "queryScale.factor", "a finite number", q.factor);
  return {};
}

/// Sequences lie inside the tensors.
Status check_sequences(const AttentionArguments& a) {
  const AttentionShape& s = a.shape;
  const auto inside = [](Index first, Index count, Index all) {
    return first >= 0 && count >= 0 && first <= all && count <= all - first;
  };
  for (const Sequence& one : a.sequences) {
    if (one.batch < 0 || one.batch >= s.batch)
      return wrong_number(Errc::out_of_range, "sequences", "of a batch entry of q", one.batch);
    if (!inside(one.first_query, one.queries, s.queries))
      return wrong_number(Errc::out_of_range, "sequences", "of queries inside q", one.queries);
    if (!inside(one.first_key, one.keys, s.keys))
      return wrong_number(Errc::out_of_range, "sequences", "of keys inside k", one.keys);
    if (one.prefix < 0) return wrong_number(Errc::out_of_range, "prefix", "from 0", one.prefix);
  }
  if (!a.sequences.empty() && a.key_gap.by != 0)
    return wrong_number(Errc::unsupported, "keyGap", "for keys of one sequence", a.key_gap.by);
  return {};
}

}  // namespace

Status check_norm(const HeadNorm& norm, const char* field, Index heads,
                  std::span<const Encoding* const> encodings) {
  if (norm.kind == HeadNorm::Kind::none) return {};
  if (!std::isfinite(norm.epsilon) || norm.epsilon < 0)
    return fault(Errc::out_of_range, field, "with an epsilon from 0", norm.epsilon);
  if (norm.weight != nullptr && norm.weight_heads != 1 && norm.weight_heads != heads)
    return wrong_number(Errc::shape_mismatch, field,
                        "with one weight for all heads or one for each", norm.weight_heads);
  for (const Encoding* e : encodings)
    if (norm.after_rotation && e->rotation().growth() != 0)
      return wrong_number(Errc::unsupported, field,
                          "before the rotation, where that makes rows wider than the weight",
                          e->rotation().growth());
  return {};
}

double QueryScale::at(double position) const {
  switch (kind) {
    case Kind::log_n:
      return std::max(1.0, natural_log(position + 1) / natural_log(length));
    case Kind::llama4:
      return 1 + factor * natural_log(1 + std::max(0.0, std::floor((position + 1) / length)));
    case Kind::ministral:
      return 1 + factor * natural_log(1 + std::max(0.0, std::floor(position / length)));
    default:
      return 1;
  }
}

Status check_together(std::span<const Encoding* const> encodings) {
  if (Status checked = check_growth(encodings); !checked) return checked;
  Index remaps = 0, cumulative = 0;
  for (const Encoding* e : encodings) {
    remaps += e->copies() > 1 ? 1 : 0;
    if (remaps > 1)
      return wrong_number(Errc::unsupported, "encoding", "at most one that remaps distances",
                          remaps);
    cumulative += e->traits().cumulative ? 1 : 0;
    if (cumulative > 1)
      return wrong_number(
          Errc::unsupported, "encoding",
          "at most one that sums over keys, since each would see the other's scores", cumulative);
  }
  return check_axes(encodings);
}

Status check(const AttentionArguments& a) {
  const AttentionShape& s = a.shape;
  if (s.batch < 0) return wrong_number(Errc::bad_shape, "q", "of extents from 0", s.batch);
  // Rounding up to whole panels must not overflow where Index has 32 bits.
  constexpr Index largest = std::numeric_limits<Index>::max() - 4096;
  for (const auto& [extent, tensor] :
       {std::pair{s.queries, "q"}, {s.head_dim, "q"}, {s.keys, "k"}, {s.value_dim, "v"}}) {
    if (extent < 0) return wrong_number(Errc::bad_shape, tensor, "of extents from 0", extent);
    if (extent > largest)
      return wrong_number(Errc::too_large, tensor, "of smaller extents", extent);
  }
  for (Index rows : {a.query_positions.rows, a.key_positions.rows})
    if (rows != 1 && rows != s.batch)
      return wrong_number(Errc::shape_mismatch, "positions", "one set, or one for each sequence",
                          rows);
  if (s.heads < 1) return wrong_number(Errc::bad_shape, "q", "of at least one head", s.heads);
  if (s.kv_heads < 1) return wrong_number(Errc::bad_shape, "k", "of at least one head", s.kv_heads);
  if (s.heads % s.kv_heads != 0)
    return wrong_number(Errc::heads_not_divisible, "q", "of a multiple of k's heads", s.heads);
  if (a.encodings.size() > AttentionArguments::max_encodings)
    return wrong_number(Errc::unsupported, "encoding", "at most 8 encodings",
                        static_cast<Index>(a.encodings.size()));
  for (const Encoding* e : a.encodings)
    if (e->traits().sites == Sites{.embed = true})
      return fault(Errc::unsupported, e->traits().id,
                   "added to the embeddings before: it does nothing in attention");
  if (Status checked = check_together(a.encodings); !checked) return checked;
  std::optional<double> wish;
  for (const Encoding* e : a.encodings) {
    if (e->table_heads() > 1 && s.heads != s.kv_heads)
      return wrong_number(Errc::unsupported, "k",
                          "of as many heads as q, since each head rotates its own way", s.kv_heads);
    if (Status checked = check_geometry(*e, s); !checked) return checked;
    if (Status checked = check_presence(*e, a); !checked) return checked;
    const auto own = e->score_scale(s.head_dim);
    if (own && wish && *own != *wish && !a.scale)
      return fault(Errc::missing_option, "scale",
                   "given, since the encodings ask for different ones", *own);
    if (own) wish = own;
  }
  if (a.scale && !std::isfinite(*a.scale))
    return fault(Errc::not_finite, "scale", "a finite number", *a.scale);
  if (a.keys_rotated && a.k_norm.before())
    return wrong_number(
        Errc::unsupported, "kNorm",
        "left out: keys that are kept rotated were normalised before that, or never", 0);
  for (const auto& checked : {check_rules(a), check_query_scale(a.query_scale), check_sequences(a),
                              check_norm(a.q_norm, "qNorm", s.heads, a.encodings),
                              check_norm(a.k_norm, "kNorm", s.kv_heads, a.encodings)})
    if (!checked) return checked;
  return {};
}

double effective_scale(const AttentionArguments& a) {
  if (a.scale) return *a.scale;
  double factor = 1;
  for (const Encoding* e : a.encodings) factor *= e->logit_scale();
  for (const Encoding* e : a.encodings)
    if (const auto wish = e->score_scale(a.shape.head_dim)) return *wish * factor;
  return a.shape.head_dim > 0 ? factor / std::sqrt(static_cast<double>(a.shape.head_dim)) : factor;
}

}  // namespace posenc
