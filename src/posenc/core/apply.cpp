// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/apply.hpp"

#include <algorithm>

#include "posenc/core/arena.hpp"
#include "posenc/core/wide_kernels.hpp"

namespace posenc {
namespace {

Status unsupported(const Encoding& encoding, const char* expected) {
  return fault(Errc::unsupported, encoding.traits().id, expected);
}

Status check_width(Index wanted, Index given) {
  if (wanted == given) return {};
  return outside(Errc::shape_mismatch, "x", "as wide as the encoding", static_cast<double>(given),
                 static_cast<double>(wanted), static_cast<double>(wanted));
}

/// All position sets of a batch, checked before anything is written.
Status check_positions(const Encoding& e, const double* positions, Index sets, Index axes,
                       Index rows) {
  for (Index b = 0; b < sets; ++b)
    if (Status s = e.accepts(Positions::of(positions + b * axes * rows, rows, axes)); !s)
      return s.at("positions", b * axes * rows);
  return {};
}

}  // namespace

Status embed(const Encoding& e, const EmbedArguments& a) {
  if (!e.traits().sites.embed) return unsupported(e, "an encoding that is added to embeddings");
  if (Status s = check_width(e.embed_width(), a.width); !s) return s;
  if (Status s = check_positions(e, a.positions, a.position_rows, a.axes, a.rows); !s) return s;
  // Rows are begun and finished while the cache holds them: 512 KB at a time, half of many an L2.
  const Index block = std::max<Index>(16, 131072 / std::max<Index>(1, a.width));
  for (Index b = 0; b < a.batch; ++b) {
    const Index set = a.position_rows > 1 ? b : 0;
    const Positions positions = Positions::of(a.positions + set * a.axes * a.rows, a.rows, a.axes);
    for (Index plane = b * a.heads; plane < (b + 1) * a.heads; ++plane)
      for (Index t = 0; t < a.rows; t += block) {
        const Index n = std::min(block, a.rows - t), at = (plane * a.rows + t) * a.width;
        if (a.from == nullptr) std::fill_n(a.x + at, n * a.width, 0.0f);
        e.embed({.rows = {a.x + at, n, a.width, a.width},
                 .positions = positions.slice(t, n),
                 .from = a.from == nullptr ? nullptr : a.from + at});
      }
  }
  return {};
}

Status embed_backward(const Encoding& e, const EmbedGradientArguments& a) {
  if (!e.traits().sites.embed) return unsupported(e, "an encoding that is added to embeddings");
  if (Status s = check_width(e.embed_width(), a.width); !s) return s;
  if (Status s = check_positions(e, a.positions, a.position_rows, a.axes, a.rows); !s) return s;
  Buffer<double> sums;
  if (Status s = sums.allocate(static_cast<std::size_t>(e.gradient_size())); !s) return s;
  for (Index b = 0; b < a.batch; ++b) {
    const Index set = a.position_rows > 1 ? b : 0;
    const Positions positions = Positions::of(a.positions + set * a.axes * a.rows, a.rows, a.axes);
    for (Index plane = b * a.heads; plane < (b + 1) * a.heads; ++plane)
      e.row_gradient({.rows = {a.gradient + plane * a.rows * a.width, a.rows, a.width, a.width},
                      .positions = positions,
                      .sums = sums.data()});
  }
  e.collect_gradients(sums.data(), a.tables);
  return {};
}

Status rotate(const Encoding& e, const RotateArguments& a) {
  if (!e.traits().sites.rotate) return unsupported(e, "an encoding that rotates");
  if (Status s = check_width(e.head_dim(), a.width); !s) return s;
  if (Status s = check_positions(e, a.positions, a.position_rows, a.axes, a.rows); !s) return s;
  const Rotation r = e.rotation();
  const Index planes = a.batch * a.heads;
  if (r.growth() > 0 && (a.inverse || (a.from == a.x && planes * a.rows > 0)))
    return fault(
        Errc::unsupported, a.inverse ? "inverse" : "out",
        a.inverse ? "false: what makes rows wider is not undone" : "apart from x: rows grow wider");

  const Index tables = e.table_heads();
  if (tables > 1 && tables != a.heads)
    return outside(Errc::shape_mismatch, "x",
                   "of as many heads as the encoding, since each rotates its own way",
                   static_cast<double>(a.heads), static_cast<double>(tables),
                   static_cast<double>(tables));

  // Cosines and sines of so many positions at a time that their table takes 128 KB, which the second
  // cache holds for one head after the other. Runs of 32 KB, for the first, made 32 x 2048 x 128 take
  // 1.17 times as long: memory is read best in long ones.
  const Index block = std::max<Index>(16, 32768 / std::max<Index>(1, r.table_width()));
  const Index table_rows = std::min(block, a.rows);
  Arena arena;
  float* table = nullptr;
  double* frequencies = nullptr;
  const auto carve = [&] {
    table = arena.take<float>(table_rows, r.table_width());
    frequencies = arena.take<double>(r.pairs);
  };
  carve();
  if (Status s = arena.commit(); !s) return s;
  carve();

  decltype(WideKernels::rotate_rows) rotate_block = rotate_rows<xsimd::default_arch>;
  // Wider vectors gain nothing of it.
  bool two = tables == 1 && turns_two<xsimd::default_arch>(r, a.width);
  if (const WideKernels* wide = wide_kernels()) {
    rotate_block = wide->rotate_rows;
    two = false;
  }
  const Index width = a.width + r.growth();
  const Index sharing = a.position_rows > 1 ? 1 : a.batch;  // batch entries per position set
  for (Index set = 0; set < a.position_rows; ++set) {
    const Positions positions = Positions::of(a.positions + set * a.axes * a.rows, a.rows, a.axes);
    // Each sequence has its own length, as in attention.
    double length = a.length;
    if (length == 0)
      for (Index i = 0; i < a.axes * a.rows; ++i) length = std::max(length, positions.data[i] + 1);
    for (Index t = 0; t < a.rows; t += block) {
      const Index n = std::min(block, a.rows - t);
      const View2<float> angles{table, n, r.table_width(), r.table_width()};
      for (Index head = 0; head < tables; ++head) {
        e.angles({.out = angles,
                  .positions = positions.slice(t, n),
                  .role = a.role,
                  .length = length,
                  .head = head,
                  .scratch = frequencies});
        for (Index plane = set * a.heads + head; plane < (set + sharing) * a.heads;
             plane += tables) {
          const Index row = plane * a.rows + t;
          const View2<const float> from{a.from + row * a.width, n, a.width, a.width};
          const View2<float> to{a.x + row * width, n, width, width};
          if (two && plane + 1 < (set + sharing) * a.heads) {
            rotate_two<xsimd::default_arch>(r, from, to, angles, a.inverse, a.rows * width);
            ++plane;
          } else {
            rotate_block(r, from, to, angles, a.inverse);
          }
        }
      }
    }
  }
  return {};
}

Status bias(const Encoding& e, const Positions& queries, const Positions& keys, float* out) {
  if (!e.traits().content_free || !e.traits().sites.score)
    return unsupported(e, "an encoding whose bias does not depend on q and k");
  if (e.needs_scores())
    return unsupported(e, "without the options that multiply scores, which is no bias");
  if (Status s = e.accepts(queries); !s) return s;
  if (Status s = e.accepts(keys); !s) return s;
  Buffer<float> scratch;
  if (Status s =
          scratch.allocate(static_cast<std::size_t>(e.score_scratch(queries.count, keys.count)));
      !s)
    return s;
  const Index heads = std::max<Index>(1, e.heads());
  for (Index h = 0; h < heads; ++h) {
    const View2<float> scores{out + h * queries.count * keys.count, queries.count, keys.count,
                              keys.count};
    std::fill_n(scores.data, queries.count * keys.count, 0.0f);
    e.score({.scores = scores,
             .q = {},
             .k = {},
             .q_pos = queries,
             .k_pos = keys,
             .head = h,
             .scratch = scratch.data()});
  }
  return {};
}

Status distances(const Encoding& e, const Positions& queries, const Positions& keys, double* out) {
  if (!e.remaps_distance()) return unsupported(e, "an encoding that remaps distances");
  if (Status s = e.accepts(queries); !s) return s;
  if (Status s = e.accepts(keys); !s) return s;
  Buffer<std::uint8_t> copies;
  if (Status s = copies.allocate(static_cast<std::size_t>(keys.count)); !s) return s;
  for (Index t = 0; t < queries.count; ++t) {
    e.choose(queries[t], keys, copies.data());
    for (Index j = 0; j < keys.count; ++j) {
      const Index copy = copies.data()[j], key_copy = std::min(copy, e.key_copies() - 1);
      out[t * keys.count + j] =
          e.place(Role::query, copy, queries[t]) - e.place(Role::key, key_copy, keys[j]);
    }
  }
  return {};
}

}  // namespace posenc
