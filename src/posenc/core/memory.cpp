// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/memory.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace posenc {
namespace {

std::atomic<std::size_t> live_bytes{0};
std::atomic<std::size_t> live_blocks{0};

#ifdef POSENC_FAULT_INJECTION
std::atomic<long> successes_left{-1};

bool should_fail() {
  const long left = successes_left.load();
  if (left < 0) return false;
  if (left == 0) return true;
  successes_left.store(left - 1);
  return false;
}
#else
constexpr bool should_fail() { return false; }
#endif

}  // namespace

void* allocate(std::size_t bytes) noexcept {
  if (should_fail() || bytes > static_cast<std::size_t>(PTRDIFF_MAX) - memory_alignment)
    return nullptr;
  // aligned_alloc wants a multiple of the alignment, and an empty block still needs an address.
  const std::size_t blocks =
      std::max<std::size_t>(1, (bytes + memory_alignment - 1) / memory_alignment);
  void* block = std::aligned_alloc(memory_alignment, blocks * memory_alignment);
  if (block == nullptr) return nullptr;
  live_bytes += bytes;
  ++live_blocks;
  return block;
}

void release(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  live_bytes -= bytes;
  --live_blocks;
  std::free(block);
}

Status replace_by_zeros(void*& block, std::size_t& held, std::size_t count,
                        std::size_t size) noexcept {
  const auto bytes = checked_product(count, size);
  if (!bytes) return Error{.code = Errc::too_large, .received = static_cast<double>(count)};
  void* fresh = allocate(*bytes);
  if (fresh == nullptr)
    return Error{.code = Errc::out_of_memory, .received = static_cast<double>(*bytes)};
  std::memset(fresh, 0, *bytes);
  release(block, held * size);
  block = fresh;
  held = count;
  return {};
}

MemoryUse memory_use() noexcept { return {live_bytes.load(), live_blocks.load()}; }

#ifdef POSENC_FAULT_INJECTION
void fail_allocations_after(long successes) noexcept { successes_left = successes; }
#endif

}  // namespace posenc
