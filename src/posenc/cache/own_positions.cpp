// SPDX-License-Identifier: Apache-2.0
// Tokens that stand where they lie in the cache (StreamingLLM): the first ones kept, the last `window`
// before a token and the token itself, counted from 0. A piece is taken as if its tokens came one by
// one, so each query beyond a full ring has a view of its own: what it sees was dropped down to its
// window, and the first tokens are as near as the cache is long.
#include "posenc/attention/part.hpp"
#include "posenc/cache/cache_call.hpp"

namespace posenc {

/// What is refused of every piece, and so before what depends on which piece it is.
Status KVCache::check_turns(const AttentionArguments& a) const {
  if (!o_.own_positions) return {};
  if (a.query_positions.data != nullptr)
    return fault(Errc::option_not_applicable, "queryPositions",
                 "left out, since tokens stand where they are in the cache");
  if (a.window.left && *a.window.left > o_.window)
    return outside(Errc::out_of_range, "window", "at most the ring's, by which tokens are placed",
                   static_cast<double>(*a.window.left), 0, static_cast<double>(o_.window));
  return {};
}

Status KVCache::take_turns(AttentionArguments& a, Call& call) const {
  if (!a.window.left) a.window.left = o_.window;
  for (const auto& [buffer, count] :
       {std::pair{&call.keys, a.shape.keys}, {&call.queries, a.shape.queries}}) {
    if (Status s = buffer->allocate(static_cast<std::size_t>(count)); !s) return s;
  }
  const std::int64_t full = std::int64_t{o_.sinks} + o_.window + a.key_gap.by,
                     first = a.first_query();
  for (Index t = 0; t < a.shape.queries; ++t)
    call.queries.data()[t] = static_cast<double>(std::min(first + t, full) - a.key_gap.by);
  call.settled = static_cast<Index>(std::clamp<std::int64_t>(full - first + 1, 0, a.shape.queries));
  call.cache = this;
  call.whole = &a;
  a.axes = 1;
  a.key_positions = {.data = call.keys.data()};
  a.query_positions = {.data = call.queries.data()};
  a.parts = {.count = a.shape.queries - call.settled + (call.settled > 0 ? 1 : 0),
             .narrow =
                 [](void* on, Index i, AttentionArguments& part) {
                   Call& its = *static_cast<Call*>(on);
                   its.cache->take_turn(its, i, part);
                 },
             .on = &call};
  return {};
}

/// The queries that nothing was dropped for, or one after them.
void KVCache::take_turn(Call& call, Index i, AttentionArguments& part) const {
  const AttentionArguments& a = *call.whole;
  const bool settled = i == 0 && call.settled > 0;
  const Index first = settled ? 0 : call.settled + i - (call.settled > 0 ? 1 : 0),
              count = settled ? call.settled : 1;
  const std::int64_t place = std::int64_t{a.first_query()} + first;
  // Dropped since the call began, of all that are not kept for ever.
  const Index loose = std::max<Index>(0, a.shape.keys - o_.sinks);
  const Index gone = settled ? 0
                             : static_cast<Index>(std::clamp<std::int64_t>(
                                   place - o_.window - o_.sinks - a.key_gap.by, 0, loose));
  // A mask and weights have columns for them all the same.
  const bool dense = a.mask.present() || a.weights != nullptr;
  const std::int64_t seen_to = std::max<std::int64_t>(place + count, a.prefix);
  const Index after = static_cast<Index>(
      a.causal ? std::clamp<std::int64_t>(length_ + call.count - seen_to, 0, call.count) : 0);
  const Index keys = a.shape.keys - after, left_out = dense ? 0 : std::min(gone, keys);
  part = part_of(a, {.first_query = first,
                     .queries = count,
                     .keys = keys - left_out,
                     .query_offset = static_cast<Index>(place),
                     .prefix = a.prefix});
  part.shape.batch = a.shape.batch;
  for (Index j = 0; j < part.shape.keys; ++j)
    call.keys.data()[j] =
        static_cast<double>(j < o_.sinks ? j : std::max<Index>(0, j - (dense ? gone : Index{0})));
  if (left_out == 0) return;
  part.key_gap = {o_.sinks, a.key_gap.by + left_out};
  set_rows(call, part);
}

}  // namespace posenc
