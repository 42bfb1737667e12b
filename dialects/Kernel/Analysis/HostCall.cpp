// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/HostCall.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;
using namespace mpc::graph;

/// Whether `v` has one number for each column of `like`: all its dimensions but the last are 1.
static bool isPerColumn(Value v, Value like) {
  ArrayRef<int64_t> shape = shapeOf(v);
  return !shape.empty() && shape.back() == shapeOf(like).back() && typeOf(v).getNumElements() == shape.back();
}

std::optional<Bias> kernel::biasOf(ContractionOpInterface contraction) {
  Value product = contraction->getResult(0);
  if (!product.hasOneUse() || contraction.getBiasDim() != typeOf(product).getRank() - 1 || elementOf(product).isF64())
    return std::nullopt;
  auto add = dyn_cast<AddOp>(*product.user_begin());
  if (!add || add.getType() != product.getType())
    return std::nullopt;
  Value addend = add.getLhs() == product ? add.getRhs() : add.getLhs();
  return isPerColumn(addend, add) ? std::optional(Bias{add, addend}) : std::nullopt;
}

FailureOr<HostCall> HostCall::of(DispatchOp dispatch) {
  HostCall call;
  call.contraction = dispatch.getContraction();
  if (std::optional<Bias> bias = biasOf(call.contraction); bias && isa<BlockArgument>(bias->addend)) {
    call.bias = bias->add;
    call.addend = bias->addend;
  }
  OperandRange yielded = dispatch.yielded();
  auto stored = llvm::find(yielded, call.value());
  if (stored == yielded.end())
    return emitErrorWithHint(
        call.contraction.getLoc(),
        "on the host, loops read a library's result from memory, and this dispatch does not return it",
        "add it to the results of the dispatch, or compute what follows it in another one");
  call.result = unsigned(stored - yielded.begin());
  return call;
}
