// SPDX-License-Identifier: Apache-2.0
// Attention over what a cache holds and new tokens, as if all of them lay in one tensor.
#include "posenc/attention/placement.hpp"
#include "posenc/cache/kv_cache.hpp"

namespace posenc {
namespace {

Error wrong(Errc code, std::string_view field, std::string_view expected, Index received) {
  return {.code = code,
          .field = field,
          .expected = expected,
          .received = static_cast<double>(received)};
}

}  // namespace

/// The memory of one call.
struct KVCache::Call {
  Scratch scratch;
  Pages fresh;                     ///< new tokens that have no room yet
  Buffer<const std::byte*> table;  ///< pages of the cache, then the fresh ones
  Buffer<double> queries, keys;    ///< their positions
  Index from = 0;                  ///< the first new token that the cache will keep
  bool in_place = true;
};

/// Whoever asks a ring for a window that it no longer holds would get less, and not be told.
Status KVCache::check_view(const AttentionArguments& a) const {
  if (a.key_gap.by == 0 || a.shape.queries == 0) return {};
  if (a.window.first > kept())
    return Error{.code = Errc::out_of_range,
                 .field = "window.first",
                 .expected = "at most the first tokens that the cache keeps",
                 .received = static_cast<double>(a.window.first),
                 .low = 0,
                 .high = static_cast<double>(kept())};
  if (a.prefix > kept())
    return Error{.code = Errc::out_of_range,
                 .field = "prefix",
                 .expected = "at most the first tokens that the cache keeps",
                 .received = static_cast<double>(a.prefix),
                 .low = 0,
                 .high = static_cast<double>(kept())};
  const std::int64_t before = std::int64_t{a.first_query()} - oldest_held();
  if (a.window.left && *a.window.left > before)
    return Error{.code = Errc::out_of_range,
                 .field = "window",
                 .expected = "within what the ring of the cache still holds before the first query",
                 .received = static_cast<double>(*a.window.left),
                 .low = 0,
                 .high = static_cast<double>(std::max<std::int64_t>(0, before))};
  return {};
}

Status KVCache::attend(AttentionArguments a, NewTokens t) {
  AttentionShape& s = a.shape;
  for (const auto& [has, wants, field] : {std::tuple{s.batch, o_.batch, "q"},
                                          {s.kv_heads, o_.heads, "q"},
                                          {s.head_dim, o_.head_dim, "q"},
                                          {s.value_dim, o_.value_dim, "q"}})
    if (has != wants) return wrong(Errc::shape_mismatch, field, "as the cache is", has);
  if (s.queries < 0) return wrong(Errc::bad_shape, "q", "of at least no query", s.queries);
  if (t.beside && *t.beside != stored())
    return wrong(Errc::shape_mismatch, "cache", "of as many tokens as the call was made for",
                 stored());
  if (o_.encoding_count > 0) {
    const auto own = encodings();
    if (!a.encodings.empty() &&
        !std::equal(own.begin(), own.end(), a.encodings.begin(), a.encodings.end()))
      return Error{.code = Errc::cache_stale,
                   .field = "encoding",
                   .expected = "the one that the cache was made with, or left out"};
    a.encodings = own;
  }
  if (!a.sequences.empty())
    return Error{.code = Errc::unsupported,
                 .field = "keyLengths",
                 .expected = "left out with a cache, whose sequences are of one length"};
  // Keys are stored normalised, unless that comes after a rotation that is still to come.
  t.k_norm = a.k_norm;
  if (rotated_ || a.k_norm.before()) a.k_norm = {};
  if (Status room = check_room(t.count); !room) return room;
  if (Status fit = check_new(t, length_); !fit) return fit;

  const Index oldest = oldest_held(), gap = oldest - kept();
  s.keys = stored() + t.count;
  a.key_gap = gap > 0 ? KeyGap{kept(), gap} : KeyGap{};
  if (!a.query_offset) a.query_offset = length_ + t.count - s.queries;
  if (Status view = check_view(a); !view) return view;
  a.window.first = std::max(a.window.first, o_.sinks);
  // Some encodings are refused without positions.
  Call call;
  if (Status placed = o_.own_positions ? place_in_cache(a, call) : place_in_text(a, t, call);
      !placed)
    return placed;
  if (Status checked = check(a); !checked) return checked;
  if (Status made = make_scratch(call.scratch); !made) return made;
  call.in_place = !is_ring() || length_ + t.count - std::max(oldest, o_.sinks) <= ring();
  call.from = call.in_place ? 0 : std::max<Index>(0, t.count - o_.window);
  if (Status owned = own_slots(length_ + call.from, length_ + t.count); !owned) return owned;
  const Index first_kept = std::clamp<Index>(o_.sinks - length_, 0, call.from);
  if (Status owned = own_slots(length_, length_ + first_kept); !owned) return owned;
  if (!call.in_place) {
    auto fresh = Pages::make((t.count + layout_.rows - 1) / layout_.rows, layout_.bytes());
    if (!fresh) return fresh.error();
    call.fresh = std::move(*fresh);
  }
  auto table =
      Buffer<const std::byte*>::make(static_cast<std::size_t>(pages_.count() + call.fresh.count()));
  if (!table) return table.error();
  call.table = std::move(*table);
  std::copy_n(pages_.data(), pages_.count(), call.table.data());
  std::copy_n(call.fresh.data(), call.fresh.count(), call.table.data() + pages_.count());
  PagedRows rows = rows_held(call, gap, t.count);
  a.paged_k = rows;
  rows.data = layout_.values();
  rows.scales = layout_.value_scales();
  a.paged_v = rows;
  a.keys_rotated = rotated_;

  // A ring may hold tokens there that could still be taken back: not before attention has all it needs.
  const auto put = [&] {
    write(t, 0, t.count, call.in_place ? Destination{} : Destination{&call.fresh, 0}, call.scratch);
  };
  a.ready = {[](void* on) { (*static_cast<decltype(put)*>(on))(); },
             const_cast<void*>(static_cast<const void*>(&put))};
  if (Status done = attention(a); !done) return done;
  if (!call.in_place) {
    write(t, 0, first_kept, {}, call.scratch);
    write(t, call.from, t.count, {}, call.scratch);
  }
  commit(t, call.from);
  return {};
}

/// What is held, then `count` new tokens, as the stretches of slots they lie in.
PagedRows KVCache::rows_held(const Call& call, Index gap, Index count) const {
  PagedRows rows{.pages = call.table.data(),
                 .data = layout_.keys(),
                 .scales = layout_.key_scales(),
                 .page_rows = layout_.rows,
                 .heads = o_.heads,
                 .dtype = o_.dtype};
  Index parts = 0;
  const auto stretch = [&](Index slot, Index n) {
    if (n > 0) rows.stretches[static_cast<std::size_t>(parts++)] = {slot, n};
  };
  const Index end = call.in_place ? length_ + count : length_;
  const auto tokens = [&](Index first, Index last) {
    for (Index token = first; token < last;) {
      const Index at = slot(token);
      const Index upto = !is_ring()         ? last
                         : token < o_.sinks ? std::min(last, o_.sinks)
                                            : std::min(last, token + slots_ - at);
      stretch(at, upto - token);
      token = upto;
    }
  };
  if (gap > 0) {
    tokens(0, kept());
    tokens(oldest_held(), end);
  } else {
    tokens(0, end);
  }
  if (!call.in_place) stretch(pages_.count() * layout_.rows, count);
  return rows;
}

/// Tokens stand where they are in the text, or where they were said to.
Status KVCache::place_in_text(AttentionArguments& a, const NewTokens& t, Call& call) const {
  const AttentionShape& s = a.shape;
  bool counted = (length_ == 0 || counted_) && t.positions.data == nullptr;
  for (const Encoding* e : a.encodings)
    counted = counted && (!acts_in_attention(*e) || e->traits().axes == 1 || e->traits().text_axes);
  if (counted) return {};
  if (a.query_positions.data != nullptr && a.axes != static_cast<int>(axes_))
    return wrong(Errc::shape_mismatch, "queryPositions", "of as many axes as those of the cache",
                 a.axes);
  const bool alike = (length_ == 0 || shared_) && t.positions.rows == 1;
  const Index sets = alike ? 1 : o_.batch, gap = a.key_gap.by, old = s.keys - t.count;
  auto keys = Buffer<double>::make(static_cast<std::size_t>(sets * axes_ * s.keys));
  if (!keys) return keys.error();
  call.keys = std::move(*keys);
  double* out = call.keys.data();
  for (Index b = 0; b < sets; ++b)
    for (Index axis = 0; axis < axes_; ++axis) {
      for (Index j = 0; j < old; ++j) *out++ = position(b, axis, j < kept() ? j : j + gap);
      for (Index i = 0; i < t.count; ++i)
        *out++ =
            t.positions.data == nullptr
                ? static_cast<double>(length_ + i)
                : t.positions.data[((t.positions.rows > 1 ? b * axes_ : 0) + axis) * t.count + i];
    }
  a.key_positions = {.data = call.keys.data(), .rows = sets};
  if (a.query_positions.data == nullptr) {
    // A query stands where the token in its place does.
    const std::int64_t place = std::int64_t{a.first_query()} - gap;
    if (place < kept() * (gap > 0) || place > std::int64_t{s.keys} - s.queries)
      return Error{.code = Errc::missing_option,
                   .field = "queryPositions",
                   .expected = "given for queries that stand at no token of the cache"};
    const auto first = static_cast<Index>(place);
    auto queries = Buffer<double>::make(static_cast<std::size_t>(sets * axes_ * s.queries));
    if (!queries) return queries.error();
    call.queries = std::move(*queries);
    for (Index row = 0; row < sets * axes_; ++row)
      std::copy_n(call.keys.data() + row * s.keys + first, s.queries,
                  call.queries.data() + row * s.queries);
    a.query_positions = {.data = call.queries.data(), .rows = sets};
  }
  a.axes = static_cast<int>(axes_);
  return {};
}

/// Tokens stand where they are in what is held and what is new, counted from 0.
Status KVCache::place_in_cache(AttentionArguments& a, Call& call) const {
  if (a.query_positions.data != nullptr)
    return Error{.code = Errc::option_not_applicable,
                 .field = "queryPositions",
                 .expected = "left out, since tokens stand where they are in the cache"};
  const AttentionShape& s = a.shape;
  for (const auto& [buffer, count, first] :
       {std::tuple{&call.keys, s.keys, std::int64_t{0}},
        {&call.queries, s.queries, std::int64_t{a.first_query()} - a.key_gap.by}}) {
    auto made = Buffer<double>::make(static_cast<std::size_t>(count));
    if (!made) return made.error();
    *buffer = std::move(*made);
    for (Index i = 0; i < count; ++i) buffer->data()[i] = static_cast<double>(first + i);
  }
  a.axes = 1;
  a.key_positions = {.data = call.keys.data()};
  a.query_positions = {.data = call.queries.data()};
  return {};
}

}  // namespace posenc
