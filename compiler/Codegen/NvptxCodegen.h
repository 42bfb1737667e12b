//===- NvptxCodegen.h - GPU kernels to PTX and cubins -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes a module of kernels (dialects/Kernel/IR/DeviceOps.td says what a kernel is), lowers it for the GPU of its
// `kernel.target` and compiles it with LLVM's NVPTX back end, in process and without the CUDA toolkit. Where
// there is a ptxas, assembles the PTX and keeps its report.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_CODEGEN_NVPTXCODEGEN_H
#define MPC_CODEGEN_NVPTXCODEGEN_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace mpc {

/// The numbers that `ptxas -v` reports for a kernel.
struct PtxasReport {
  int registers = 0;  ///< per thread
  int stackBytes = 0; ///< local memory, spills included
  int spillStoreBytes = 0;
  int spillLoadBytes = 0;
  int sharedBytes = 0;   ///< static
  int constantBytes = 0; ///< parameters included
  int barriers = 0;
  std::vector<std::string> warnings; ///< "(C7510) Potential Performance Loss: ..."
};

/// The numbers of those instructions in a kernel's PTX that decide its speed.
struct PtxInstructions {
  int mma = 0;          ///< mma.sync
  int wgmma = 0;        ///< wgmma.mma_async
  int loadMatrix = 0;   ///< ldmatrix
  int copyAsync = 0;    ///< cp.async
  int tensorCopies = 0; ///< cp.async.bulk.tensor
  int wideLoads = 0,
      otherLoads = 0; ///< accesses to global memory that move 16 bytes at once, and those that move fewer
  int wideStores = 0, otherStores = 0;
  int all = 0;        ///< instructions of every kind
  bool loops = false; ///< whether a branch leads back, so that a thread executes some of them more than once
};

/// Keyed by kernel.
llvm::StringMap<PtxInstructions> countPtxInstructions(llvm::StringRef ptx);

struct NvptxKernel {
  std::string symbol;
  kernel::EntryAttr entry = {};
  int64_t dynamicSharedBytes =
      0; ///< the bytes that a launch must ask for, after it has raised the limit of the function to them
  std::optional<PtxasReport> report;
  PtxInstructions instructions;
  int64_t sharedBytes = 0; ///< the bytes of a block, static and dynamic
};

/// The code that the driver loads as one module.
struct NvptxModule {
  std::string ptx;
  std::string cubin; ///< empty without ptxas, or where it does not know the architecture
  std::vector<NvptxKernel> kernels;
};

struct NvptxOptions {
  /// The most modules that kernels are dealt out to, which are the units of parallel compilation. The result
  /// does not depend on `threads`.
  size_t modules = 8;
  unsigned threads = 2;
  std::string ptxas; ///< path; empty: PTX only
};

/// Registers the dialects and translations that a context needs.
void registerNvptxDialects(mlir::DialectRegistry &registry);

/// Returns the module of kernels in a module whose kernels have been emitted for a GPU; null where nothing is computed.
/// A second one is an error: compileNvptx divides the kernels of one module itself.
mlir::FailureOr<mlir::ModuleOp> gpuKernels(mlir::ModuleOp module);

/// Compiles the kernels of `kernels`, which does not change. Fails with a located diagnostic: for a module without a
/// GPU, an instruction that the architecture lacks, a function that has no code for GPUs, or an error of ptxas (with
/// the kernel's name).
mlir::FailureOr<std::vector<NvptxModule>> compileNvptx(mlir::ModuleOp kernels, const NvptxOptions &options);

/// Returns the LLVM IR of all kernels, before or after the optimiser, for inspection.
mlir::FailureOr<std::string> nvptxLLVMIR(mlir::ModuleOp kernels, bool optimized);

} // namespace mpc
#endif
