//===- Manifest.h - the manifest of a program -----------------------------------------===//
#ifndef MPC_PACKAGE_MANIFEST_H
#define MPC_PACKAGE_MANIFEST_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include <array>
#include <string>
#include <vector>

namespace mpc {

/// How a kernel is launched (runtime/abi/README.md).
struct KernelLaunch {
  /// An argument that is not an operand or result of the dispatch but its scratch.
  static constexpr int kScratch = -1; // as mpc::scratchArgument

  std::string symbol;
  std::array<int64_t, 3> grid = {1, 1, 1}; ///< the host uses the first axis only
  int64_t grain = 1;                       ///< host
  llvm::SmallVector<int> args = {};        ///< positions among the inputs, then the results; or kScratch
};

/// A kernel of a GPU plan, and the module that holds it.
struct PlannedKernel {
  std::string symbol;
  size_t module = 0;
  int64_t threads = 0, sharedBytes = 0;
  int64_t resident = 0, cluster = 1; ///< NvptxKernel
  llvm::SmallVector<kernel::TensorMapAttr> tensorMaps = {};
};

/// One target's form of the program: a module whose arena is planned (mpc-plan-arena), and its kernels.
struct TargetPlan {
  std::string target; ///< "host", "sm_80"
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Of every dispatch that computes something and is no library call: its launches, in order.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<KernelLaunch, 1>> launches;
  // GPUs only.
  std::vector<PlannedKernel> kernels;
  struct Module {
    std::string ptx, cubin = {}; ///< names of sections; no cubin without ptxas
  };
  std::vector<Module> modules;
};

/// Whether a dispatch computes any element: nothing is launched for the others.
bool computesNothing(kernel::DispatchOp dispatch);

/// What the manifest says about the program as a whole.
struct ProgramInfo {
  std::string model, precision = "fp32", optLevel = "O0";
  int64_t batch = 0;
};

/// The manifest and the data section that it points into.
struct Manifest {
  std::string json, data;
};

/// Writes down a program: variables and steps of the target-free module, and its plans. Fails with a diagnostic on a library dispatch that is none.
mlir::FailureOr<Manifest> buildManifest(mlir::ModuleOp module, const ProgramInfo &info, llvm::ArrayRef<TargetPlan> plans);

} // namespace mpc
#endif
