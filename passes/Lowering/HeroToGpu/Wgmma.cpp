//===- Wgmma.cpp - the warpgroups' mainloop -----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block's first warpgroup, the producer, brings tiles of A and B into a ring in shared memory (Ring.h); the
// others, the consumers, multiply them. For each work item (Raster.h) and each tile t of k:
//
//   producer:  wait until stage t is empty; start the loads of tile t, which fill it
//   consumer:  wait until stage t is full; start its wgmmas; once those of t - 1 are done, release stage t - 1
//   After the last tile the consumer stores the sums.
//
// So the tensor cores have the next tile's wgmmas before they finish this one's, and the producer loads the next
// work item while the consumers store. Sums stay in registers. Consumers either share the rows of a tile, partM
// each, 64 in each wgmma; or they take work items in turns (ping-pong): the ring is filled in the order of the
// items, so the second consumer starts when the first is about to end, and stores while the other multiplies.
//
// An operand whose tiles are boxes (Box.h) is loaded by one thread, and the barrier counts its bytes. The tiles of
// other operands are gathered by all threads of the producer with copy_async: each thread reports that its copies
// of tile t - lag have arrived once those of tile t are under way. A kernel may have an operand of each kind.
//
// The two blocks of a cluster share one operand; each loads a half of it into both.
//
// For 8-bit floats the sums in the tensor cores have few bits (kernel.wgmma), so each stage, 128 of k, is summed by
// itself and then added to the sums of the work item in f32 registers, 64 rows at a time. Meanwhile the tensor
// cores work for the other consumer.
//
//===----------------------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Wgmma.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/HeroToGpu/ResultBoxes.h"
#include "passes/Lowering/HeroToGpu/WgmmaEmitter.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

/// Registers of a thread where no thread gathers and there are three warpgroups: the launch gives every
/// thread 168, and the consumers get those that the producer gives up.
static constexpr int boxProducerRegisters = 40, boxConsumerRegisters = 232;

WgmmaEmitter::WgmmaEmitter(const MainKernel &main)
    : main(main), c(main.c), problem(main.problem), schedule(main.schedule), tile(schedule.tile),
      boxA(boxOf(problem.a, tile.m / blocksOf(Axis::M), tile.k)),
      boxB(boxOf(problem.b, tile.n / blocksOf(Axis::N), tile.k)),
      resultBox(main.results.empty() ? std::nullopt : resultBoxOf(problem)), ring(c, tile.stages, schedule.cluster) {
  memory = kernel::SharedOp::create(c.b, LLVM::LLVMPointerType::get(c.b.getContext(), 3),
                                    wgmmaRingBytes(tile) + tile.workers() * wgmmaOutBytes, /*alignment=*/1024);
  memoryB = c.at(memory, tile.stages * tile.m * wgmmaRowBytes);
  thread = kernel::ThreadIdOp::create(c.b, c.b.getI32Type());
  lane = c.rem(thread, warpThreads);
  if (tile.pingPong)
    turns = kernel::SharedOp::create(c.b, memory.getType(), turnBytes(tile), /*alignment=*/8);
  if (schedule.cluster > 1)
    blockRank = kernel::ClusterRankOp::create(c.b, c.b.getI32Type());
}

void WgmmaEmitter::run() {
  initBarriers();
  // The shuffle tells the assembler that the warp has one value, so that descriptors stay out of the
  // threads' registers.
  Value firstLane = c.i32(0);
  Value group = kernel::ShuffleOp::create(c.b, c.b.getI32Type(), kernel::ShuffleMode::Index,
                                          c.div(thread, warpgroupThreads), firstLane);
  auto setRegisters = [&](int count, int withoutGathers, bool increase) {
    if (tile.consumerRegisters != 0)
      kernel::SetRegistersOp::create(c.b, uint32_t(gathers() ? count : withoutGathers), increase);
  };
  c.branch(
      c.equal(group, 0),
      [&] {
        setRegisters(tile.producerRegisters, boxProducerRegisters, /*increase=*/false);
        produce();
      },
      [&] {
        setRegisters(tile.consumerRegisters, boxConsumerRegisters, /*increase=*/true);
        consume(c.add(group, -1));
      });
  // No block may exit while another block of the cluster can still write to its shared memory.
  if (schedule.cluster > 1)
    blockBarrier();
}

SmallVector<kernel::TensorMapAttr> WgmmaEmitter::maps() const {
  SmallVector<kernel::TensorMapAttr> result;
  if (boxA)
    result.push_back(boxA->map(problem.a, main.a.getArgNumber()));
  if (boxB)
    result.push_back(boxB->map(problem.b, main.b.getArgNumber()));
  if (resultBox) {
    for (auto [argument, value] : llvm::zip_equal(main.results, problem.dispatch.yielded()))
      result.push_back(
          resultBox->map(cast<RankedTensorType>(value.getType()).getElementType(), argument.getArgNumber()));
  }
  return result;
}

void WgmmaEmitter::blockBarrier() {
  if (schedule.cluster == 1)
    return c.barrier();
  kernel::WarpSyncOp::create(c.b);
  kernel::ClusterBarrierOp::create(c.b);
}

void WgmmaEmitter::initBarriers() {
  c.when(c.equal(thread, 0), [&] {
    // Each warp that reads arrives by itself, since it knows only that its own wgmmas are done.
    ring.init(/*fillers=*/(hasBoxes() ? 1 : 0) + (gathers() ? warpgroupThreads : 0),
              /*readers=*/4 * (tile.pingPong ? 1 : tile.workers()));
    for (int i = 0; i < turnBytes(tile); i += 8)
      kernel::MbarrierInitOp::create(c.b, c.at(turns, i), /*count=*/4u); // the warps of a consumer
    kernel::MbarrierFenceOp::create(c.b);
    unsigned count = inputMaps() + (resultBox ? unsigned(main.results.size()) : 0);
    for (unsigned map = 0; map < count; ++map)
      kernel::TensorPrefetchOp::create(c.b, map);
  });
  blockBarrier();
}

void WgmmaEmitter::forEachPiece(ValueRange init, llvm::function_ref<Values(const BlockPlace &, ValueRange)> body) {
  Value block = kernel::BlockIdOp::create(c.b, c.b.getI32Type(), kernel::Axis::X);
  Value blocks = kernel::GridSizeOp::create(c.b, c.b.getI32Type());
  Value step = c.div(blocks, schedule.cluster), pieces = c.i32(main.raster.pieces());
  c.rolledLoop(
      c.div(block, schedule.cluster), pieces, init,
      [&](Value piece, ValueRange carried) { return body(main.raster.place(c, thread, piece, blockRank), carried); },
      step);
}

SmallVector<kernel::TensorMapAttr> mpc::hero::emitWgmma(const MainKernel &main) {
  WgmmaEmitter emitter(main);
  // The loads name maps by their number in this list.
  SmallVector<kernel::TensorMapAttr> maps = emitter.maps();
  emitter.run();
  return maps;
}
