//===- Ptxas.h - NVIDIA's assembler as a subprocess ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_CODEGEN_PTXAS_H
#define MPC_CODEGEN_PTXAS_H
#include "compiler/Codegen/NvptxCodegen.h"
#include "llvm/ADT/StringMap.h"

namespace mpc {

/// The path of ptxas: it is looked for on PATH, in $CUDA_HOME/bin and in /usr/local/cuda/bin; empty when
/// there is none.
std::string findPtxas();

struct PtxasResult {
  std::string cubin;                    ///< empty after an error
  std::string error;                    ///< names the kernel
  llvm::StringMap<PtxasReport> reports; ///< keyed by kernel
};

/// Assembles PTX text. May be called by several threads at once.
PtxasResult runPtxas(llvm::StringRef ptxas, llvm::StringRef ptx, const GpuArch &arch);

/// Reads the output of ptxas -v. Warnings that name no kernel belong to the kernel whose compilation was
/// announced last.
llvm::StringMap<PtxasReport> parsePtxasReport(llvm::StringRef text);

/// Returns ptxas's first error with the name of the kernel that contains the line of the PTX text.
std::string describePtxasError(llvm::StringRef output, llvm::StringRef ptx);

} // namespace mpc
#endif
