//===- Manifest.h - the manifest of a program -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PACKAGE_MANIFEST_H
#define MPC_PACKAGE_MANIFEST_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace mpc {

/// A kernel of a GPU plan, and the number of the module that has it.
struct PlannedKernel {
  std::string symbol;
  size_t module = 0;
  kernel::EntryAttr entry;
  int64_t sharedBytes = 0; ///< dynamic, as in NvptxKernel
};

/// One target's form of the program: a module whose arena is planned (mpc-plan-arena) and whose dispatches have their
/// launches (mpc-emit-kernels).
struct TargetPlan {
  std::string target; ///< "host", "sm_80"
  mlir::OwningOpRef<mlir::ModuleOp> module;
  // The rest is for GPUs only.
  std::vector<PlannedKernel> kernels;
  struct Module {
    std::string ptx, cubin = {}; ///< names of sections; the cubin's is empty without ptxas
  };
  std::vector<Module> modules;
};

/// What the manifest records about the program as a whole.
struct ProgramInfo {
  std::string model, precision = "fp32", optLevel = "O0";
  std::string loss = {}; ///< what the user wrote as --loss, and each --step behind it; empty where neither was given
  int64_t batch = 0;
};

/// The manifest, and the data section that it points into.
struct Manifest {
  std::string json, data;
};

/// Describes a program: the variables and steps of the target-free module, and its plans. Fails with a
/// diagnostic on a contraction that no library computes.
mlir::FailureOr<Manifest> buildManifest(mlir::ModuleOp module, const ProgramInfo &info,
                                        llvm::ArrayRef<TargetPlan> plans);

} // namespace mpc
#endif
