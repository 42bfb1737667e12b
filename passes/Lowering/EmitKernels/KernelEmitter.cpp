//===- KernelEmitter.cpp - emits each distinct dispatch once -------------------===//
#include "passes/Lowering/EmitKernels/KernelEmitter.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "passes/Lowering/KernelToHost/KernelToHost.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;

KernelEmitter::KernelEmitter(ModuleOp parent, unsigned units)
    : parent(parent), target(kernel::TargetAttr::of(parent)), units(units) {
  if (!target)
    target = kernel::TargetAttr::get(parent.getContext(), "host");
}

ModuleOp KernelEmitter::nextModule() {
  size_t number = known.size() - 1;
  if (made.size() < units) {
    OpBuilder b = OpBuilder::atBlockEnd(parent.getBody());
    made.push_back(ModuleOp::create(b, UnknownLoc::get(parent.getContext()), ("kernels" + Twine(made.size())).str()));
    made.back()->setAttr(kernel::TargetAttr::name, target);
  }
  return made[number % units];
}

/// Emits the loops behind a host library's call: the kernel of a dispatch that reads the call's result and computes
/// all other results.
static FailureOr<kernel::LaunchAttr> emitLoopsBehind(const kernel::HostCall &call, kernel::DispatchOp dispatch,
                                                     ModuleOp module, StringRef symbol) {
  Block &body = dispatch.getBody().front();
  int64_t inputs = dispatch.getInputs().size();
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> reads;
  auto read = [&](ValueRange values) {
    reads.insert_range(
        llvm::make_filter_range(values, [&](Value v) { return isa<BlockArgument>(v) || v == call.value(); }));
  };
  for (Operation &op : body.without_terminator())
    if (&op != call.contraction && &op != call.bias) {
      ops.push_back(&op);
      read(op.getOperands());
    }
  SmallVector<Value> computed;
  SmallVector<int64_t> results;
  for (auto [r, v] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (r != call.result) {
      computed.push_back(v);
      results.push_back(inputs + int64_t(r));
    }
  read(computed);

  Block holder; // what a dispatch reads comes from outside of it
  OpBuilder b(dispatch.getContext());
  b.setInsertionPointToStart(&holder);
  SmallVector<int64_t> args;
  for (Value v : reads) {
    holder.addArgument(v.getType(), v.getLoc());
    auto argument = dyn_cast<BlockArgument>(v);
    args.push_back(argument ? int64_t(argument.getArgNumber()) : inputs + int64_t(call.result));
  }
  llvm::append_range(args, results);
  FailureOr<kernel::DispatchOp> loops = kernel::createLoops(
      b, dispatch.getLoc(), dispatch.getName(), holder.getArguments(), [&](OpBuilder &inside, ValueRange arguments) {
        IRMapping inLoops;
        inLoops.map(reads.getArrayRef(), arguments);
        for (Operation *op : ops)
          inside.clone(*op, inLoops);
        return llvm::map_to_vector(computed, [&](Value v) { return inLoops.lookup(v); });
      });
  if (failed(loops))
    return failure();
  FailureOr<kernel::LaunchAttr> launch = emitHostKernel(*loops, module, symbol);
  if (failed(launch))
    return failure();
  return kernel::LaunchAttr::get(b.getContext(), launch->getKernel(), launch->getGrid(), launch->getGrain(), args);
}

FailureOr<ArrayAttr> KernelEmitter::emit(kernel::DispatchOp dispatch, StringRef symbol) {
  ModuleOp module = nextModule();
  if (target.getGpu() && dispatch.isContraction()) {
    FailureOr<SmallVector<kernel::LaunchAttr>> launches = emitGpuHero(dispatch, module, symbol);
    if (failed(launches))
      return failure();
    return ArrayAttr::get(parent.getContext(), llvm::to_vector_of<Attribute>(*launches));
  }
  if (dispatch.isContraction()) {
    FailureOr<kernel::HostCall> call = kernel::HostCall::of(dispatch);
    if (failed(call))
      return failure();
    FailureOr<kernel::LaunchAttr> loops = emitLoopsBehind(*call, dispatch, module, symbol);
    if (failed(loops))
      return failure();
    return ArrayAttr::get(parent.getContext(), Attribute(*loops));
  }
  FailureOr<kernel::LaunchAttr> launch =
      target.getGpu() ? emitGpuKernel(dispatch, module, symbol) : emitHostKernel(dispatch, module, symbol);
  if (failed(launch))
    return failure();
  return ArrayAttr::get(parent.getContext(), Attribute(*launch));
}

FailureOr<ArrayAttr> KernelEmitter::add(kernel::DispatchOp dispatch) {
  auto [entry, isNew] = known.try_emplace(dispatch);
  if (!isNew)
    return entry->second;
  FailureOr<ArrayAttr> launches = emit(dispatch, ("k" + Twine(known.size() - 1)).str());
  if (failed(launches))
    known.erase(entry);
  else
    entry->second = *launches;
  return launches;
}
