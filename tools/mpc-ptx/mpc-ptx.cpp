//===- mpc-ptx.cpp - prints the PTX of kernels, for tests ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-ptx FILE.mlir [--arch=NAME] [--emit=ptx|llvm|llvm-opt|none] [--ptxas] [--modules=1] [--jobs=1]
//
// The kernels are compiled for the GPU of their module's kernel.target; --arch is that of kernels whose module has none
// (sm_80 unless it is given). With --ptxas it also assembles, and prints one line for each kernel: "k: 32 registers, 0
// spill stores, 0 spill loads, ..." (bytes), with warnings below it.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/NvptxCodegen.h"
#include "compiler/Codegen/Ptxas.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpc;

int main(int argc, char **argv) {
  llvm::cl::opt<std::string> file(llvm::cl::Positional, llvm::cl::desc("<module>"), llvm::cl::init("-"));
  llvm::cl::opt<std::string> archName(
      "arch", llvm::cl::desc("architecture of kernels whose module has no kernel.target"), llvm::cl::init("sm_80"));
  enum class Emit { Ptx, Llvm, LlvmOpt, None };
  llvm::cl::opt<Emit> emit("emit", llvm::cl::desc("what to print"), llvm::cl::init(Emit::Ptx),
                           llvm::cl::values(clEnumValN(Emit::Ptx, "ptx", "PTX"),
                                            clEnumValN(Emit::Llvm, "llvm", "LLVM IR"),
                                            clEnumValN(Emit::LlvmOpt, "llvm-opt", "optimised LLVM IR"),
                                            clEnumValN(Emit::None, "none", "nothing but reports")));
  llvm::cl::opt<bool> ptxas("ptxas", llvm::cl::desc("assemble and print the resources"));
  llvm::cl::opt<unsigned> modules("modules", llvm::cl::desc("split the kernels into so many"), llvm::cl::init(1));
  llvm::cl::opt<unsigned> jobs("jobs", llvm::cl::desc("threads to compile on"), llvm::cl::init(1));
  llvm::cl::ParseCommandLineOptions(argc, argv, "prints the PTX of GPU kernels\n");

  if (!findGpuArch(archName)) {
    llvm::errs() << "error: unknown architecture '" << archName << "'; known are " << gpuArchNames() << '\n';
    return 1;
  }
  DialectRegistry registry;
  registerNvptxDialects(registry);
  registry
      .insert<func::FuncDialect, graph::GraphDialect>(); // the ops that kernels were emitted from may stand beside them
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  auto parsed = parseSourceFile<ModuleOp>(file, sources, &context);
  if (!parsed)
    return 1;
  // Kernels stand alone, or in their own module beside the entries (mpc-emit-kernels).
  FailureOr<ModuleOp> kernels = gpuKernels(*parsed);
  if (failed(kernels))
    return 1;
  ModuleOp module = *kernels ? *kernels : *parsed;
  if (kernel::TargetAttr target = kernel::TargetAttr::of(module); !target) {
    module->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::get(&context, archName));
  } else if (archName.getNumOccurrences() > 0 && target.getName() != archName) {
    llvm::errs() << "error: the module is for " << target.getName() << ", not for " << archName << '\n';
    return 1;
  }
  if (emit == Emit::Llvm || emit == Emit::LlvmOpt) {
    auto text = nvptxLLVMIR(module, emit == Emit::LlvmOpt);
    if (failed(text))
      return 1;
    llvm::outs() << *text;
    return 0;
  }
  NvptxOptions options{.modules = modules, .threads = jobs, .ptxas = ptxas ? findPtxas() : ""};
  if (ptxas && options.ptxas.empty()) {
    llvm::errs() << "error: no ptxas on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin\n";
    return 1;
  }
  auto compiled = compileNvptx(module, options);
  if (failed(compiled))
    return 1;
  for (const NvptxModule &part : *compiled) {
    if (emit == Emit::Ptx)
      llvm::outs() << part.ptx;
    for (const NvptxKernel &kernel : part.kernels) {
      if (!kernel.report)
        continue;
      const PtxasReport &r = *kernel.report;
      llvm::outs() << kernel.symbol << ": " << r.registers << " registers, " << r.stackBytes << " stack, "
                   << r.spillStoreBytes << " spill stores, " << r.spillLoadBytes << " spill loads, " << r.sharedBytes
                   << " shared, " << kernel.dynamicSharedBytes << " dynamic shared, " << r.barriers << " barriers\n";
      for (const std::string &warning : r.warnings)
        llvm::outs() << "  " << warning << '\n';
    }
  }
  return 0;
}
