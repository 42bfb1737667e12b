//===- Manifest.h - the manifest of a program -----------------------------------------===//
#ifndef MPC_PACKAGE_MANIFEST_H
#define MPC_PACKAGE_MANIFEST_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>

namespace mpc {

/// How a loop dispatch is launched (runtime/abi/README.md).
struct KernelLaunch {
  std::string symbol;
  int64_t grid = 1, grain = 1;
};

/// What the manifest says about the program as a whole.
struct ProgramInfo {
  std::string model, precision = "fp32", optLevel = "O0";
  int64_t batch = 0;
};

/// The manifest and the data section that it points into.
struct Manifest {
  std::string json, data;
};

/// Writes down a module whose arena is planned (mpc-plan-arena). Fails with a diagnostic on a library dispatch that is none.
mlir::FailureOr<Manifest> buildManifest(mlir::ModuleOp module, const ProgramInfo &info,
                                        const llvm::DenseMap<mlir::Operation *, KernelLaunch> &kernels);

} // namespace mpc
#endif
