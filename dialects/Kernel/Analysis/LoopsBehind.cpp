// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/LoopsBehind.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

FailureOr<LoopsBehind> LoopsBehind::of(const HostCall &call, DispatchOp contraction) {
  Block &body = contraction.getBody().front();
  int64_t inputs = contraction.getInputs().size();
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
  for (auto [r, v] : llvm::enumerate(contraction.yielded()))
    if (r != call.result) {
      computed.push_back(v);
      results.push_back(inputs + int64_t(r));
    }
  read(computed);

  LoopsBehind behind;
  behind.holder = std::make_unique<Block>();
  for (Value v : reads) {
    behind.holder->addArgument(v.getType(), v.getLoc());
    auto argument = dyn_cast<BlockArgument>(v);
    behind.args.push_back(argument ? int64_t(argument.getArgNumber()) : inputs + int64_t(call.result));
  }
  llvm::append_range(behind.args, results);
  OpBuilder b(contraction.getContext());
  b.setInsertionPointToStart(behind.holder.get());
  FailureOr<DispatchOp> loops =
      createLoops(b, contraction.getLoc(), contraction.getName(), behind.holder->getArguments(),
                  [&](OpBuilder &inside, ValueRange arguments) {
                    IRMapping inLoops;
                    inLoops.map(reads.getArrayRef(), arguments);
                    for (Operation *op : ops)
                      inside.clone(*op, inLoops);
                    return llvm::map_to_vector(computed, [&](Value v) { return inLoops.lookup(v); });
                  });
  if (failed(loops))
    return failure();
  behind.dispatch = *loops;
  return behind;
}
