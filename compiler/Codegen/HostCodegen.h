//===- HostCodegen.h - modules of host kernels become shared objects ----------===//
//
// Optimises kernels (mpc-emit-kernels) with LLVM for every requested CPU, and links one shared object per
// CPU, in process.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_CODEGEN_HOSTCODEGEN_H
#define MPC_CODEGEN_HOSTCODEGEN_H
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace mpc {

/// A CPU that code is compiled for; `name` is the suffix of the program's section ("x86-64-v3", "x86-64-v4", "native").
struct HostCpu {
  std::string name;
  static HostCpu v3() { return {"x86-64-v3"}; }
  static HostCpu v4() { return {"x86-64-v4"}; }
  static HostCpu native() { return {"native"}; }
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
