//===- KernelToHost.cpp - a dispatch becomes a function over a slice of its grid ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/KernelToHost/KernelToHost.h"
#include "dialects/Kernel/Analysis/SameCode.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "passes/Lowering/KernelToHost/Nest.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc;

/// The scopes that an access to buffer `skip` does not alias: those of all other buffers, since buffers do
/// not overlap. (A result that shares an operand's buffer has no scope of its own.)
static ArrayAttr scopesWithout(ArrayRef<Attribute> scopes, size_t skip, MLIRContext *context) {
  llvm::SmallVector<Attribute> others;
  for (auto [i, scope] : llvm::enumerate(scopes))
    if (i != skip)
      others.push_back(scope);
  return others.empty() ? ArrayAttr() : ArrayAttr::get(context, others);
}

/// The nanoseconds that one position of the grid takes, roughly: vectorised arithmetic, math functions, memory.
static double estimate(LLVM::LLVMFuncOp function, double iterations) {
  double perElement = 0;
  function.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (isa<LLVM::LoadOp, LLVM::StoreOp>(op))
      perElement += 0.2;
    else if (dialect == "math")
      perElement += 1;
    else if (dialect == "arith")
      perElement += 0.03;
    else if (dialect == "kernel") // a conversion, which is some ten of arith's ops
      perElement += 0.3;
  });
  return perElement * iterations;
}

/// Returns whether the function addresses nothing but the element that its loop is at. Then its code holds no extent.
static bool isOfAnyLength(LLVM::LLVMFuncOp function) {
  WalkResult result = function.walk([](LLVM::GEPOp address) {
    return WalkResult(success(llvm::all_of(address.getDynamicIndices(), llvm::IsaPred<BlockArgument>)));
  });
  return !result.wasInterrupted();
}

FailureOr<kernel::LaunchAttr> mpc::emitHostKernel(kernel::DispatchOp dispatch, ModuleOp module, StringRef symbol) {
  FailureOr<Plan> plan = readPlan(dispatch);
  if (failed(plan))
    return failure();
  MLIRContext *context = dispatch.getContext();
  Location loc = dispatch.getLoc();
  ImplicitLocOpBuilder b(loc, context);
  b.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, b.getI64Type(), b.getI64Type()});
  auto function = LLVM::LLVMFuncOp::create(b, loc, symbol, type);
  function.setNoUnwind(true);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  b.setInsertionPointToStart(entry);

  Block &body = dispatch.getBody().front();
  ValueRange yielded = dispatch.yielded();
  size_t inputs = body.getNumArguments();
  auto domain = LLVM::AliasScopeDomainAttr::get(context, b.getStringAttr(symbol));
  llvm::SmallVector<Attribute> scopes;
  for (size_t i = 0; i < inputs + yielded.size(); ++i)
    scopes.push_back(LLVM::AliasScopeAttr::get(domain));
  ElementEmitter e(b, module);
  e.b.setInsertionPoint(entry->getTerminator());
  auto bufferAt = [&](size_t position, Type tensor) -> Buffer {
    Value at = LLVM::GEPOp::create(e.b, pointer, pointer, entry->getArgument(0),
                                   ArrayRef<LLVM::GEPArg>{int32_t(position)}, LLVM::GEPNoWrapFlags::inbounds);
    Value base = LLVM::LoadOp::create(e.b, pointer, at, /*alignment=*/8);
    return {base, cast<RankedTensorType>(tensor), b.getArrayAttr(scopes[position]),
            scopesWithout(scopes, position, context)};
  };
  llvm::SmallVector<Buffer> inputBuffers, results;
  for (BlockArgument argument : body.getArguments()) {
    inputBuffers.push_back(bufferAt(argument.getArgNumber(), argument.getType()));
    e.bindBuffer(argument, inputBuffers.back());
  }
  for (auto [r, input] : llvm::enumerate(dispatch.inPlaceInputs())) {
    if (input >= 0) { // both use one SSA pointer, so LLVM knows that they are the same memory
      results.push_back(inputBuffers[input]);
      results.back().type = cast<RankedTensorType>(yielded[r].getType());
    } else {
      results.push_back(bufferAt(inputs + r, yielded[r].getType()));
    }
  }

  int64_t grid = emitNest(*plan, dispatch, results, e, entry->getArgument(1), entry->getArgument(2));
  if (e.failed())
    return failure();
  // A thread should get 10 microseconds of work, which is several times what waking it costs.
  double iterations =
      plan->form == kernel::Form::Scatter ? kernel::countOf(yielded[0]) : plan->keptCount() * plan->reducedCount();
  iterations /= double(plan->cuts.size() + 1); // each element is computed by one of the loop's parts
  double ns = estimate(function, iterations / std::max<int64_t>(grid, 1));
  // A flat kernel, whose grid counts elements, has the same grain for any number of them.
  bool isFlat = kernel::isFlat(dispatch);
  if (isFlat && !isOfAnyLength(function))
    return emitError(loc, "internal error: a kernel for any number of elements reads another place than the element's"),
           failure();
  double positions = std::ceil(10000 / (isFlat ? ns : std::max(ns, 1.0)));
  int64_t grain = isFlat ? int64_t(positions) : std::clamp<int64_t>(int64_t(positions), 1, grid);
  return kernel::LaunchAttr::of(function, grid, grain, /*args=*/{});
}
