//===- ResultBoxes.cpp - store_matrix, tensor_store ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/ResultBoxes.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/Schedule/SharedBytes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

/// A box has 64 rows of 128 bytes, swizzled by chunks of 16 bytes. Two boxes fill wgmmaOutBytes and are used in turns.
static constexpr int boxRows = 64, rowBytes = 128, chunkBytes = 16;
static constexpr int64_t boxBytes = int64_t(boxRows) * rowBytes, buffers = wgmmaOutBytes / boxBytes;
/// The most ops behind the hero whose elements take code.
static constexpr int mostOps = 6;

std::optional<Box> mpc::hero::resultBoxOf(const Problem &problem) {
  if (!problem.columnSums.empty())
    return std::nullopt;
  int ops = 0;
  Block &body = problem.dispatch->getRegion(0).front();
  // A thread would read such a tensor in pieces of 4 bytes, all at once, for which it has too few registers.
  Value hero = problem.hero->getResult(0);
  for (Value argument : body.getArguments())
    if (kernel::countOf(argument) >= kernel::countOf(hero) &&
        llvm::any_of(argument.getUsers(), [&](Operation *user) { return user != problem.hero; }))
      return std::nullopt;
  for (Operation &op : body.without_terminator())
    if (&op != problem.hero) {
      auto elemental = dyn_cast<ElementalOpInterface>(op);
      if (!elemental || elemental.getElementCost() == ElementCost::Long)
        return std::nullopt;
      ops += elemental.getElementCost() == ElementCost::Short;
    }
  auto isHalf = [](Value v) { return graph::elementOf(v).isF16() || graph::elementOf(v).isBF16(); };
  if (ops > mostOps || problem.storeVector(2) != 2 || !llvm::all_of(problem.dispatch.yielded(), isHalf))
    return std::nullopt;
  return boxOfResult(problem.result(), boxRows);
}

ResultBoxes::ResultBoxes(Code c, const Problem &problem, Box box, unsigned firstMap, Value memory, Value thread,
                         Value rank, int warpgroups)
    : c(c), problem(problem), result(problem.result()), box(std::move(box)), firstMap(firstMap), memory(memory),
      thread(thread), rank(rank), leader(c.equal(thread, 0)), warpgroups(warpgroups) {}

void ResultBoxes::barrier() {
  // The number of a barrier is a constant, so each warpgroup has code with a barrier of its own.
  if (warpgroups == 1)
    return c.barrier(1, 128);
  c.branch(c.equal(rank, 0), [&] { c.barrier(1, 128); }, [&] { c.barrier(2, 128); });
}

void ResultBoxes::put(Epilogue &epilogue, Value firstM, Value firstN, Value z, int columns, ArrayRef<Value> sums) {
  Value lane = c.rem(thread, warpThreads), warpRow = c.mul(c.div(thread, warpThreads), 16);
  // Sum 2 h + p of a fragment is at row lane / 4 + 8 h, column 2 (lane mod 4) + p (PTX ISA, wgmma.m64nNk16).
  Value row = c.add(warpRow, c.div(lane, 4)), column = c.mul(c.rem(lane, 4), 2);
  // For store_matrix, lanes 0 to 7 hold the addresses of the first matrix's rows, lanes 8 to 15 those of the
  // second, and so on. The first two matrices are rows 0 to 7 and 8 to 15 of one chunk, the other two those
  // of the next chunk.
  Value line = c.add(warpRow, c.rem(lane, 16));
  Value inMatrix = c.rem(lane, 8), chunk = c.bitXor(c.div(lane, 16), inMatrix);
  Value lineAt = c.at(memory, c.wide(c.mul(line, rowBytes)));
  OperandRange results = problem.dispatch.yielded();
  int bands = int(sums.size()) / (columns / 2), boxes = columns / boxElements;
  int64_t count = int64_t(bands) * boxes * results.size(), number = 0;
  for (int band = 0; band < bands; ++band)
    for (int strip = 0; strip < boxes; ++strip) {
      Value boxM = c.add(firstM, band * boxRows), boxN = c.add(firstN, strip * boxElements);
      Value rows[] = {c.add(boxM, row), c.add(c.add(boxM, row), 8)};
      std::vector<Values> packed(results.size()); // for each result: pairs, [8 columns, 2 h]
      for (int j = 0; j < boxElements / 8; ++j) {
        Value pairColumn = c.add(c.add(boxN, 8 * j), column);
        for (int h = 0; h < 2; ++h) {
          ArrayRef<Value> pair = sums.slice((size_t(band) * (columns / 8) + strip * 8 + j) * 4 + 2 * h, 2);
          for (auto [r, values] : llvm::enumerate(epilogue.values(rows[h], pairColumn, pair)))
            packed[r].push_back(LLVM::BitcastOp::create(c.b, c.b.getI32Type(), c.vector(ArrayRef<Value>(values))));
        }
      }
      for (unsigned r = 0; r < results.size(); ++r, ++number) {
        int64_t buffer = number % buffers * boxBytes;
        // The last store from this buffer must have read it, so at most the store before this one is still
        // under way. Where the number of boxes is odd, the tile starts with the buffer that the last tile
        // ended with.
        uint32_t pending = number == 0 && count % buffers != 0 ? 0 : uint32_t(buffers - 1);
        c.when(leader, [&] { kernel::TensorStoreWaitOp::create(c.b, pending, /*read=*/true); });
        barrier();
        for (int i = 0; i < boxElements / 16; ++i) {
          Value at = c.at(c.at(lineAt, c.wide(c.mul(c.bitXor(chunk, 2 * i), chunkBytes))), buffer);
          kernel::StoreMatrixOp::create(c.b, at, ValueRange(ArrayRef<Value>(packed[r]).slice(size_t(4) * i, 4)),
                                        /*transpose=*/false);
        }
        kernel::AsyncFenceOp::create(c.b);
        barrier();
        c.when(leader, [&] { store(boxM, boxN, z, r, c.at(memory, buffer)); });
      }
    }
}

void ResultBoxes::store(Value firstM, Value firstN, Value z, unsigned number, Value from) {
  auto digitsOf = [&](Axis axis, Value v) { return splitDigits(c, result.digits[unsigned(axis)], v); };
  Values m = digitsOf(Axis::M, firstM), n = digitsOf(Axis::N, firstN), matrix = digitsOf(Axis::Z, z);
  Values coordinates;
  for (const Box::Dimension &at : box.dimensions)
    coordinates.push_back((at.axis == Axis::M ? m : at.axis == Axis::N ? n : matrix)[at.digit]);
  kernel::TensorStoreOp::create(c.b, from, firstMap + number, coordinates);
  kernel::TensorStoreCommitOp::create(c.b);
}

void ResultBoxes::finish() {
  c.when(leader, [&] { kernel::TensorStoreWaitOp::create(c.b, 0u, /*read=*/true); });
}
