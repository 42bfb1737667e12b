// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/Reuse.h"
#include "passes/Memory/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc::memory {
#define GEN_PASS_DEF_FINDREUSEPASS
#include "passes/Memory/Passes.h.inc"
} // namespace mpc::memory

namespace {
struct FindReuse : memory::impl::FindReusePassBase<FindReuse> {
  void runOnOperation() override {
    Builder b(&getContext());
    // A batch is one launch, so its members are passed over.
    getOperation().walk<WalkOrder::PreOrder>([&](kernel::DispatchOp dispatch) {
      SmallVector<Attribute> lists;
      int64_t pairs = 0;
      for (const auto &inputs : kernel::reusableInputs(dispatch)) {
        lists.push_back(b.getDenseI64ArrayAttr(inputs));
        pairs += inputs.size();
      }
      // An earlier answer was for another body, perhaps.
      dispatch.removeMayReuseAttr();
      if (pairs > 0 && !dispatch.computesNothing())
        dispatch.setMayReuseAttr(b.getArrayAttr(lists));
      numReusable += pairs;
      return WalkResult::skip();
    });
  }
};
} // namespace
