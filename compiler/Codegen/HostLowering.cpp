//===- HostLowering.cpp - scf, arith and math to the llvm dialect --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/HostLowering.h"
#include "passes/Lowering/MathApprox/MathApprox.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

LogicalResult mpc::lowerToLLVMDialect(ModuleOp module) {
  expandBFloat16(module);
  expandFloat8(module);
  expandReciprocal(module);
  expandF32Math(module);
  callLibm(module);
  return convertToLLVMDialect(module);
}

void mpc::lowerDeviceArithmetic(ModuleOp module) {
  module.walk([](arith::ArithFastMathInterface op) {
    auto flags = op.getFastMathFlagsAttr();
    if (!flags || !arith::bitEnumContainsAny(flags.getValue(), arith::FastMathFlags::reassoc))
      return;
    auto kept = arith::bitEnumClear(flags.getValue(), arith::FastMathFlags::reassoc);
    op->setAttr(op.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op.getContext(), kept));
  });
  expandBFloat16(module);
  expandFloat8(module);
  expandAllMath(module);
}

/// Renames the annotations of loops: on the back edge of a lowered scf.for it is a discardable attribute, but
/// llvm.br has an inherent attribute for it.
static void annotateLatches(ModuleOp module) {
  module.walk([](cf::BranchOp jump) {
    if (Attribute annotation = jump->removeAttr("llvm.loop_annotation"))
      jump->setAttr("loop_annotation", annotation);
  });
}

LogicalResult mpc::convertToLLVMDialect(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet loops(context);
  populateSCFToControlFlowConversionPatterns(loops);
  ConversionTarget flat(*context);
  flat.addIllegalDialect<scf::SCFDialect>();
  flat.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  if (failed(applyPartialConversion(module, flat, std::move(loops))))
    return failure();
  annotateLatches(module);

  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  target.addLegalDialect("nvvm"); // by name, since host kernels do not load the dialect
  return applyFullConversion(module, target, std::move(patterns));
}
