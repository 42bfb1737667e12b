// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of architectures, and how the runtime chooses among them.
#include "dialects/Kernel/Target/GpuArch.h"
#include "runtime/core/Manifest.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace mpc;

namespace {

// The runtime tells the user what to compile for where a program has no plan for the GPU. It must name the architecture
// of the table whose code runs best there: the newest that is not newer than the GPU, where names with an `a` mean
// exactly that compute capability.
TEST(GpuArch, TheRuntimeNamesTheNewestThatRuns) {
  rt::Manifest manifest;
  for (const GpuArch &arch : llvm::reverse(gpuArchs())) // the order does not matter
    manifest.architectures.push_back({arch.name.str(), arch.compute, arch.isExact()});
  for (int compute = 10; compute <= 200; ++compute) {
    std::string expected;
    for (const GpuArch &arch : gpuArchs()) // oldest first
      if (arch.name.ends_with("a") ? arch.compute == compute : arch.compute <= compute)
        expected = arch.name.str();
    const rt::Architecture *chosen = manifest.architectureFor(compute);
    EXPECT_EQ(chosen ? chosen->name : "", expected) << compute;
  }
}

// Errors name the architectures that have an instruction. Facts may end, so no architecture is named for its age.
TEST(GpuArch, MessagesNameTheArchitecturesThatHaveAFact) {
  for (bool GpuArch::*fact :
       {&GpuArch::hasLoadMatrix, &GpuArch::hasMmaF16K8, &GpuArch::hasMmaK16, &GpuArch::hasCopyAsync,
        &GpuArch::hasBF16Conversion, &GpuArch::hasFloat8, &GpuArch::hasTensorMaps, &GpuArch::hasClusters,
        &GpuArch::hasWgmma, &GpuArch::hasFloat8Products, &GpuArch::ptxasKnows}) {
    llvm::SmallVector<llvm::StringRef> named;
    std::string names = gpuArchNamesWith(fact);
    llvm::StringRef(names).split(named, ", ");
    for (const GpuArch &arch : gpuArchs())
      EXPECT_EQ(llvm::is_contained(named, arch.name), arch.*fact) << arch.name.str() << " in " << names;
  }
  EXPECT_EQ(gpuArchNamesWith(&GpuArch::hasCopyAsync), "sm_80, sm_86, sm_89, sm_90a");
  EXPECT_EQ(gpuArchNamesWith(&GpuArch::hasWgmma), "sm_90a");
}

// Whoever asks for the fact on the left uses the one on the right without asking.
TEST(GpuArch, FactsThatNeedOthers) {
  for (const GpuArch &arch : gpuArchs()) {
    SCOPED_TRACE(arch.name.str());
    EXPECT_LE(arch.hasMmaF16K8, arch.hasLoadMatrix);       // the mainloop mma loads its operands with it
    EXPECT_LE(arch.hasMmaK16, arch.hasMmaF16K8);           // a shorter k is multiplied by the smaller instruction
    EXPECT_LE(arch.hasWgmma, arch.hasTensorMaps);          // the mainloop wgmma waits at their barriers
    EXPECT_LE(arch.hasFloat8Products, arch.hasWgmma);      // it is the only mainloop for 8-bit floats
    EXPECT_LE(arch.hasFloat8Products, arch.hasTensorMaps); // which fetch both factors
    EXPECT_GT(arch.mmaShare, 0);
    EXPECT_LE(arch.mmaShare, 1);
  }
}

} // namespace
