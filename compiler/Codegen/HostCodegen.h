//===- HostCodegen.h - dispatches become shared objects of host kernels -------===//
//
// Collects the loop dispatches of a module (those not marked `library`), emits each distinct one once, optimises them with
// LLVM for every CPU asked for, and links one shared object per CPU, in process.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_CODEGEN_HOSTCODEGEN_H
#define MPC_CODEGEN_HOSTCODEGEN_H
#include "dialects/Kernel/IR/Kernel.h"
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace mpc {

/// How a kernel is launched: see runtime/abi/mpc/kernel.h and `grid`, `grain` in runtime/abi/README.md.
struct HostKernel {
  std::string symbol;
  int64_t grid = 1, grain = 1;
};

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

class HostCodegen {
public:
  /// `modules`: kernels are dealt out to at most so many LLVM modules, the units of parallel compilation.
  explicit HostCodegen(mlir::MLIRContext *context, size_t modules = defaultModules);
  ~HostCodegen();
  HostCodegen(const HostCodegen &) = delete;

  /// Enough modules to balance two to eight threads, few enough that what a module costs by itself does not count.
  static constexpr size_t defaultModules = 16;

  /// Dialects and external models that a context needs before the first `add`.
  static void registerDialects(mlir::DialectRegistry &registry);

  /// Emits the dispatch, or finds the same body, types and attributes (names and locations do not count) emitted before.
  /// Fails with a located diagnostic.
  mlir::FailureOr<HostKernel> add(kernel::DispatchOp dispatch);

  /// Compiles all kernels for each CPU on `threads` threads. Fails with a diagnostic (unknown CPU, internal error of LLVM or LLD).
  /// `relocatable`: the objects are what a linker takes, for --emit=obj, instead of shared ones.
  mlir::FailureOr<std::vector<HostObject>> emit(llvm::ArrayRef<HostCpu> cpus, unsigned threads = 2, bool relocatable = false);

  /// Number of distinct kernels so far.
  size_t size() const;
  /// The optimised LLVM IR of all kernels for one CPU, for --emit=llvm; needs a HostCodegen of one module.
  mlir::FailureOr<std::string> llvmIR(const HostCpu &cpu);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace mpc
#endif
