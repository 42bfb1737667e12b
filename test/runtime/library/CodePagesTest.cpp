//===- CodePagesTest.cpp - What generated code occupies -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Providers.h"
#include "RandomShapes.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <fstream>
#include <memory>

namespace mpc::test {
namespace {

/// Returns the lines of smaps with the flags of anonymous mappings that hold code and may get huge pages.
std::vector<std::string> mergeableCode() {
  std::vector<std::string> found;
  bool code = false;
  std::ifstream maps("/proc/self/smaps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    unsigned long inode = 1;
    char mode[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &begin, &end, mode, &inode) == 4)
      code = mode[2] == 'x' && inode == 0 && line.find('[') == std::string::npos;
    else if (code && line.rfind("VmFlags:", 0) == 0 && line.find(" nh") == std::string::npos)
      found.push_back(line);
  }
  return found;
}

TEST(CodePages, GeneratedCodeStaysInSmallPages) {
  std::string modes;
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::getline(file, modes);
  if (modes.find("[always]") == std::string::npos)
    GTEST_SKIP() << "the system takes huge pages on request only";
  for (const Provider &provider : providers()) {
    SCOPED_TRACE(provider.name);
    const mpc_library *library = provider.open(2);
    std::vector<std::unique_ptr<Problem>> problems;
    for (int32_t op : {MPC_MATMUL, MPC_CONV_FORWARD, MPC_CONV_INPUT_GRAD, MPC_CONV_WEIGHT_GRAD})
      for (uint64_t seed = 0; seed < 10; ++seed)
        problems.push_back(std::make_unique<Problem>(library, randomDesc(op, MPC_F32, seed), seed));
    EXPECT_EQ(mergeableCode(), std::vector<std::string>());
  }
}

} // namespace
} // namespace mpc::test
