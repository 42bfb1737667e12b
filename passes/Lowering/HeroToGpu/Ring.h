//===- Ring.h - stages of shared memory, filled and emptied ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ring is a circular buffer of stages in shared memory. Each stage has two mbarriers, whose phases both
// sides count: a phase of `full` ends when everybody who fills the stage has done so, one of `empty` when all
// warps that read the stage have done so. In a cluster whose blocks load for each other, a stage is empty
// when it is empty in all of them.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_RING_H
#define MPC_LOWERING_HEROTOGPU_RING_H
#include "passes/Lowering/HeroToGpu/Code.h"

namespace mpc::hero {

class Ring {
public:
  /// A stage, and the parity of the number of rounds that the ring has made; both are i32.
  struct Position {
    mlir::Value stage, parity;
  };

  Ring(Code c, int stages, int cluster);

  /// Called by one thread before any other use (an mbarrier_fence and a barrier must follow): `fillers` arrivals make a
  /// stage full, and the arrivals of `readers` warps of each block of the cluster make it empty.
  void init(int fillers, int readers);

  /// The position at which everybody starts, and the positions one stage and `count` stages (i32) further on.
  Position start() { return {c.i32(0), c.i32(0)}; }
  Position next(Position p);
  Position advanced(Position p, mlir::Value count);
  mlir::Value nextStage(mlir::Value stage) {
    mlir::Value following = c.add(stage, 1), first = c.i32(0);
    return c.select(c.equal(stage, stages - 1), first, following);
  }

  mlir::Value full(mlir::Value stage) { return at(fullBarriers, stage); }
  void awaitFull(Position p) { kernel::MbarrierWaitOp::create(c.b, full(p.stage), p.parity); }
  /// In the first round there is nothing to wait for.
  void awaitEmpty(Position p) {
    mlir::Value before = c.bitXor(p.parity, 1);
    kernel::MbarrierWaitOp::create(c.b, at(emptyBarriers, p.stage), before);
  }
  void arriveFull(mlir::Value stage) { kernel::MbarrierArriveOp::create(c.b, at(fullBarriers, stage), mlir::Value()); }
  /// Says that the calling warp has read the stage. `lane` is the thread's lane; `also` is a further
  /// condition, which may be null.
  void release(mlir::Value stage, mlir::Value lane, mlir::Value also);

private:
  mlir::Value at(mlir::Value barriers, mlir::Value stage) { return c.at(barriers, c.wide(c.mul(stage, 8))); }

  Code c;
  int stages, cluster;
  mlir::Value fullBarriers, emptyBarriers;
};

} // namespace mpc::hero
#endif
