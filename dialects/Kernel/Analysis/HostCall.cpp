#include "dialects/Kernel/Analysis/HostCall.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;
using namespace mpc::graph;

bool kernel::isPerColumn(Value v, Value like) {
  ArrayRef<int64_t> shape = shapeOf(v);
  return !shape.empty() && shape.back() == shapeOf(like).back() && typeOf(v).getNumElements() == shape.back();
}

FailureOr<HostCall> HostCall::of(DispatchOp dispatch) {
  Block &body = dispatch.getBody().front();
  HostCall call;
  call.contraction = *body.getOps<ContractionOpInterface>().begin();
  Value product = call.contraction->getResult(0);
  bool columnsAreLast = call.contraction.getBiasDim() == typeOf(product).getRank() - 1;
  if (auto add = product.hasOneUse() && columnsAreLast ? dyn_cast<AddOp>(*product.user_begin()) : nullptr) {
    Value addend = add.getLhs() == product ? add.getRhs() : add.getLhs();
    if (isa<BlockArgument>(addend) && add.getType() == product.getType() && isPerColumn(addend, add)) {
      call.bias = add;
      call.addend = addend;
    }
  }
  OperandRange yielded = body.getTerminator()->getOperands();
  auto stored = llvm::find(yielded, call.value());
  if (stored == yielded.end())
    return emitErrorWithHint(call.contraction.getLoc(), "on the host, loops read a library's result from memory, and this dispatch does not return it",
                             "add it to the results of the dispatch, or compute what follows it in another one");
  call.result = unsigned(stored - yielded.begin());
  return call;
}
