//===- GpuArch.cpp - the table of architectures -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Target/GpuArch.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpc;

static constexpr int kb = 1024;

// PTX versions: shfl.sync needs 6.0 and mma 6.5; 6.4 is the first with everything that a SIMT kernel of sm_70
// uses. sm_86 exists from 7.1 on, sm_89 from 7.8, sm_90a from 8.0.
// clang-format off
static const GpuArch table[] = {
    {.name = "sm_60", .compute = 60, .ptxVersion = 64, .part = "P100", .multiprocessors = 56, .clockMHz = 1480, .globalGBs = 732,
     .l2MiB = 4, .fmaPerClock = 64, .mmaPerClock = 0,
     .sharedBytesPerBlock = staticSharedBytes, .sharedBytesPerSm = 64 * kb, .threadsPerSm = 2048, .blocksPerSm = 32,
     .ptxasKnows = false},
    {.name = "sm_70", .compute = 70, .ptxVersion = 64, .part = "V100", .multiprocessors = 80, .clockMHz = 1530, .globalGBs = 900,
     .l2MiB = 6, .fmaPerClock = 64, .mmaPerClock = 512,
     .sharedBytesPerBlock = 96 * kb, .sharedBytesPerSm = 96 * kb, .threadsPerSm = 2048, .blocksPerSm = 32,
     .ptxasKnows = false},
    {.name = "sm_75", .compute = 75, .ptxVersion = 65, .part = "T4", .multiprocessors = 40, .clockMHz = 1590, .globalGBs = 320,
     .l2MiB = 4, .fmaPerClock = 64, .mmaPerClock = 512,
     .sharedBytesPerBlock = 64 * kb, .sharedBytesPerSm = 64 * kb, .threadsPerSm = 1024, .blocksPerSm = 16,
     .hasLoadMatrix = true, .hasMmaF16K8 = true},
    {.name = "sm_80", .compute = 80, .ptxVersion = 70, .part = "A100", .multiprocessors = 108, .clockMHz = 1410, .globalGBs = 1555,
     .l2MiB = 40, .fmaPerClock = 64, .mmaPerClock = 1024,
     .sharedBytesPerBlock = 163 * kb, .sharedBytesPerSm = 164 * kb, .threadsPerSm = 2048, .blocksPerSm = 32,
     .hasLoadMatrix = true, .hasMmaF16K8 = true, .hasMmaK16 = true, .hasCopyAsync = true,
     .hasBF16Conversion = true},
    {.name = "sm_86", .compute = 86, .ptxVersion = 71, .part = "RTX 3090", .multiprocessors = 84, .clockMHz = 1695, .globalGBs = 936,
     .l2MiB = 6, .fmaPerClock = 128, .mmaPerClock = 256,
     .sharedBytesPerBlock = 99 * kb, .sharedBytesPerSm = 100 * kb, .threadsPerSm = 1536, .blocksPerSm = 16,
     .hasLoadMatrix = true, .hasMmaF16K8 = true, .hasMmaK16 = true, .hasCopyAsync = true,
     .hasBF16Conversion = true},
    {.name = "sm_89", .compute = 89, .ptxVersion = 78, .part = "RTX 4090", .multiprocessors = 128, .clockMHz = 2520, .globalGBs = 1008,
     .l2MiB = 72, .fmaPerClock = 128, .mmaPerClock = 256,
     .sharedBytesPerBlock = 99 * kb, .sharedBytesPerSm = 100 * kb, .threadsPerSm = 1536, .blocksPerSm = 24,
     .hasLoadMatrix = true, .hasMmaF16K8 = true, .hasMmaK16 = true, .hasCopyAsync = true,
     .hasBF16Conversion = true},
    {.name = "sm_90a", .compute = 90, .ptxVersion = 80, .part = "H100 SXM", .multiprocessors = 132, .clockMHz = 1830, .globalGBs = 3352,
     .l2MiB = 50, .fmaPerClock = 128, .mmaPerClock = 2048, .mmaShare = 0.6,
     .sharedBytesPerBlock = 227 * kb, .sharedBytesPerSm = 228 * kb, .threadsPerSm = 2048, .blocksPerSm = 32,
     .hasLoadMatrix = true, .hasMmaF16K8 = true, .hasMmaK16 = true, .hasCopyAsync = true,
     .hasBF16Conversion = true,
     .hasFloat8 = true, .hasTensorMaps = true, .hasClusters = true, .hasWgmma = true, .hasFloat8Products = true},
};
// clang-format on

llvm::ArrayRef<GpuArch> mpc::gpuArchs() { return table; }

const GpuArch *mpc::findGpuArch(llvm::StringRef name) {
  for (const GpuArch &arch : table)
    if (arch.name == name)
      return &arch;
  return nullptr;
}

/// The names of those architectures that `wanted` holds of.
static std::string namesOf(llvm::function_ref<bool(const GpuArch &)> wanted) {
  auto archs = llvm::make_filter_range(table, wanted);
  return llvm::join(llvm::map_range(archs, [](const GpuArch &arch) { return arch.name; }), ", ");
}

std::string mpc::gpuArchNames() {
  return namesOf([](const GpuArch &) { return true; });
}

std::string mpc::gpuArchNamesWith(bool GpuArch::*fact) {
  return namesOf([&](const GpuArch &arch) { return arch.*fact; });
}
