//===- Batch.cpp - a batch of dispatches becomes one kernel ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before: kernel.dispatch batch "b" (...) { kernel.dispatch pointwise "x" ...; kernel.dispatch row "y" ...;
// kernel.yield ... }
// After:   llvm.func @k(...) { if (block < blocks of x) { x } else if (the block belongs to y) { y } }
//
// Members that compute the same function on other buffers share code, which gets the pointers of the member
// that the block belongs to; updates of parameters that have one shape are often such members. A block has as
// many threads as the member with the most; in other members the remaining threads do nothing. The kernel has
// one allocation of shared memory, which each member divides for itself.
//
//===------------------------------------------------------------------------------------===//
#include "dialects/Kernel/Analysis/SameCode.h"
#include "dialects/Kernel/IR/SharedMemory.h"
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "passes/Lowering/KernelToGpu/Threads.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

namespace {

/// Members that compute the same function on other buffers.
struct Alike {
  llvm::SmallVector<DispatchOp> members;
  LLVM::LLVMFuncOp function; ///< the kernel of the first member alone
  Blocks blocks;             ///< of that kernel
};

class BatchEmitter {
public:
  BatchEmitter(DispatchOp batch, ModuleOp module, StringRef symbol) : batch(batch), module(module), symbol(symbol) {}
  FailureOr<LaunchAttr> run();

private:
  LogicalResult emitMembers();
  /// Emits the code that these members share; their blocks are those from `first` on.
  void emitAlike(Alike &alike, Value block, int64_t first);
  /// Creates, at the insertion point, shared memory that is enough for each member.
  void createShared();
  /// Makes a member's code the code of block `number` (a value of the batch's kernel), with the batch's
  /// shared memory. With `threads` > 0 its barriers become barriers of that many threads.
  void adapt(LLVM::LLVMFuncOp member, Value number, int64_t threads);
  /// The parameter of the batch's kernel for a parameter of a member's kernel.
  Value parameterOf(DispatchOp member, unsigned parameter);

  DispatchOp batch;
  ModuleOp module;
  StringRef symbol;
  std::vector<Alike> kinds;
  LLVM::LLVMFuncOp function;
  ElementEmitter *e = nullptr;
  Value shared; ///< null where no member has any
  int64_t threads = 0;
};

} // namespace

LogicalResult BatchEmitter::emitMembers() {
  for (DispatchOp member : batch.members()) {
    auto kind = llvm::find_if(kinds, [&](Alike &alike) { return SameCode::isEqual(alike.members.front(), member); });
    if (kind != kinds.end()) {
      kind->members.push_back(member);
      continue;
    }
    std::string name = (symbol + "_" + Twine(kinds.size())).str();
    FailureOr<LaunchAttr> launch = emitGpuKernel(member, module, name);
    if (failed(launch))
      return failure();
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    kinds.push_back({{member}, function, {launch->getGrid().front(), EntryAttr::of(function).getThreads()}});
    threads = std::max(threads, kinds.back().blocks.threads);
  }
  return success();
}

Value BatchEmitter::parameterOf(DispatchOp member, unsigned parameter) {
  unsigned inputs = member.getInputs().size();
  if (parameter < inputs)
    return function.getArgument(cast<BlockArgument>(member.getInputs()[parameter]).getArgNumber());
  unsigned before = 0; // the results of the members before this one
  for (DispatchOp other : batch.members()) {
    if (other == member)
      break;
    before += other.getNumResults();
  }
  return function.getArgument(batch.getInputs().size() + before + parameter - inputs);
}

void BatchEmitter::createShared() {
  SharedMemory most;
  for (Alike &alike : kinds) {
    SharedMemory own(alike.function);
    most.bytes = std::max(most.bytes, own.bytes);
    most.alignment = std::max(most.alignment, own.alignment);
  }
  if (most.bytes > 0)
    shared = SharedOp::create(e->b, LLVM::LLVMPointerType::get(batch.getContext(), 3), most.bytes, most.alignment);
}

void BatchEmitter::adapt(LLVM::LLVMFuncOp member, Value number, int64_t threads) {
  SharedMemory memory;
  member.walk([&](Operation *op) {
    if (auto piece = dyn_cast<SharedOp>(op)) {
      OpBuilder b(piece);
      Value place = LLVM::GEPOp::create(b, piece.getLoc(), piece.getType(), b.getI8Type(), shared,
                                        ArrayRef<LLVM::GEPArg>{int32_t(memory.add(piece))});
      piece.replaceAllUsesWith(place);
      piece.erase();
    } else if (auto id = dyn_cast<BlockIdOp>(op)) {
      id.getResult().replaceAllUsesWith(number);
      id.erase();
    } else if (auto barrier = dyn_cast<BarrierOp>(op); barrier && threads > 0) {
      barrier.setThreads(int32_t(threads));
    }
  });
}

void BatchEmitter::emitAlike(Alike &alike, Value block, int64_t first) {
  int64_t blocks = alike.blocks.count;
  Value local = e->sub(block, first);
  e->when(e->below(local, blocks * int64_t(alike.members.size())), [&] {
    bool several = alike.members.size() > 1;
    Value number = several ? remainder(*e, local, blocks) : local,
          which = several ? quotient(*e, local, blocks) : Value();
    IRMapping mapping;
    for (BlockArgument parameter : alike.function.getArguments()) {
      Value pointer = parameterOf(alike.members.front(), parameter.getArgNumber());
      for (auto [i, member] : llvm::drop_begin(llvm::enumerate(alike.members))) {
        Value other = parameterOf(member, parameter.getArgNumber());
        if (other != pointer)
          pointer = e->select(e->below(which, int64_t(i)), pointer, other);
      }
      mapping.map(parameter, pointer);
    }
    bool all = alike.blocks.threads == threads;
    e->when(all ? Value() : e->below(threadId(*e), alike.blocks.threads), [&] {
      adapt(alike.function, number, all ? 0 : alike.blocks.threads);
      for (Operation &op : alike.function.getBody().front().without_terminator())
        e->b.clone(op, mapping);
    });
  });
  alike.function.erase();
}

FailureOr<LaunchAttr> BatchEmitter::run() {
  if (failed(emitMembers()))
    return failure();
  ImplicitLocOpBuilder b(batch.getLoc(), batch.getContext());
  b.setInsertionPointToEnd(module.getBody());
  function = createGpuFunction(b, batch, symbol);
  b.setInsertionPoint(function.getBody().front().getTerminator());
  ElementEmitter emitter(b, module);
  e = &emitter;
  createShared();
  Value block = blockId(emitter);
  int64_t blocks = 0;
  for (Alike &alike : kinds) {
    emitAlike(alike, block, blocks);
    blocks += alike.blocks.count * int64_t(alike.members.size());
  }
  return makeKernel(function, {blocks, threads});
}

FailureOr<LaunchAttr> mpc::emitGpuBatch(DispatchOp batch, ModuleOp module, StringRef symbol) {
  return BatchEmitter(batch, module, symbol).run();
}
