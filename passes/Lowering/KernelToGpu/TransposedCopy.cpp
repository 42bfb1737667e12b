//===- TransposedCopy.cpp - values and their transpose in one launch ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   y[..., r, c] = f(x, ...)      stored as they are
//   t[..., c, r] = y[..., r, c]   stored transposed
//
// A block has a tile of side x side. A thread computes pieces, which are neighbours along the columns, once;
// it stores those of y and puts those of t into shared memory at [c, r]. Behind a barrier it stores pieces of
// t, which are neighbours along the rows. So all accesses to global memory are as wide as the extents allow,
// at best 16 bytes of t.
//
// In shared memory a line of t has its 16-byte groups in another order, group ^ (c / elements of 16 bytes):
// so the threads of a warp, which write pieces at several c and a few r, meet different banks.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "passes/Lowering/KernelToGpu/Threads.h"

using namespace mlir;
using namespace mpc;

static constexpr int64_t side = gpuBlocks.copyTile, groupBytes = gpuBlocks.vectorBytes;

static graph::TransposeOp transposeOf(Value yielded) { return kernel::TransposedCopy::transposeOf(yielded); }

static int64_t bytesOf(Value v) { return ElementEmitter::storageType(graph::elementOf(v)).getIntOrFloatBitWidth() / 8; }

namespace {

class TransposedCopyEmitter {
public:
  TransposedCopyEmitter(const Plan &plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results, ElementEmitter &e);
  Blocks run();

private:
  /// The row and the column, in the tile, of a piece's first element.
  struct Piece {
    Value row, column; ///< i32
  };
  /// Calls body(piece, index of its first element) for the thread's pieces that exist; a piece has
  /// `neighbours` elements along the columns, or along the rows.
  void forPieces(bool alongRows, int64_t neighbours, llvm::function_ref<void(Piece, IndexVector)> body);
  /// The place in shared memory where [column, row], [column, row + 1], ... of the tile start.
  Value slot(Piece piece, int64_t bytes);

  ValueRange yielded;
  ArrayRef<Buffer> results;
  ElementEmitter &e;
  ArrayRef<int64_t> shape;
  int64_t rows, columns, batch, rowTiles, columnTiles, wide, threads;
  Value rowLow, columnLow, matrix;
};

} // namespace

/// The largest power of two up to `most` that divides the extent.
static int64_t piecesOf(int64_t extent, int64_t most) {
  while (extent % most != 0)
    most /= 2;
  return most;
}

TransposedCopyEmitter::TransposedCopyEmitter(const Plan &plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results,
                                             ElementEmitter &e)
    : yielded(dispatch.yielded()), results(results), e(e) {
  shape = kernel::TransposedCopy::of(dispatch)->shape;
  batch = plan.kept[0].extent, rows = plan.kept[1].extent, columns = plan.kept[2].extent;
  rowTiles = plan.kept[1].blocks(), columnTiles = plan.kept[2].blocks(), threads = plan.threads();
  wide = 1;
  for (Value v : yielded)
    wide = std::max(wide, groupBytes / bytesOf(v));
  // A piece of a transposed result is at most one 16-byte group, since a group is swizzled as a whole.
  for (Value v : yielded)
    if (transposeOf(v))
      wide = std::min(wide, groupBytes / bytesOf(v));
}

