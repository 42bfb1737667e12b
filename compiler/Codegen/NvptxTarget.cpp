//===- NvptxTarget.cpp - LLVM's optimiser and code generator for PTX ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/NvptxTarget.h"
#include "compiler/Codegen/OptPipeline.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace llvm;

std::unique_ptr<TargetMachine> mpc::createNvptxMachine(const GpuArch &arch) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  Triple triple("nvptx64-nvidia-cuda");
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  assert(target && "LLVM is built with the NVPTX target");
  TargetOptions options;
  // Operations are contracted only where the kernel says fma: multiplications and additions are printed with
  // .rn, and ptxas and the driver do not contract those.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, arch.name, ("+ptx" + Twine(arch.ptxVersion)).str(), options, std::nullopt,
                                  std::nullopt, CodeGenOptLevel::Aggressive));
}

void mpc::optimizeForNvptx(Module &module, TargetMachine &machine) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false; // there are no vector units to fill
  tuning.SLPVectorization = false;
  runPipeline(module, machine, tuning,
              [](PassBuilder &builder) { return builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3); });
}

/// Returns the name of a function that a kernel calls but that is not defined for GPUs; "" when there is
/// none. LLVM aborts on such intrinsics, and ptxas reports such calls without saying where they come from.
static std::string findUndefinedCall(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallBase>(&instruction);
      Function *callee = call ? call->getCalledFunction() : nullptr;
      if (!callee || !callee->isDeclaration())
        continue;
      bool missing = !callee->isIntrinsic();
      switch (callee->getIntrinsicID()) {
      case Intrinsic::exp:
      case Intrinsic::exp10:
      case Intrinsic::log:
      case Intrinsic::log10:
      case Intrinsic::pow:
      case Intrinsic::powi:
      case Intrinsic::tan:
      case Intrinsic::asin:
      case Intrinsic::acos:
      case Intrinsic::atan:
      case Intrinsic::atan2:
      case Intrinsic::sinh:
      case Intrinsic::cosh:
      case Intrinsic::tanh:
        missing = true;
        break;
      case Intrinsic::exp2:
      case Intrinsic::log2:
      case Intrinsic::sin:
      case Intrinsic::cos:
        missing = !call->hasApproxFunc(); // the hardware's functions are only approximate
        break;
      default:
        break;
      }
      if (missing)
        return ("kernel '" + function.getName() + "' calls '" + callee->getName() + "', which has no code for GPUs")
            .str();
    }
  return "";
}

std::string mpc::emitPtx(Module &module, TargetMachine &machine, std::string &error) {
  error = findUndefinedCall(module);
  if (!error.empty())
    return "";
  struct Collector : DiagnosticHandler {
    std::string &error;
    explicit Collector(std::string &error) : error(error) {}
    bool handleDiagnostics(const DiagnosticInfo &info) override {
      if (info.getSeverity() == DS_Error && error.empty()) {
        raw_string_ostream stream(error);
        DiagnosticPrinterRawOStream printer(stream);
        info.print(printer);
      }
      return true;
    }
  };
  module.getContext().setDiagnosticHandler(std::make_unique<Collector>(error));
  std::string text = emitFile(module, machine, CodeGenFileType::AssemblyFile);
  return error.empty() ? text : "";
}
