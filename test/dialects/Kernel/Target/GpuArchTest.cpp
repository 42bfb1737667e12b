// The table of architectures, and the runtime's names for them.
#include "dialects/Kernel/Target/GpuArch.h"
#include "runtime/devices/CudaDevice.h"
#include <gtest/gtest.h>

using namespace mpc;

namespace {

// The runtime tells the user what to compile for where a program has no plan for the GPU. It must name the architecture
// of the table whose code runs best there: the newest that is not newer than the GPU, where names with an `a` mean
// exactly that compute capability.
TEST(GpuArch, TheRuntimeNamesTheTablesArchitectures) {
  for (int compute = 10; compute <= 200; ++compute) {
    std::string expected;
    for (const GpuArch &arch : gpuArchs()) // oldest first
      if (arch.name.ends_with("a") ? arch.compute == compute : arch.compute <= compute)
        expected = arch.name.str();
    EXPECT_EQ(rt::targetFor(compute), expected) << compute;
  }
}

// Errors say "sm_80 and later", so what an architecture has, all later ones have.
TEST(GpuArch, LaterArchitecturesHaveWhatTheFirstHas) {
  for (bool GpuArch::*fact : {&GpuArch::hasLoadMatrix, &GpuArch::hasMmaF16K8, &GpuArch::hasMmaK16,
                              &GpuArch::hasCopyAsync, &GpuArch::hasFloat8, &GpuArch::hasWgmma}) {
    const GpuArch *first = findGpuArch(firstGpuArchWith(fact));
    ASSERT_TRUE(first);
    for (const GpuArch &arch : gpuArchs())
      EXPECT_EQ(arch.*fact, &arch >= first) << arch.name.str();
  }
  EXPECT_EQ(firstGpuArchWith(&GpuArch::hasCopyAsync), "sm_80");
}

} // namespace
