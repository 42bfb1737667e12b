// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/AttentionToGpu/HeadTile.h"
#include "dialects/Kernel/Target/Blocks.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::attention;

Value HeadLayout::at(Code c, Value sampleNumber, Value headNumber, int64_t bytes) const {
  Value ofSample = c.mul(c.wide(sampleNumber), sample * bytes), ofHead = c.mul(c.wide(headNumber), head * bytes);
  return c.at(c.at(pointer, offset * bytes), c.add(ofSample, ofHead));
}

HeadTile::HeadTile(Code c, int64_t rows, int64_t width, int threads, Value thread)
    : c(c), rows(rows), width(width), threads(threads), thread(thread) {
  // Matrices are addressed by lanes: those of A by rows first, and those of B, whose columns are the tile's rows, by
  // elements first (PTX ISA, ldmatrix and mma.m16n8k16).
  Value lane = c.rem(thread, warpThreads), inMatrix = c.rem(lane, 8);
  auto placeOf = [&](Value line, Value chunk) {
    Value permuted = c.mul(c.bitXor(chunk, inMatrix), chunkBytes);
    return c.add(c.mul(line, lineBytes), permuted);
  };
  laneA = placeOf(c.rem(lane, 16), c.div(lane, 16));
  Value half = c.mul(c.div(lane, 16), 8);
  laneB = placeOf(c.add(half, inMatrix), c.rem(c.div(lane, 8), 2));
}

void HeadTile::copy(Value tile, Value head, const HeadLayout &layout, Value firstRow) const {
  int64_t chunks = 2 * steps(), rowsOfPass = threads / chunks;
  Value chunk = c.rem(thread, chunks), threadRow = c.div(thread, chunks);
  Value panel = c.mul(c.div(chunk, 8), rows * lineBytes), inLine = c.rem(chunk, 8);
  Value within = width % 16 ? c.below(chunk, width / chunkElements) : Value();
  for (int64_t pass = 0; pass * rowsOfPass < rows; ++pass) {
    Value row = c.add(threadRow, pass * rowsOfPass);
    bool isWhole = threads % chunks == 0 && (pass + 1) * rowsOfPass <= rows;
    Value isMine = threads % chunks ? c.below(threadRow, rowsOfPass) : Value();
    if (!isWhole && (pass + 1) * rowsOfPass > rows)
      isMine = c.both(isMine, c.below(row, rows));
    c.when(isMine, [&] {
      Value permuted = c.mul(c.bitXor(inLine, c.rem(row, 8)), chunkBytes);
      Value place = c.add(c.add(c.mul(row, lineBytes), panel), permuted);
      Value number = c.add(firstRow, row);
      Value valid = c.both(c.below(number, layout.rows), within), none = c.i32(0);
      Value elements = c.add(c.mul(c.wide(number), layout.row), c.wide(c.mul(chunk, chunkElements)));
      kernel::CopyAsyncOp::create(c.b, c.at(tile, c.wide(place)), c.at(head, c.mul(elements, 2)), uint32_t(chunkBytes),
                                  c.select(valid, c.i32(chunkBytes), none));
    });
  }
}

kernel::MatrixLayoutAttr HeadTile::layout(bool transposed) const {
  return kernel::MatrixLayoutAttr::get(c.b.getContext(), kernel::Swizzle::B128,
                                       /*leading=*/transposed ? rows * lineBytes : chunkBytes,
                                       /*stride=*/8 * lineBytes, transposed);
}

Values HeadTile::load(Value tile, Value line, Value lane, int step, bool transpose) const {
  // Two chunks further on, the permutation changes the bits of the chunk's number alone.
  Value inPanel = c.wide(c.bitXor(lane, step % 4 * 2 * chunkBytes));
  Value at = c.at(c.at(c.at(tile, line), inPanel), step / 4 * rows * lineBytes);
  auto op = kernel::LoadMatrixOp::create(c.b, SmallVector<Type>(4, c.b.getI32Type()), at, transpose);
  return Values(op.getRegisters());
}
