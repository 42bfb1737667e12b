//===- Ring.cpp - the mbarriers of a ring --------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/Ring.h"
#include "passes/Lowering/Schedule/SharedBytes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

Ring::Ring(Code c, int stages, int cluster) : c(c), stages(stages), cluster(cluster) {
  fullBarriers = kernel::SharedOp::create(c.b, LLVM::LLVMPointerType::get(c.b.getContext(), 3),
                                          ringBarrierBytes(stages), /*alignment=*/8);
  emptyBarriers = c.at(fullBarriers, ringBarrierBytes(stages) / 2);
}

void Ring::init(int fillers, int readers) {
  for (int s = 0; s < stages; ++s) {
    kernel::MbarrierInitOp::create(c.b, c.at(fullBarriers, s * 8), uint32_t(fillers));
    kernel::MbarrierInitOp::create(c.b, c.at(emptyBarriers, s * 8), uint32_t(readers * cluster));
  }
}

Ring::Position Ring::next(Position p) {
  Value around = c.equal(p.stage, stages - 1), following = c.add(p.stage, 1), first = c.i32(0);
  return {c.select(around, first, following), c.select(around, c.bitXor(p.parity, 1), p.parity)};
}

Ring::Position Ring::advanced(Position p, Value count) {
  Value far = c.add(p.stage, count), rounds = c.div(far, stages);
  return {c.rem(far, stages), c.bitXor(p.parity, c.rem(rounds, 2))};
}

void Ring::release(Value stage, Value lane, Value also) {
  // One lane arrives for each block of the cluster.
  c.when(c.both(also, c.below(lane, cluster)),
         [&] { kernel::MbarrierArriveOp::create(c.b, at(emptyBarriers, stage), cluster > 1 ? lane : Value()); });
}
