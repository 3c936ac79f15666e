// SPDX-License-Identifier: Apache-2.0
#include "posenc/core/instruction_set.hpp"

#include "posenc/core/wide_kernels.hpp"

#ifdef POSENC_DISPATCH

#include <atomic>
#include <cstdlib>

#include <xsimd/xsimd.hpp>

namespace posenc {
namespace avx2 {
extern const WideKernels kernels;
}
namespace avx512 {
extern const WideKernels kernels;
}
namespace {

bool runs(InstructionSet set) {
  const auto machine = xsimd::available_architectures();
  switch (set) {
    case InstructionSet::avx2:
      return machine.has(xsimd::fma3<xsimd::avx2>{});
    case InstructionSet::avx512:
      return machine.has(xsimd::avx512bw{}) && machine.has(xsimd::fma3<xsimd::avx2>{});
    case InstructionSet::baseline:
      break;
  }
  return true;
}

InstructionSet choose() {
  const char* named = std::getenv("POSENC_ARCH");
  for (const InstructionSet set : {InstructionSet::avx512, InstructionSet::avx2}) {
    const std::string_view name = instruction_set_names[static_cast<std::size_t>(set)];
    if (named != nullptr && name != named) continue;
    if (runs(set)) return set;
  }
  return InstructionSet::baseline;
}

std::atomic<InstructionSet>& in_use() {
  static std::atomic<InstructionSet> set = choose();
  return set;
}

}  // namespace

InstructionSet instruction_set() { return in_use().load(std::memory_order_relaxed); }

bool use_instruction_set(InstructionSet wanted) {
  if (!runs(wanted)) return false;
  in_use().store(wanted, std::memory_order_relaxed);
  return true;
}

const WideKernels* wide_kernels() {
  switch (instruction_set()) {
    case InstructionSet::avx2:
      return &avx2::kernels;
    case InstructionSet::avx512:
      return &avx512::kernels;
    case InstructionSet::baseline:
      break;
  }
  return nullptr;
}

}  // namespace posenc

#else

namespace posenc {

InstructionSet instruction_set() { return InstructionSet::baseline; }
bool use_instruction_set(InstructionSet wanted) { return wanted == InstructionSet::baseline; }

}  // namespace posenc

#endif
