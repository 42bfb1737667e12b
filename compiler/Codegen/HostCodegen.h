//===- HostCodegen.h - modules of host kernels become shared objects ----------===//
//
// Optimises kernels (mpc-emit-kernels) with LLVM for every CPU asked for, and links one shared object per CPU, in process.
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

/// A CPU that code is made for; `name` is the suffix of the program's section ("x86-64-v3", "x86-64-v4", "native").
struct HostCpu {
  std::string name;
  static HostCpu v3() { return {"x86-64-v3"}; }
  static HostCpu v4() { return {"x86-64-v4"}; }
  static HostCpu native() { return {"native"}; }
};

/// An ELF shared object that exports one symbol per kernel and imports at most libm's functions, memset, memcpy and memmove.
struct HostObject {
  HostCpu cpu;
  std::string bytes;
};

/// Modules of kernels that a program has at most, the units of parallel compilation: enough to balance two to eight threads, few enough that what a module costs
/// by itself does not count.
inline constexpr unsigned hostUnits = 16;

/// Dialects, external models and translations that a context needs for kernels.
void registerHostDialects(mlir::DialectRegistry &registry);

/// Compiles all kernels of the modules, which stay as they are, for each CPU on `threads` threads. Fails with a diagnostic (unknown CPU, internal error of LLVM or LLD).
/// `relocatable`: the objects are what a linker takes, for --emit=obj, instead of shared ones.
mlir::FailureOr<std::vector<HostObject>> compileHostKernels(llvm::ArrayRef<mlir::ModuleOp> modules, llvm::ArrayRef<HostCpu> cpus, unsigned threads = 2,
                                                            bool relocatable = false);
/// The optimised LLVM IR of a module's kernels for one CPU, for --emit=llvm.
mlir::FailureOr<std::string> hostLLVMIR(mlir::ModuleOp module, const HostCpu &cpu);

} // namespace mpc
#endif