void TransposedCopyEmitter::forPieces(bool alongRows, int64_t neighbours,
                                      llvm::function_ref<void(Piece, IndexVector)> body) {
  int64_t perLine = side / neighbours;
  threadLoop(e, threadId(e), side * perLine, threads, {}, [&](Value number, ValueRange) -> llvm::SmallVector<Value> {
    Value line = quotient(e, number, perLine), first = e.mul(remainder(e, number, perLine), neighbours);
    Piece piece = alongRows ? Piece{first, line} : Piece{line, first};
    Value row = e.add(rowLow, piece.row), column = e.add(columnLow, piece.column), inside;
    if (rows % side != 0)
      inside = e.below(row, rows);
    if (columns % side != 0)
      inside = e.both(inside, e.below(column, columns));
    e.when(inside, [&] {
      IndexVector index;
      if (shape.size() > 2)
        index = e.delinearize(e.opaque(toI64(e, matrix), 0, batch - 1), shape.drop_back(2));
      index.push_back(e.opaque(toI64(e, row), 0, rows - 1));
      index.push_back(e.opaque(toI64(e, column), 0, columns - 1));
      body(piece, index);
    });
    return {};
  });
}

Value TransposedCopyEmitter::slot(Piece piece, int64_t bytes) {
  int64_t group = groupBytes / bytes;
  Value other = remainder(e, quotient(e, piece.column, group), side / group);
  Value place = e.bitXor(quotient(e, piece.row, group), other), within = remainder(e, piece.row, group);
  Value start = e.mul(place, group);
  return e.add(e.add(e.mul(piece.column, side), start), within);
}

Blocks TransposedCopyEmitter::run() {
  Value tile = blockId(e);
  columnLow = e.mul(remainder(e, tile, columnTiles), side);
  tile = quotient(e, tile, columnTiles);
  rowLow = e.mul(remainder(e, tile, rowTiles), side);
  matrix = quotient(e, tile, rowTiles);

  llvm::SmallVector<Buffer> shared(yielded.size());
  for (auto [r, v] : llvm::enumerate(yielded))
    if (transposeOf(v))
      shared[r] = sharedBuffer(e, kernel::TransposedCopy::tileOf(v));

  int64_t along = piecesOf(columns, wide);
  forPieces(/*alongRows=*/false, along, [&](Piece piece, IndexVector index) {
    // All values are computed before the first store, and the stores go result by result, so that neighbours
    // become one access.
    llvm::SmallVector<llvm::SmallVector<Value>> values(yielded.size());
    IndexVector at = index;
    for (int64_t i = 0; i < along; ++i) {
      at.back() = index.back() + Index(i);
      for (auto [r, v] : llvm::enumerate(yielded)) {
        graph::TransposeOp op = transposeOf(v);
        values[r].push_back(e.element(op ? op.getX() : v, at));
      }
    }
    for (auto [r, v] : llvm::enumerate(yielded)) {
      Value place = shared[r].pointer ? slot(piece, bytesOf(v)) : Value();
      Index first = place ? e.opaque(toI64(e, place), 0, side * side - 1) : e.linearize(index, shape);
      for (auto [i, value] : llvm::enumerate(values[r]))
        e.store(place ? shared[r] : results[r], first + Index(int64_t(i) * (place ? side : 1)), value);
    }
  });
  kernel::BarrierOp::create(e.b, /*id=*/0, /*threads=*/IntegerAttr());
  for (auto [r, v] : llvm::enumerate(yielded)) {
    if (!shared[r].pointer)
      continue;
    int64_t down = piecesOf(rows, groupBytes / bytesOf(v));
    forPieces(/*alongRows=*/true, down, [&](Piece piece, IndexVector index) {
      std::swap(index[index.size() - 2], index.back());
      Index from = e.opaque(toI64(e, slot(piece, bytesOf(v))), 0, side * side - 1);
      Index to = e.linearize(index, graph::shapeOf(v));
      llvm::SmallVector<Value> values;
      for (int64_t i = 0; i < down; ++i)
        values.push_back(e.load(shared[r], from + Index(i)));
      for (auto [i, value] : llvm::enumerate(values))
        e.store(results[r], to + Index(int64_t(i)), value);
    });
  }
  return {batch * rowTiles * columnTiles, threads};
}

Blocks mpc::emitGpuTransposedCopy(const Plan &plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results,
                                  ElementEmitter &e) {
  return TransposedCopyEmitter(plan, dispatch, results, e).run();
}
