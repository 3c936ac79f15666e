// SPDX-License-Identifier: Apache-2.0
/// A part of a call that is attention of its own.
#pragma once

#include "posenc/attention/arguments.hpp"

namespace posenc {

/// The arguments of one sequence, as views of the whole.
inline AttentionArguments part_of(const AttentionArguments& a, const Sequence& s) {
  AttentionArguments part = a;
  part.sequences = {};
  part.parts = {};
  part.ready = {};
  part.shape.batch = 1;
  part.shape.queries = s.queries;
  part.shape.keys = s.keys;
  part.q.data = a.q.at(s.batch, 0, s.first_query);
  part.k.data = a.k.at(s.batch, 0, s.first_key);
  part.v.data = a.v.at(s.batch, 0, s.first_key);
  for (std::optional<PagedRows>* paged : {&part.paged_k, &part.paged_v})
    if (*paged) {
      (*paged)->first_batch += s.batch;
      (*paged)->first_row += s.first_key;
    }
  part.output.data = a.output.at(s.batch, 0, s.first_query);
  if (a.weights != nullptr) part.weights = a.weights_row(s.batch, 0, s.first_query) + s.first_key;
  if (a.log_sum_exp != nullptr)
    part.log_sum_exp = a.log_sum_exp + a.result_row(s.batch, 0, s.first_query);
  part.result_queries = a.result_queries > 0 ? a.result_queries : a.shape.queries;
  part.result_keys = a.result_keys > 0 ? a.result_keys : a.shape.keys;
  const auto move = [&](PositionRows& rows, Index first, Index count) {
    const Index stride = rows.stride > 0 ? rows.stride : count, row = rows.rows > 1 ? s.batch : 0;
    if (rows.data != nullptr) rows.data += row * a.axes * stride + first;
    rows = {
        .data = rows.data, .rows = 1, .stride = stride, .origin = row * a.axes * stride + first};
  };
  move(part.query_positions, s.first_query, a.shape.queries);
  move(part.key_positions, s.first_key, a.shape.keys);
  const Index masked = a.mask.offset(s.batch, 0, s.first_query, s.first_key);
  if (a.mask.allowed != nullptr) part.mask.allowed += masked;
  if (a.mask.bias != nullptr) part.mask.bias += masked;
  part.query_offset = s.first_place();
  part.prefix = s.prefix;
  return part;
}

}  // namespace posenc
