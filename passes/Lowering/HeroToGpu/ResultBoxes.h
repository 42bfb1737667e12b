//===- ResultBoxes.h - results that leave a warpgroup as boxes -----------------------------------------===//
//
// The short way out of wgmma's sums: the epilogue is computed where the sums are, in registers, its results
// are put into shared memory in 16 bits (store_matrix), and one thread has the tensor memory accelerator
// store them, which goes on beside the next tile. Drain.h is the way for all other results: through shared
// memory in 32 bits, epilogue and stores by threads that have neighbours.
//
//===----------------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_RESULTBOXES_H
#define MPC_LOWERING_HEROTOGPU_RESULTBOXES_H
#include "passes/Lowering/HeroToGpu/Box.h"
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// Shared memory of a warpgroup, in which either way out works.
inline constexpr int64_t outBytes = 16 * 1024;

/// The boxes of 64 x 64 elements in which all results of the dispatch can be stored. Nullopt where they are
/// not of 16 bits, do not lie in such boxes, or are much to compute: registers are few there, and code is
/// written out for each sum.
std::optional<Box> resultBoxOf(const Problem &problem);

class ResultBoxes {
public:
  /// `firstMap`: position of the first result's tensor map. `memory`: outBytes of the warpgroup, aligned to
  /// 1024. `thread`: its number in the warpgroup; `rank`: of the warpgroup, below `warpgroups`.
  ResultBoxes(Code c, const Problem &problem, Box box, unsigned firstMap, mlir::Value memory,
              mlir::Value thread, mlir::Value rank, int warpgroups);

  /// The sums of a warpgroup, [bands of 64 rows, columns / 8, 4], at (firstM, firstN) of matrix z.
  void put(Epilogue &epilogue, mlir::Value firstM, mlir::Value firstN, mlir::Value z, int columns,
           llvm::ArrayRef<mlir::Value> sums);
  /// At the end: shared memory must last until it has been read.
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
