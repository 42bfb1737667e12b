//===- HostCodegen.h - modules of host kernels become shared objects ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimises kernels (mpc-emit-kernels) with LLVM for every requested CPU, and links one shared object per
// CPU, in process.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_CODEGEN_HOSTCODEGEN_H
#define MPC_CODEGEN_HOSTCODEGEN_H
#include "runtime/abi/mpc/cpu.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace mpc {

/// A CPU that code is compiled for; `name` is one of runtime/abi/mpc/cpu.h, which the program's section is named for.
struct HostCpu {
  std::string name;
  /// The levels, the oldest first.
  static std::vector<HostCpu> levels() {
#define MPC_LEVEL(LEVEL, NAME) HostCpu{NAME},
    return {MPC_CPU_LEVELS(MPC_LEVEL)};
#undef MPC_LEVEL
  }
  /// The oldest level, whose code every CPU that mpc is made for can run.
  static HostCpu oldest() { return levels().front(); }
  /// The machine that compiles.
  static HostCpu native() { return {MPC_CPU_NATIVE}; }
};

/// An ELF shared object. It exports one symbol per kernel and imports at most libm's functions, memset,
/// memcpy and memmove.
struct HostObject {
  HostCpu cpu;
  std::string bytes;
};

/// The most modules of kernels that a program has; they are the units of parallel compilation. There are
/// enough to balance two to eight threads, but so few that the overhead of a module does not count.
inline constexpr unsigned hostUnits = 16;

/// Registers the dialects, external models and translations that a context needs for kernels.
void registerHostDialects(mlir::DialectRegistry &registry);

/// Compiles all kernels of the modules, which do not change, for each CPU on `threads` threads. Fails with a
/// diagnostic (unknown CPU, internal error of LLVM or LLD). With `relocatable` the objects are relocatable
/// ones for a linker (--emit=obj) instead of shared ones.
mlir::FailureOr<std::vector<HostObject>> compileHostKernels(llvm::ArrayRef<mlir::ModuleOp> modules,
                                                            llvm::ArrayRef<HostCpu> cpus, unsigned threads = 2,
                                                            bool relocatable = false);
/// Returns the optimised LLVM IR of a module's kernels for one CPU, for --emit=llvm.
mlir::FailureOr<std::string> hostLLVMIR(mlir::ModuleOp module, const HostCpu &cpu);

} // namespace mpc
#endif
