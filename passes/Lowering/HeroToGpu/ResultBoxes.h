//===- ResultBoxes.h - results that leave a warpgroup as boxes -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The short way from wgmma's sums to memory: the epilogue is computed in the registers where the sums are, its 16-bit
// results are put into shared memory (store_matrix), and one thread has the tensor memory accelerator store them, which
// overlaps with the next tile. All other results go through Drain.h: the sums go through shared memory in 32 bits, and
// threads that then hold neighbours compute the epilogue and store it.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_RESULTBOXES_H
#define MPC_LOWERING_HEROTOGPU_RESULTBOXES_H
#include "passes/Lowering/HeroToGpu/Sink.h"
#include "passes/Lowering/Schedule/Box.h"

namespace mpc::hero {

/// The boxes of 64 x 64 elements in which all results of the dispatch can be stored. Nullopt where results
/// are not of 16 bits, do not lie in such boxes, or take many ops: few registers are left there, and the code
/// is repeated for each sum.
std::optional<Box> resultBoxOf(const Problem &problem);

class ResultBoxes {
public:
  /// `firstMap` is the number of the first result's tensor map; `memory` has wgmmaOutBytes for this warpgroup,
  /// aligned to 1024. `thread` is the thread's number in the warpgroup, and `rank` the warpgroup's number
  /// below `warpgroups`.
  ResultBoxes(Code c, const Problem &problem, Box box, unsigned firstMap, mlir::Value memory, mlir::Value thread,
              mlir::Value rank, int warpgroups);

  /// Stores the sums of a warpgroup, [bands of 64 rows, columns / 8, 4], at (firstM, firstN) of matrix z.
  void put(Epilogue &epilogue, mlir::Value firstM, mlir::Value firstN, mlir::Value z, int columns,
           llvm::ArrayRef<mlir::Value> sums);
  /// Waits at the end of the kernel, since shared memory must last until the stores have read it.
  void finish();

private:
  void barrier();
  void store(mlir::Value firstM, mlir::Value firstN, mlir::Value z, unsigned result, mlir::Value from);

  Code c;
  const Problem &problem;
  Operand result;
  Box box;
  unsigned firstMap;
  mlir::Value memory, thread, rank, leader;
  int warpgroups;
};

} // namespace mpc::hero
#endif
