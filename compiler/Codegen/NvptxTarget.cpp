//===- NvptxTarget.cpp - LLVM's optimiser and code generator for PTX ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/NvptxTarget.h"
#include "compiler/Codegen/OptPipeline.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"
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

namespace {

/// Loads neighbours of 16 bits as words of two. A bf16 number becomes an f32 by moving its bits into the upper half of
/// a register: of a word that is one shift or one mask, where the code generator would cut the word into halves first.
struct WidenPairs : PassInfoMixin<WidenPairs> {
  static PreservedAnalyses run(Function &function, FunctionAnalysisManager &) {
    SmallVector<LoadInst *> pairs;
    for (Instruction &instruction : instructions(function))
      if (auto *load = dyn_cast<LoadInst>(&instruction); load && isOfPairs(*load))
        pairs.push_back(load);
    for (LoadInst *load : pairs)
      widen(*load);
    if (pairs.empty())
      return PreservedAnalyses::all();
    PreservedAnalyses preserved;
    preserved.preserveSet<CFGAnalyses>();
    return preserved;
  }

private:
  static bool isHalf(const User *user) {
    auto *extract = dyn_cast<ExtractElementInst>(user);
    return extract && isa<ConstantInt>(extract->getIndexOperand());
  }

  /// Returns whether the load is one of pairs of which at least one number is widened.
  static bool isOfPairs(const LoadInst &load) {
    auto *type = dyn_cast<FixedVectorType>(load.getType());
    return type && type->getElementType()->isIntegerTy(16) && type->getNumElements() % 2 == 0 && load.isSimple() &&
           load.getAlign() >= Align(4) && all_of(load.users(), isHalf) && any_of(load.users(), [](const User *half) {
             return any_of(half->users(), [&](const User *extension) {
               return any_of(extension->users(), [&](const User *shifted) { return raises(shifted, half); });
             });
           });
  }

  /// Returns whether the instruction moves half a word into the upper half of a register.
  static bool raises(const User *shifted, const Value *half) {
    using namespace PatternMatch;
    return shifted->getType()->isIntegerTy(32) && match(shifted, m_Shl(m_ZExt(m_Specific(half)), m_SpecificInt(16)));
  }

  static void widen(LoadInst &load) {
    IRBuilder<> b(&load);
    unsigned count = cast<FixedVectorType>(load.getType())->getNumElements() / 2;
    Type *type = count == 1 ? b.getInt32Ty() : cast<Type>(FixedVectorType::get(b.getInt32Ty(), count));
    LoadInst *words = b.CreateAlignedLoad(type, load.getPointerOperand(), load.getAlign());
    words->copyMetadata(load, {LLVMContext::MD_alias_scope, LLVMContext::MD_noalias, LLVMContext::MD_invariant_load,
                               LLVMContext::MD_access_group});
    for (User *user : make_early_inc_range(load.users())) {
      auto *half = cast<ExtractElementInst>(user);
      uint64_t i = cast<ConstantInt>(half->getIndexOperand())->getZExtValue();
      b.SetInsertPoint(half);
      Value *word = count == 1 ? words : b.CreateExtractElement(words, i / 2);
      Value *inUpper = i % 2 ? b.CreateAnd(word, 0xffff0000) : b.CreateShl(word, 16);
      for (User *extension : make_early_inc_range(half->users()))
        for (User *shifted : make_early_inc_range(extension->users()))
          if (raises(shifted, half))
            shifted->replaceAllUsesWith(inUpper);
      half->replaceAllUsesWith(b.CreateTrunc(i % 2 ? b.CreateLShr(word, 16) : word, b.getInt16Ty()));
      half->eraseFromParent();
    }
    load.eraseFromParent();
  }
};

} // namespace

void mpc::optimizeForNvptx(Module &module, TargetMachine &machine) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false; // there are no vector units to fill
  tuning.SLPVectorization = false;
  runPipeline(module, machine, tuning, [](PassBuilder &builder) {
    builder.registerOptimizerLastEPCallback([](ModulePassManager &passes, OptimizationLevel, ThinOrFullLTOPhase) {
      FunctionPassManager onFunctions;
      onFunctions.addPass(LoadStoreVectorizerPass()); // the code generator runs it too, but then no pair is seen here
      onFunctions.addPass(WidenPairs());
      onFunctions.addPass(DCEPass()); // the halves that nothing reads any more
      passes.addPass(createModuleToFunctionPassAdaptor(std::move(onFunctions)));
    });
    return builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3);
  });
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
