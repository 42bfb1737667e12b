// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Target/GpuPart.h"

using namespace mpc;

// The parts besides those of GpuArch's numbers. Source: NVIDIA's data sheets.
// clang-format off
static constexpr GpuPart others[] = {
    {.name = "A10", .arch = "sm_86", .multiprocessors = 72, .clockMHz = 1695, .globalGBs = 600, .l2MiB = 6},
    {.name = "L4", .arch = "sm_89", .multiprocessors = 58, .clockMHz = 2040, .globalGBs = 300, .l2MiB = 48},
    {.name = "A100 80GB", .arch = "sm_80", .multiprocessors = 108, .clockMHz = 1410, .globalGBs = 2039, .l2MiB = 40},
    {.name = "H200", .arch = "sm_90a", .multiprocessors = 132, .clockMHz = 1830, .globalGBs = 4800, .l2MiB = 50},
};
// clang-format on

llvm::SmallVector<GpuPart> mpc::partsOf(const GpuArch &arch) {
  llvm::SmallVector<GpuPart> parts = {
      {arch.part, arch.name, arch.multiprocessors, arch.clockMHz, arch.globalGBs, arch.l2MiB}};
  for (const GpuPart &part : others)
    if (part.arch == arch.name)
      parts.push_back(part);
  return parts;
}
