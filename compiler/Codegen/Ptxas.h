//===- Ptxas.h - NVIDIA's assembler as a subprocess ---------------------------------===//
#ifndef MPC_CODEGEN_PTXAS_H
#define MPC_CODEGEN_PTXAS_H
#include "compiler/Codegen/NvptxCodegen.h"
#include "llvm/ADT/StringMap.h"

namespace mpc {

/// The path of ptxas: on PATH, in $CUDA_HOME/bin or /usr/local/cuda/bin; empty when there is none.
std::string findPtxas();

struct PtxasResult {
  std::string cubin; ///< empty after an error
  std::string error; ///< names the kernel
  llvm::StringMap<PtxasReport> reports; ///< by kernel
};

/// Assembles PTX text. May be called by several threads at once.
PtxasResult runPtxas(llvm::StringRef ptxas, llvm::StringRef ptx, const GpuArch &arch);

/// Reads what ptxas -v printed. Warnings that name no kernel go to the one whose compilation was announced last.
llvm::StringMap<PtxasReport> parsePtxasReport(llvm::StringRef text);

/// ptxas's first error with the name of the kernel that the line of the PTX text lies in.
std::string describePtxasError(llvm::StringRef output, llvm::StringRef ptx);

} // namespace mpc
#endif
