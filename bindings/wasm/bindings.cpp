// SPDX-License-Identifier: Apache-2.0
// The whole boundary to JavaScript. Only numbers cross: addresses, counts, options by value. Strings
// travel as (address, length) of ASCII bytes. Every function that can fail returns 0 for success, or
// leaves its reason in failure(): a C++ exception thrown into JavaScript does not restore the stack.
#include <cmath>

#include <emscripten/bind.h>

#include "boundary.hpp"
#include "posenc/attention/arguments.hpp"
#include "posenc/attention/backward.hpp"
#include "posenc/attention/merge.hpp"
#include "posenc/core/apply.hpp"
#include "posenc/encodings/make_encoding.hpp"

namespace {

posenc::OptionBag bag;

const Encoding& encoding(Address handle) { return *at<const Encoding>(handle); }

struct Failure {
  Passed code, field, fieldLength, expected, expectedLength, received, index, low, high;
};
void failure() {
  const posenc::Error& e = last_error;
  const auto address = [](std::string_view text) {
    return Passed{static_cast<double>(reinterpret_cast<Address>(text.data()))};
  };
  const auto size = [](std::string_view text) { return Passed{static_cast<double>(text.size())}; };
  *reinterpret_cast<Failure*>(passed.data()) = {.code = {static_cast<double>(e.code)},
                                                .field = address(e.field),
                                                .fieldLength = size(e.field),
                                                .expected = address(e.expected),
                                                .expectedLength = size(e.expected),
                                                .received = {e.received},
                                                .index = {e.index},
                                                .low = {e.low},
                                                .high = {e.high}};
}
Address passed_block() { return reinterpret_cast<Address>(passed.data()); }

// --- memory ---------------------------------------------------------------------------------------

int abi_version() { return 3; }
Address allocate(double bytes) {
  return bytes > PTRDIFF_MAX
             ? 0
             : reinterpret_cast<Address>(posenc::allocate(static_cast<std::size_t>(bytes)));
}
void release(Address block, double bytes) {
  posenc::release(at<void>(block), static_cast<std::size_t>(bytes));
}

/// What small calls of JavaScript share instead of allocating; 0 where it is not so large.
Address shared_block(int bytes) {
  alignas(16) static std::byte block[1024];
  return bytes > static_cast<int>(sizeof block) ? 0 : reinterpret_cast<Address>(block);
}
double live_bytes() { return static_cast<double>(posenc::memory_use().bytes); }
double live_blocks() { return static_cast<double>(posenc::memory_use().blocks); }

// --- encodings ------------------------------------------------------------------------------------

void options_clear() { bag.clear(); }
bool options_number(Address name, int length, double value) {
  return bag.number(text(name, length), value);
}
bool options_flag(Address name, int length, bool value) {
  return bag.boolean(text(name, length), value);
}
bool options_text(Address name, int length, Address value, int value_length) {
  return bag.text(text(name, length), text(value, value_length));
}
bool options_list(Address name, int length, Address values, int count) {
  return bag.list(text(name, length), {at<const double>(values), static_cast<std::size_t>(count)});
}
bool options_table(Address name, int length, Address data, int rank, int d0, int d1, int d2) {
  return bag.table(text(name, length), at<const float>(data), {d0, d1, d2}, rank);
}

Address create_encoding(Address id, int length) {
  auto made = posenc::make_encoding(text(id, length), bag);
  if (made) {
    if (void* place = posenc::allocate(sizeof(Encoding)))
      return reinterpret_cast<Address>(new (place) Encoding(std::move(*made)));
    last_error = {.code = posenc::Errc::out_of_memory};
  } else {
    last_error = made.error();
  }
  return 0;
}
void destroy_encoding(Address handle) {
  at<Encoding>(handle)->~Encoding();
  posenc::release(at<void>(handle), sizeof(Encoding));
}

int embed_width(Address handle) { return static_cast<int>(encoding(handle).embed_width()); }
int bias_heads(Address handle) {
  return static_cast<int>(std::max<Index>(1, encoding(handle).heads()));
}
int rotation_growth(Address handle) {
  return static_cast<int>(encoding(handle).rotation().growth());
}
int plan_pairs(Address handle) { return static_cast<int>(encoding(handle).rotation().pairs); }

int embed(Address handle, Address x, Address from, int batch, int heads, int rows, int width,
          Address positions, int position_rows, int axes) {
  return report(posenc::embed(encoding(handle), {.x = at<float>(x),
                                                 .from = at<const float>(from),
                                                 .batch = batch,
                                                 .heads = heads,
                                                 .rows = rows,
                                                 .width = width,
                                                 .positions = at<const double>(positions),
                                                 .position_rows = position_rows,
                                                 .axes = axes}));
}

int embed_backward(Address handle, Address gradient, int batch, int heads, int rows, int width,
                   Address positions, int position_rows, int axes, Address tables) {
  return report(posenc::embed_backward(encoding(handle), {.gradient = at<const float>(gradient),
                                                          .batch = batch,
                                                          .heads = heads,
                                                          .rows = rows,
                                                          .width = width,
                                                          .positions = at<const double>(positions),
                                                          .position_rows = position_rows,
                                                          .axes = axes,
                                                          .tables = at<float* const>(tables)}));
}

int rotate(Address handle, Address x, Address from, int batch, int heads, int rows, int width,
           Address positions, int position_rows, int axes, int role, double length, bool inverse) {
  return report(
      posenc::rotate(encoding(handle), {.x = at<float>(x),
                                        .from = at<const float>(from),
                                        .batch = batch,
                                        .heads = heads,
                                        .rows = rows,
                                        .width = width,
                                        .positions = at<const double>(positions),
                                        .position_rows = position_rows,
                                        .axes = axes,
                                        .role = role == 0 ? posenc::Role::query : posenc::Role::key,
                                        .length = length,
                                        .inverse = inverse}));
}

/// out: [attentionFactor, logitScale, rotaryDim, layout, lengthPolicy, frequencies …].
int plan(Address handle, double length, Address out) {
  double* values = at<double>(out);
  const posenc::Plan p = encoding(handle).plan(length, values + 5);
  values[0] = p.attention_factor;
  values[1] = p.logit_scale;
  values[2] = static_cast<double>(2 * p.rotation.pairs - p.rotation.growth());
  values[3] = static_cast<double>(p.rotation.layout);
  values[4] = static_cast<double>(p.length_policy);
  return 0;
}

int bias(Address handle, Address queries, int query_count, Address keys, int key_count, int axes,
         Address out) {
  return report(posenc::bias(
      encoding(handle), posenc::Positions::of(at<const double>(queries), query_count, axes),
      posenc::Positions::of(at<const double>(keys), key_count, axes), at<float>(out)));
}

int distances(Address handle, Address queries, int query_count, Address keys, int key_count,
              Address out) {
  return report(posenc::distances(
      encoding(handle), posenc::Positions::of(at<const double>(queries), query_count),
      posenc::Positions::of(at<const double>(keys), key_count), at<double>(out)));
}

// --- attention ------------------------------------------------------------------------------------

struct AttentionCall {
  Passed q, k, v, out, weights, logSumExp;
  Passed cache;  ///< then k, v, keys and keyPositions are of the new tokens
  Passed held;   ///< tokens of it that masks and weights were laid out for
  Passed batch, heads, kvHeads, queries, keys, headDim, valueDim, layout;
  Passed scale;  ///< NaN: the encoding's wish
  Passed causal, queryOffset, windowLeft, windowRight, windowFirst, chunk, prefix;
  Passed sequences, sequenceCount;
  Passed softcap, sinks;
  Passed queryScaleKind, queryScaleLength, queryScaleFactor;
  Passed qNormKind, qNormWeight, qNormHeads, qNormEpsilon, qNormAfter;
  Passed kNormKind, kNormWeight, kNormHeads, kNormEpsilon, kNormAfter;
  Passed queryPositions, keyPositions, queryPositionRows, keyPositionRows, axes;
  Passed mask, maskIsFloat, maskBatchStride, maskHeadStride, maskRowStride, maskColumnStride;
  Passed encodings, encodingCount;
};

static_assert(sizeof(posenc::Sequence) == 7 * sizeof(std::int32_t) && sizeof(Index) == 4);

posenc::AttentionArguments arguments_of(const AttentionCall& c) {
  posenc::AttentionArguments a{
      .shape = {c.batch, c.heads, c.kvHeads, c.queries, c.keys, c.headDim, c.valueDim},
      .q = tensor<const float>(c.q, c.layout, c.heads, c.queries, c.headDim),
      .k = tensor<const float>(c.k, c.layout, c.kvHeads, c.keys, c.headDim),
      .v = tensor<const float>(c.v, c.layout, c.kvHeads, c.keys, c.valueDim),
      .output = tensor<float>(c.out, c.layout, c.heads, c.queries, c.valueDim),
      .weights = at<float>(c.weights),
      .log_sum_exp = at<float>(c.logSumExp),
      .encodings = {at<const Encoding* const>(c.encodings),
                    static_cast<std::size_t>(c.encodingCount)},
      .axes = c.axes,
      .query_positions = {at<const double>(c.queryPositions), c.queryPositionRows},
      .key_positions = {at<const double>(c.keyPositions), c.keyPositionRows},
      .causal = c.causal,
      .query_offset = c.queryOffset,
      .window = {.first = c.windowFirst, .chunk = c.chunk},
      .prefix = c.prefix,
      .mask = {.allowed = c.maskIsFloat ? nullptr : at<const std::uint8_t>(c.mask),
               .bias = c.maskIsFloat ? at<const float>(c.mask) : nullptr,
               .batch = c.maskBatchStride,
               .head = c.maskHeadStride,
               .row = c.maskRowStride,
               .column = c.maskColumnStride},
      .sequences = {at<const posenc::Sequence>(c.sequences),
                    static_cast<std::size_t>(c.sequenceCount)},
      .softcap = c.softcap,
      .sinks = at<const float>(c.sinks),
      .query_scale = {static_cast<posenc::QueryScale::Kind>(int{c.queryScaleKind}),
                      c.queryScaleLength, c.queryScaleFactor},
      .q_norm = {static_cast<posenc::HeadNorm::Kind>(int{c.qNormKind}),
                 at<const float>(c.qNormWeight), c.qNormHeads, c.qNormEpsilon, c.qNormAfter},
      .k_norm = {static_cast<posenc::HeadNorm::Kind>(int{c.kNormKind}),
                 at<const float>(c.kNormWeight), c.kNormHeads, c.kNormEpsilon, c.kNormAfter}};
  if (!std::isnan(c.scale.value)) a.scale = c.scale.value;
  if (c.windowLeft.value >= 0) a.window.left = Index{c.windowLeft};
  if (c.windowRight.value >= 0) a.window.right = Index{c.windowRight};
  return a;
}
int attention() {
  const auto& c = passed_as<AttentionCall>();
  posenc::AttentionArguments a = arguments_of(c);
  if (c.cache.value == 0) return report(posenc::attention(a));
  const posenc::NewTokens tokens{.k = a.k,
                                 .v = a.v,
                                 .count = c.keys,
                                 .positions = a.key_positions,
                                 .axes = c.axes,
                                 .beside = c.held};
  a.k = a.v = {};
  a.key_positions = {};
  return report(cache(c.cache).attend(a, tokens));
}

/// `out` and `logSumExp` of the block are read. The last addresses are those of the gradients, 0 where they
/// are not wanted; `tables` has one for each option that some encoding learns.
int attention_backward(Address gradient, Address dq, Address dk, Address dv, Address sinks,
                       Address q_norm, Address k_norm, Address mask, Address tables,
                       int table_count) {
  const auto& c = passed_as<AttentionCall>();
  return report(posenc::attention_backward(
      {.forward = arguments_of(c),
       .output_gradient = tensor<const float>(gradient, c.layout, c.heads, c.queries, c.valueDim),
       .q_gradient = tensor<float>(dq, c.layout, c.heads, c.queries, c.headDim),
       .k_gradient = tensor<float>(dk, c.layout, c.kvHeads, c.keys, c.headDim),
       .v_gradient = tensor<float>(dv, c.layout, c.kvHeads, c.keys, c.valueDim),
       .sink_gradient = at<float>(sinks),
       .q_norm_gradient = at<float>(q_norm),
       .k_norm_gradient = at<float>(k_norm),
       .mask_gradient = at<float>(mask),
       .tables = {at<float* const>(tables), static_cast<std::size_t>(table_count)}}));
}

int merge(Address parts, int count, Address sinks, Address out, Address log_sum_exp, int batch,
          int heads, int queries, int width, int layout) {
  auto results = posenc::Buffer<posenc::PartialResult>::make(static_cast<std::size_t>(count));
  if (!results) return report(results.error());
  const Address* addresses = at<const Address>(parts);
  for (int i = 0; i < count; ++i)
    results->data()[i] = {tensor<const float>(addresses[2 * i], layout, heads, queries, width),
                          at<const float>(addresses[2 * i + 1])};
  const posenc::AttentionShape shape{
      .batch = batch, .heads = heads, .queries = queries, .value_dim = width};
  posenc::merge({results->data(), static_cast<std::size_t>(count)}, shape, at<const float>(sinks),
                tensor<float>(out, layout, heads, queries, width), at<float>(log_sum_exp));
  return 0;
}

}  // namespace

EMSCRIPTEN_BINDINGS(posenc) {
  using emscripten::function;
  function("passed", &passed_block);
  function("failure", &failure);
  function("abiVersion", &abi_version);
  function("allocate", &allocate);
  function("release", &release);
  function("sharedBlock", &shared_block);
  function("liveBytes", &live_bytes);
  function("liveBlocks", &live_blocks);

  function("optionsClear", &options_clear);
  function("optionsNumber", &options_number);
  function("optionsFlag", &options_flag);
  function("optionsText", &options_text);
  function("optionsList", &options_list);
  function("optionsTable", &options_table);
  function("createEncoding", &create_encoding);
  function("destroyEncoding", &destroy_encoding);

  function("embedWidth", &embed_width);
  function("biasHeads", &bias_heads);
  function("rotationGrowth", &rotation_growth);
  function("planPairs", &plan_pairs);
  function("embed", &embed);
  function("embedBackward", &embed_backward);
  function("rotate", &rotate);
  function("plan", &plan);
  function("bias", &bias);
  function("distances", &distances);
  function("attention", &attention);
  function("attentionBackward", &attention_backward);
  function("merge", &merge);
}
