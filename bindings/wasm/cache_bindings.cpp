// SPDX-License-Identifier: Apache-2.0
// The cache's part of the boundary. A handle is the address of what holds a KVCache; 0 is a failure.
#include <emscripten/bind.h>

#include "boundary.hpp"

namespace {

using posenc::KVCache;

template <class Make>
Address keep(Make&& make) {
  void* place = posenc::allocate(sizeof(HeldCache));
  if (place == nullptr) {
    last_error = {.code = posenc::Errc::out_of_memory};
    return 0;
  }
  auto* held = new (place) HeldCache(make());
  if (*held) return reinterpret_cast<Address>(place);
  last_error = held->error();
  posenc::release(place, sizeof(HeldCache));
  return 0;
}

struct CacheCall {
  Passed batch, heads, headDim, valueDim, capacity, dtype, window, sinks, ownPositions;
  Passed encodings, encodingCount;
};

Address create() {
  const auto& c = passed_as<CacheCall>();
  posenc::CacheOptions o{.batch = c.batch,
                         .heads = c.heads,
                         .head_dim = c.headDim,
                         .value_dim = c.valueDim,
                         .capacity = c.capacity,
                         .dtype = static_cast<posenc::Dtype>(int{c.dtype}),
                         .window = c.window,
                         .sinks = c.sinks,
                         .own_positions = c.ownPositions,
                         .encoding_count = c.encodingCount};
  std::copy_n(at<const Encoding* const>(c.encodings), Index{c.encodingCount}, o.encodings.data());
  return keep([&] { return KVCache::make(o); });
}
void destroy(Address handle) {
  std::destroy_at(at<HeldCache>(handle));
  posenc::release(at<void>(handle), sizeof(HeldCache));
}
Address fork(Address handle) {
  return keep([&] { return cache(handle).fork(); });
}

struct AppendCall {
  Passed k, v, positions, count, layout, positionRows, axes;
  Passed normKind, normWeight, normHeads, normEpsilon, normAfter;
};

int append(Address handle) {
  const auto& c = passed_as<AppendCall>();
  const posenc::CacheOptions& o = cache(handle).options();
  const int heads = static_cast<int>(o.heads);
  return report(cache(handle).append(
      {.k = tensor<const float>(c.k, c.layout, heads, c.count, static_cast<int>(o.head_dim)),
       .v = tensor<const float>(c.v, c.layout, heads, c.count, static_cast<int>(o.value_dim)),
       .count = c.count,
       .positions = {at<const double>(c.positions), c.positionRows},
       .axes = c.axes,
       .k_norm = {static_cast<posenc::HeadNorm::Kind>(int{c.normKind}),
                  at<const float>(c.normWeight), c.normHeads, c.normEpsilon, c.normAfter}}));
}

int length(Address handle) { return static_cast<int>(cache(handle).length()); }
int stored(Address handle) { return static_cast<int>(cache(handle).stored()); }
double changes(Address handle) { return cache(handle).changes(); }
int truncate(Address handle, int tokens) { return report(cache(handle).truncate(tokens)); }
void reset(Address handle) { cache(handle).reset(); }
double byte_size(Address handle) { return static_cast<double>(cache(handle).byte_size()); }
void to_bytes(Address handle, Address out) { cache(handle).to_bytes(at<std::byte>(out)); }
int from_bytes(Address handle, Address bytes, int size) {
  return report(
      cache(handle).from_bytes({at<const std::byte>(bytes), static_cast<std::size_t>(size)}));
}

}  // namespace

EMSCRIPTEN_BINDINGS(posenc_cache) {
  using emscripten::function;
  function("createCache", &create);
  function("destroyCache", &destroy);
  function("forkCache", &fork);
  function("appendToCache", &append);
  function("cacheLength", &length);
  function("cacheStored", &stored);
  function("cacheChanges", &changes);
  function("truncateCache", &truncate);
  function("resetCache", &reset);
  function("cacheByteSize", &byte_size);
  function("cacheToBytes", &to_bytes);
  function("cacheFromBytes", &from_bytes);
}
