// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CompiledArithmetic.h"
#include "compiler/Codegen/HostLowering.h"
#include "compiler/Codegen/LinkShared.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

std::string mpc::test::loopOver(const std::string &name, const std::string &op, bool binary, const std::string &from,
                                const std::string &to) {
  std::string load = "  %p1 = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, " + from +
                     "\n  %y = llvm.load %p1 : !llvm.ptr -> " + from + "\n";
  return "llvm.func @" + name +
         "(%a: !llvm.ptr, %b: !llvm.ptr, %o: !llvm.ptr, %n: i64) {\n"
         "  %zero = arith.constant 0 : i64\n  %one = arith.constant 1 : i64\n"
         "  scf.for %i = %zero to %n step %one : i64 {\n"
         "  %p0 = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, " +
         from + "\n  %x = llvm.load %p0 : !llvm.ptr -> " + from + "\n" + (binary ? load : "") + "  " + op +
         "\n  %q = llvm.getelementptr %o[%i] : (!llvm.ptr, i64) -> !llvm.ptr, " + to + "\n  llvm.store %r, %q : " + to +
         ", !llvm.ptr\n  }\n  llvm.return\n}\n";
}

CompiledArithmetic::CompiledArithmetic(const std::string &text) : context(makeContext()) {
  context->loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  lowerDeviceArithmetic(*module);
  EXPECT_TRUE(succeeded(convertToLLVMDialect(*module)));
  llvm::LLVMContext llvmContext;
  auto ir = mlir::translateModuleToLLVMIR(*module, llvmContext);
  std::string error;
  auto machine = createTargetMachine(HostCpu::oldest(), error);
  optimizeLoops(*ir, *machine);
  vectorizeLoops(*ir, *machine);
  for (const llvm::Function &f : *ir)
    EXPECT_TRUE(!f.isDeclaration() || f.isIntrinsic()) << f.getName().str();
  auto object = linkShared(mlir::UnknownLoc::get(context.get()), {emitObject(*ir, *machine)}, "math.so");
  library = std::make_unique<Library>(*object);
}
