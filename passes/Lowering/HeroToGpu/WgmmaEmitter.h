//===- WgmmaEmitter.h - the parts of the warpgroups' mainloop ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_WGMMAEMITTER_H
#define MPC_LOWERING_HEROTOGPU_WGMMAEMITTER_H
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/HeroToGpu/MainKernel.h"
#include "passes/Lowering/HeroToGpu/Ring.h"
#include "passes/Lowering/Schedule/Box.h"
#include "passes/Lowering/Schedule/SharedBytes.h"

namespace mpc::hero {

/// The threads of a warpgroup, which has four warps.
inline constexpr int warpgroupThreads = 4 * warpThreads;

/// Emits the code of one thread (Wgmma.cpp says what the threads do): what all threads share, that of the producer
/// (WgmmaProducer.cpp), and that of the consumers (WgmmaConsumer.cpp).
class WgmmaEmitter {
public:
  explicit WgmmaEmitter(const MainKernel &main);

  void run();
  llvm::SmallVector<kernel::TensorMapAttr> maps() const;

private:
  bool gathers() const { return !boxA || !boxB; }
  bool hasBoxes() const { return boxA || boxB; }
  unsigned inputMaps() const { return unsigned(boxA.has_value()) + unsigned(boxB.has_value()); }
  /// The number of blocks of the cluster that share the operand with this outer axis.
  int blocksOf(Axis outer) const { return schedule.clusterAxis == outer ? 1 : schedule.cluster; }

  //===-- What all threads share -------------------------------------------------------===//

  void initBarriers();
  void blockBarrier();
  /// Emits a loop over the block's work items.
  void forEachPiece(mlir::ValueRange init, llvm::function_ref<Values(const BlockPlace &, mlir::ValueRange)> body);

  //===-- The producer -----------------------------------------------------------------===//

  void produce();
  Ring::Position producePiece(const BlockPlace &place, Ring::Position start, mlir::Value leader);

  //===-- The consumers ----------------------------------------------------------------===//

  void consume(mlir::Value rank);
  void awaitTurn(mlir::Value piece, mlir::Value rank);
  void passTurn(mlir::Value rank);
  mlir::Value turnOf(mlir::Value rank) { return c.at(turns, c.wide(c.mul(rank, 8))); }
  Values multiply(const BlockPlace &place, mlir::Value rank, Ring::Position start);
  /// Starts one wgmma: for the 64 rows `band` and the k `step` of a stage. Without `sums` the product starts
  /// from zero.
  mlir::ValueRange startProduct(mlir::ValueRange sums, mlir::Value a, mlir::Value b, int band, int step);
  /// Starts the products of a stage, which add to the sums.
  void multiplyStage(llvm::MutableArrayRef<mlir::Value> sums, mlir::Value a, mlir::Value b);
  /// Computes the products of a stage, waits for them and adds them to the sums.
  void addStage(llvm::MutableArrayRef<mlir::Value> sums, mlir::Value a, mlir::Value b);
  Values wait(uint32_t pending, mlir::ValueRange sums);
  void drain(const BlockPlace &place, mlir::Value rank, mlir::Value firstM, llvm::ArrayRef<mlir::Value> sums);

  const MainKernel &main;
  Code c;
  const Problem &problem;
  const Schedule &schedule;
  const Tile &tile;
  std::optional<Box> boxA, boxB; ///< nullopt where the operand is gathered
  std::optional<Box> resultBox;  ///< nullopt where results are drained
  Ring ring;
  mlir::Value memory, memoryB, thread, lane, blockRank;
  mlir::Value turns; ///< ping-pong: an mbarrier for each consumer
};

} // namespace mpc::hero
#endif
