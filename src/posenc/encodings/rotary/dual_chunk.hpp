// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "posenc/core/powers.hpp"
#include "posenc/encodings/rotary/remap.hpp"

namespace posenc {

struct DualChunkOptions : RotaryOptions {
  int chunk = 0;
  int local = 0;
  std::optional<int> clamp_max;
  bool dca_mscale = false;
  std::optional<int> trained_length;
};

/// Dual chunk attention: positions within chunks of s = chunk − local tokens. An et al., 2024.
///
///   key            j mod s                          of every chunk: one copy of the keys serves all
///   same chunk     m mod s
///   next chunk     min(m mod s + s, clampMax)       exact for the nearest `local` tokens
///   farther        min(2s − 1, clampMax)
///
/// No distance exceeds clampMax. The paper clamps at chunk − 1, the default; its code, and Qwen's
/// models of a million tokens, at chunk. `dcaMscale` multiplies cosines and sines by
/// 1 + 0.05 ln(length / trainedLength) beyond the trained length, as the Llama code does though the
/// paper's results did without. Keys of later chunks, which causal attention hides, are taken as of
/// the same chunk: the method does not define them.
struct DualChunkSchedule : RemapDefaults {
  using Options = DualChunkOptions;
  static constexpr Index copies = 3, key_copies = 1;
  static constexpr Spec spec{
      .id = "dual-chunk",
      .title = "Dual chunk attention",
      .summary = "RoPE with positions counted within chunks, exact nearby and bounded far away.",
      .formula =
          "k: j mod s; q: m mod s | min(m mod s + s, c) | min(2s − 1, c) for 0 | 1 | ≥ 2 chunks "
          "apart",
      .paper = "An et al., 2024",
      .url = "https://arxiv.org/abs/2402.17463",
      .used_by = "ChunkLlama, Qwen2.5-1M",
      .sites = {.rotate = true}};
  static constexpr auto fields = rotary_fields<Options>(
      FieldOf<Options>::integer<&Options::chunk>(
          "chunk", "Chunk size; 3/4 of the trained length is usual.", 2, 1e9)
          .required(96)
          .logarithmic(),
      FieldOf<Options>::integer<&Options::local>(
          "local", "Nearest tokens whose distance is exact; below chunk.", 1, 1e9)
          .required(16)
          .logarithmic(),
      FieldOf<Options>::integer<&Options::clamp_max>(
          "clampMax", "Greatest query position; chunk - 1 unless given, as in the paper.", 1, 1e9)
          .example(95),
      FieldOf<Options>::boolean<&Options::dca_mscale>("dcaMscale",
                                                      "Sharpen beyond the trained length.")
          .leading_to(LengthPolicy::per_length),
      FieldOf<Options>::integer<&Options::trained_length>(
          "trainedLength", "Length the model was trained at, for dcaMscale.", 1, 1e9)
          .example(128));

  DualChunkSchedule(const Options& o, Index rotary_dim, double length)
      : RemapDefaults(o, rotary_dim),
        stride(stride_of(o)),
        greatest(o.clamp_max.value_or(o.chunk - 1)),
        growth(o.dca_mscale ? std::max(1.0, length / *o.trained_length) : 1) {}

  static Status check(const Options& o, Index) {
    if (o.local >= o.chunk)
      return outside(Errc::out_of_range, "local", "less than chunk", static_cast<double>(o.local),
                     1, static_cast<double>(o.chunk - 1));
    if (o.clamp_max && *o.clamp_max < stride_of(o))  // else a distance would be negative
      return outside(Errc::out_of_range, "clampMax", "at least chunk - local",
                     static_cast<double>(*o.clamp_max), stride_of(o), 1e9);
    if (o.dca_mscale && !o.trained_length)
      return fault(Errc::missing_option, "trainedLength", "given together with dcaMscale");
    return {};
  }
  /// Of the whole only the factor of dcaMscale depends on the length.
  static LengthPolicy length_policy(const Options& o, LengthPolicy declared) {
    return o.dca_mscale ? LengthPolicy::per_length : declared;
  }
  static void choose(const Options& o, double query, const Positions& keys, std::uint8_t* copy) {
    const double own = std::floor(query / stride_of(o));
    for (Index j = 0; j < keys.count; ++j)
      copy[j] =
          static_cast<std::uint8_t>(std::clamp(own - std::floor(keys[j] / stride_of(o)), 0.0, 2.0));
  }
  double coordinate(const AngleBlock& b, Index, double position) const {
    const double inside = position - stride * std::floor(position / stride);
    if (b.role == Role::key || b.copy == 0) return inside;
    return std::min(greatest, b.copy == 1 ? inside + stride : 2 * stride - 1);
  }
  double attention_factor() const { return growth > 1 ? 1 + 0.05 * natural_log(growth) : 1; }

  double stride, greatest, growth;

 private:
  static double stride_of(const Options& o) { return o.chunk - o.local; }
};
using DualChunk = Rotary<DualChunkSchedule>;

}  // namespace posenc
