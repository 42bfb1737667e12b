//===- Libm.cpp - the remaining math functions call libm ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/MathApprox/MathApprox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

void mpc::callLibm(Operation *root) {
  auto module = cast<ModuleOp>(root);
  llvm::SmallVector<Operation *> ops;
  root->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    // The name is that of the double-precision function; f32 functions have an `f` behind it.
    StringRef name = llvm::StringSwitch<StringRef>(op->getName().getStringRef())
                         .Case("math.exp", "exp")
                         .Case("math.log", "log")
                         .Case("math.log1p", "log1p")
                         .Case("math.expm1", "expm1")
                         .Case("math.sin", "sin")
                         .Case("math.cos", "cos")
                         .Case("math.tan", "tan")
                         .Case("math.asin", "asin")
                         .Case("math.acos", "acos")
                         .Case("math.atan", "atan")
                         .Case("math.sinh", "sinh")
                         .Case("math.cosh", "cosh")
                         .Case("math.tanh", "tanh")
                         .Case("math.asinh", "asinh")
                         .Case("math.acosh", "acosh")
                         .Case("math.atanh", "atanh")
                         .Case("math.erf", "erf")
                         .Case("math.erfc", "erfc")
                         .Case("math.powf", "pow")
                         .Case("arith.remf", "fmod")
                         .Default("");
    if (name.empty())
      continue;
    Type type = op->getResult(0).getType();
    std::string symbol = name.str() + (type.isF32() ? "f" : "");
    OpBuilder b(op);
    if (!module.lookupSymbol(symbol)) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      llvm::SmallVector<Type> arguments(op->getNumOperands(), type);
      auto function =
          LLVM::LLVMFuncOp::create(b, module.getLoc(), symbol, LLVM::LLVMFunctionType::get(type, arguments));
      // The functions are declared pure, since no code reads errno; so equal calls can be merged and unused
      // ones dropped.
      function.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
          b.getContext(), {LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef,
                           LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef}));
      function.setNoUnwind(true);
      function.setWillReturn(true);
    }
    auto call = LLVM::CallOp::create(b, op->getLoc(), TypeRange{type}, symbol, op->getOperands());
    op->getResult(0).replaceAllUsesWith(call.getResult());
    op->erase();
  }
}
