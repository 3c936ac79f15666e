// SPDX-License-Identifier: Apache-2.0
// Attention over what a cache holds and new tokens, as if all of them lay in one tensor.
#include "posenc/attention/placement.hpp"
#include "posenc/attention/visibility.hpp"
#include "posenc/cache/cache_call.hpp"

namespace posenc {

/// Whoever asks a ring for a window that it no longer holds would get less, and not be told.
Status KVCache::check_view(const AttentionArguments& a) const {
  if (a.shape.queries == 0) return {};
  const std::int64_t first = a.first_query(), last = first + a.shape.queries - 1;
  // Within the cache, tokens of this very piece are gone for those that come after a full ring.
  const bool turned = o_.own_positions && last > std::int64_t{o_.sinks} + o_.window;
  if (a.key_gap.by == 0 && !turned) return {};
  for (const auto& [asked, field] :
       {std::pair{a.window.first, "window.first"}, {a.prefix, "prefix"}})
    if (asked > o_.sinks)
      return outside(Errc::out_of_range, field, "at most the first tokens that the cache keeps",
                     static_cast<double>(asked), 0, static_cast<double>(o_.sinks));
  if (a.key_gap.by == 0) return {};
  const std::int64_t before = first - oldest_held();
  const Index chunk = a.window.chunk;
  std::int64_t needed = a.window.left ? std::int64_t{*a.window.left} : before;
  // There a query sees no further than the ring, whatever its chunk is.
  const bool limited = a.window.left.has_value() || o_.own_positions;
  if (chunk > 0) needed = std::min(limited ? needed : chunk, place_in_chunk(first, chunk));
  if (needed > before)
    return outside(
        Errc::out_of_range, a.window.left && *a.window.left == needed ? "window" : "chunk",
        "within what the ring of the cache still holds before the first query",
        static_cast<double>(needed), 0, static_cast<double>(std::max<std::int64_t>(0, before)));
  return {};
}

/// The cache's own encodings must act, each as often; others may where they need no keys that were not
/// turned when they came.
Status KVCache::check_encodings(std::span<const Encoding* const> asked) const {
  const auto own = encodings();
  bool fit = true;
  for (const Encoding* e : own)
    fit = fit && std::count(asked.begin(), asked.end(), e) == std::count(own.begin(), own.end(), e);
  for (const Encoding* e : asked) {
    if (std::find(own.begin(), own.end(), e) != own.end()) continue;
    const Traits& t = e->traits();
    fit = fit && (t.axes == 1 || t.axes == static_cast<int>(axes_)) &&
          !(rotated_ && (t.sites.rotate || (t.sites.score && !t.content_free)));
  }
  if (fit) return {};
  return fault(Errc::cache_stale, "encoding",
               "those the cache was made with, and no others that need its keys as they came");
}

Status KVCache::attend(AttentionArguments a, NewTokens t) {
  AttentionShape& s = a.shape;
  for (const auto& [has, wants, field] : {std::tuple{s.batch, o_.batch, "q"},
                                          {s.kv_heads, o_.heads, "q"},
                                          {s.head_dim, o_.head_dim, "q"},
                                          {s.value_dim, o_.value_dim, "q"}})
    if (has != wants) return wrong_number(Errc::shape_mismatch, field, "as the cache is", has);
  if (s.queries < 0) return wrong_number(Errc::bad_shape, "q", "of at least no query", s.queries);
  if (t.beside && *t.beside != stored())
    return wrong_number(Errc::shape_mismatch, "cache", "of as many tokens as the call was made for",
                        stored());
  if (o_.encoding_count > 0) {
    if (a.encodings.empty()) a.encodings = encodings();
    if (Status fit = check_encodings(a.encodings); !fit) return fit;
  }
  if (!a.sequences.empty())
    return fault(Errc::unsupported, "keyLengths",
                 "left out: the sequences of a cache are of one length, padded at the left");
  // Keys are stored normalised, unless that comes after a rotation that is still to come.
  t.k_norm = a.k_norm;
  if (rotated_ || a.k_norm.before()) a.k_norm = {};
  if (Status room = check_room(t.count); !room) return room;
  if (Status fit = check_new(t, length_); !fit) return fit;

  const Index oldest = oldest_held(), gap = oldest - kept();
  s.keys = stored() + t.count;
  a.key_gap = gap > 0 ? KeyGap{kept(), gap} : KeyGap{};
  if (!a.query_offset) a.query_offset = length_ + t.count - s.queries;
  if (Status own = check_turns(a); !own) return own;
  if (Status view = check_view(a); !view) return view;
  a.window.first = std::max(a.window.first, o_.sinks);
  // Some encodings are refused without positions.
  Call call;
  call.count = t.count;
  if (Status placed = o_.own_positions ? take_turns(a, call) : place_in_text(a, t, call); !placed)
    return placed;
  if (Status checked = check(a); !checked) return checked;
  // The cache was made without knowing of encodings beside its own.
  if (a.encodings.size() != encodings().size())
    if (Status later = check_later_steps(a.encodings); !later) return later;
  if (Status made = make_scratch(t.count, call.scratch); !made) return made;
  if (Status fit = check_storable(t, call.scratch, "append.k", "append.v"); !fit) return fit;
  call.in_place = !is_ring() || length_ + t.count - std::max(oldest, o_.sinks) <= ring();
  call.from = call.in_place ? 0 : std::max<Index>(0, t.count - o_.window);
  if (Status owned = own_slots(length_ + call.from, length_ + t.count); !owned) return owned;
  const Index first_kept = std::clamp<Index>(o_.sinks - length_, 0, call.from);
  if (Status owned = own_slots(length_, length_ + first_kept); !owned) return owned;
  if (!call.in_place) {
    const Index pages = (t.count + layout_.rows - 1) / layout_.rows;
    if (Status s = call.fresh.allocate(pages, layout_.bytes()); !s) return s;
  }
  if (Status s = call.table.allocate(static_cast<std::size_t>(pages_.count() + call.fresh.count()));
      !s)
    return s;
  std::copy_n(pages_.data(), pages_.count(), call.table.data());
  std::copy_n(call.fresh.data(), call.fresh.count(), call.table.data() + pages_.count());
  set_rows(call, a);
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

/// Keys and values as the stretches of slots they lie in: the first tokens, and behind the gap the rest.
void KVCache::set_rows(const Call& call, AttentionArguments& a) const {
  PagedRows rows{.pages = call.table.data(),
                 .data = layout_.keys(),
                 .scales = layout_.key_scales(),
                 .page_rows = layout_.rows,
                 .heads = o_.heads,
                 .dtype = o_.dtype};
  Index parts = 0;
  const auto tokens = [&](Index first, Index last) {
    for (Index token = first; token < last;) {
      const bool fresh = !call.in_place && token >= length_;
      const Index at = fresh ? pages_.count() * layout_.rows + token - length_ : slot(token);
      Index upto = fresh || !is_ring() ? last
                   : token < o_.sinks  ? std::min(last, o_.sinks)
                                       : std::min(last, token + slots_ - at);
      if (!fresh && !call.in_place) upto = std::min(upto, length_);
      rows.stretches[static_cast<std::size_t>(parts++)] = {at, upto - token};
      token = upto;
    }
  };
  const Index gap = a.key_gap.by, first = gap > 0 ? a.key_gap.at : a.shape.keys;
  tokens(0, first);
  tokens(first + gap, a.shape.keys + gap);
  a.paged_k = rows;
  rows.data = layout_.values();
  rows.scales = layout_.value_scales();
  a.paged_v = rows;
}

/// Tokens stand where they are in the text, or where they were said to.
Status KVCache::place_in_text(AttentionArguments& a, const NewTokens& t, Call& call) const {
  const AttentionShape& s = a.shape;
  bool counted = (length_ == 0 || counted_) && t.positions.data == nullptr;
  for (const Encoding* e : a.encodings)
    counted = counted && (!acts_in_attention(*e) || e->traits().axes == 1 || e->traits().text_axes);
  if (counted) return {};
  if (a.query_positions.data != nullptr && a.axes != static_cast<int>(axes_))
    return wrong_number(Errc::shape_mismatch, "queryPositions",
                        "of as many axes as those of the cache", a.axes);
  const bool alike = (length_ == 0 || shared_) && t.positions.rows == 1;
  const Index sets = alike ? 1 : o_.batch, gap = a.key_gap.by, old = s.keys - t.count;
  if (Status done = call.keys.allocate(static_cast<std::size_t>(sets * axes_ * s.keys)); !done)
    return done;
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
      return fault(Errc::missing_option, "queryPositions",
                   "given for queries that stand at no token of the cache");
    const auto first = static_cast<Index>(place);
    if (Status done = call.queries.allocate(static_cast<std::size_t>(sets * axes_ * s.queries));
        !done)
      return done;
    for (Index row = 0; row < sets * axes_; ++row)
      std::copy_n(call.keys.data() + row * s.keys + first, s.queries,
                  call.queries.data() + row * s.queries);
    a.query_positions = {.data = call.queries.data(), .rows = sets};
  }
  a.axes = static_cast<int>(axes_);
  return {};
}

}  // namespace posenc
