//===- NvptxCodegen.h - GPU kernels to PTX and cubins -------------------------------===//
//
// Takes a module of kernels (dialects/Kernel/IR/DeviceOps.td says what a kernel is), lowers it for one architecture and compiles it with LLVM's NVPTX back end, in
// process and without the CUDA toolkit; where there is a ptxas, assembles the PTX and keeps its report.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_CODEGEN_NVPTXCODEGEN_H
#define MPC_CODEGEN_NVPTXCODEGEN_H
#include "mlir/IR/BuiltinOps.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace mpc {

/// What `ptxas -v` says of a kernel.
struct PtxasReport {
  int registers = 0;        ///< per thread
  int stackBytes = 0;       ///< local memory, spills included
  int spillStoreBytes = 0;
  int spillLoadBytes = 0;
  int sharedBytes = 0;      ///< static
  int constantBytes = 0;    ///< parameters included
  int barriers = 0;
  std::vector<std::string> warnings; ///< "(C7510) Potential Performance Loss: ..."
};

/// How often instructions that decide the speed of a kernel stand in its PTX.
struct PtxInstructions {
  int mma = 0;          ///< mma.sync
  int wgmma = 0;        ///< wgmma.mma_async
  int loadMatrix = 0;   ///< ldmatrix
  int copyAsync = 0;    ///< cp.async
  int tensorCopies = 0; ///< cp.async.bulk.tensor
  int wideLoads = 0, otherLoads = 0;   ///< of global memory: 16 bytes at once, and fewer
  int wideStores = 0, otherStores = 0;
};

/// By kernel.
llvm::StringMap<PtxInstructions> countPtxInstructions(llvm::StringRef ptx);

struct NvptxKernel {
  std::string symbol;
  int threads = 0;                ///< of a block
  int resident = 0;               ///< blocks for each SM at most, of a kernel that is right for any number; 0: all of the grid
  int cluster = 1;                ///< blocks
  int64_t dynamicSharedBytes = 0; ///< that a launch must ask for; above 48 KB the function's limit must be raised first
  mlir::ArrayAttr tensorMaps = {}; ///< of #kernel.tensor_map: parameters behind the pointers; null: none
  std::optional<PtxasReport> report;
  PtxInstructions instructions;
  int64_t sharedBytes = 0; ///< of a block, static and dynamic
};

/// What the driver loads as one module.
struct NvptxModule {
  std::string ptx;
  std::string cubin; ///< empty without ptxas, or where it does not know the architecture
  std::vector<NvptxKernel> kernels;
};

struct NvptxOptions {
  const GpuArch *arch = nullptr;
  /// Kernels are dealt out to at most so many modules, the units of parallel compilation; the result does not depend on `threads`.
  size_t modules = 8;
  unsigned threads = 2;
  std::string ptxas; ///< path; empty: PTX only
};

/// Dialects and translations that a context needs.
void registerNvptxDialects(mlir::DialectRegistry &registry);

/// Compiles the kernels of `kernels` (left as it is). Fails with a located diagnostic: an instruction that the architecture lacks, a function without code for GPUs, an
/// error of ptxas with the kernel's name.
mlir::FailureOr<std::vector<NvptxModule>> compileNvptx(mlir::ModuleOp kernels, const NvptxOptions &options);

/// The LLVM IR of all kernels, before or after the optimiser, for looking.
mlir::FailureOr<std::string> nvptxLLVMIR(mlir::ModuleOp kernels, const GpuArch &arch, bool optimized);

} // namespace mpc
#endif
