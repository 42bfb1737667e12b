// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/NativeCpu.h"
#include "runtime/abi/mpc/cpu.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

std::vector<std::string> mpc::nativeFeatures() {
#define MPC_FEATURE(NAME) NAME,
  static constexpr const char *known[] = {MPC_CPU_FEATURES(MPC_FEATURE)};
#undef MPC_FEATURE
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> features;
  for (const char *name : known)
    if (host.lookup(name))
      features.push_back(name);
  return features;
}
