// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA's driver, which is loaded at run time, so that programs also start on machines without it.
#pragma once

#include "runtime/cuda/Api.h"

#include <optional>
#include <string>
#include <string_view>

namespace mpc::rt::cuda {

struct Gpu {
  int device = 0;
  std::string name;        // "NVIDIA H200"
  int compute = 0;         // 90 stands for compute capability 9.0
  size_t bytes = 0;        // size of its memory
  int64_t sharedBytes = 0; // the most that a block may have
  int multiprocessors = 0;
  int driver = 0; // the driver's CUDA version: 12040 is 12.4
};

struct Functions {
#define MPC_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters;
  MPC_CUDA_FUNCTIONS(MPC_CUDA_MEMBER)
  MPC_CUDA_OPTIONAL_FUNCTIONS(MPC_CUDA_MEMBER) // null if the driver lacks them
#undef MPC_CUDA_MEMBER
};

/// The functions of the driver are members, by the names of MPC_CUDA_FUNCTIONS and MPC_CUDA_OPTIONAL_FUNCTIONS.
class Driver : public Functions {
public:
  /// Opens the driver's library and initializes it, once; returns the same object at every call. Throws Error that says
  /// what is missing: the driver, a function (when the driver is too old for it), or a GPU.
  static const Driver &get();

  /// Returns the first GPU that CUDA_VISIBLE_DEVICES leaves. Throws Error.
  Gpu gpu() const;
  /// Throws Error "cuda: ACTION: NAME: the driver's text" when a call failed.
  void check(Result result, std::string_view action, std::string_view hint = {}) const {
    if (result != kSuccess)
      failed(result, action, hint);
  }
  /// Returns e.g. "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered".
  std::string describe(Result result) const;

private:
  Driver();
  [[noreturn]] void failed(Result result, std::string_view action, std::string_view hint) const;
};

/// Returns "12.4" for 12040, which is how the driver writes versions.
std::string versionText(int version);
/// Returns the first version of CUDA whose driver compiles PTX of a version, both written as the driver does: 12000
/// for 8.0 (80).
int cudaOfPtx(int ptxVersion);

} // namespace mpc::rt::cuda
