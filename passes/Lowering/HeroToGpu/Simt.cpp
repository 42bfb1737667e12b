//===- Simt.cpp - register tiles over shared memory --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are widened to the accumulator's type (f32, f64) on their way into shared memory, where they lie
// as A[k][m] and B[k][n]. A thread's tile is cut into groups of 4 x 4 that lie `m / groups` and `n / groups`
// apart, so that neighbouring threads read neighbouring 16 bytes. There are two buffers: while the threads
// compute on one, the next tile is under way into registers.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Simt.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/Schedule/SharedBytes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

namespace {

/// The rows and columns of a group; the sink gets the sums of a row of it at once.
constexpr int group = 4;

/// One operand's two buffers.
class SharedTile {
public:
  SharedTile(Code c, const Problem &problem, const Operand &operand, Gather &gather, int extent, int tileK, Type type)
      : c(c), element(graph::elementOf(operand.tensor)), gather(gather), line(simtLine(extent)), type(type),
        bytes(type.getIntOrFloatBitWidth() / 8), bufferBytes(simtOperandBytes(problem, extent, tileK) / 2) {
    memory = kernel::SharedOp::create(c.b, LLVM::LLVMPointerType::get(c.b.getContext(), 3), 2 * bufferBytes);
    Value place = c.add(c.mul(gather.threadK, line), gather.threadOuter);
    threadPart = c.mul(place, bytes);
  }

  /// Buffer 0 or 1.
  Value buffer(Value parity) { return c.at(memory, c.mul(c.wide(parity), bufferBytes)); }
  void store(Value buffer, ValueRange units) {
    c.when(gather.active, [&] {
      Value mine = c.at(buffer, c.wide(threadPart));
      for (auto [unit, bits] : llvm::zip_equal(gather.units(), units)) {
        Values elements = widen(bits);
        int step = gather.alongK() ? 1 : std::min<int>(elements.size(), 16 / bytes);
        for (size_t i = 0; i < elements.size(); i += step) {
          int64_t k = unit.k + (gather.alongK() ? i : 0), outer = unit.outer + (gather.alongK() ? 0 : i);
          Value to = c.at(mine, (k * line + outer) * bytes);
          c.store(step == 1 ? elements[i] : c.vector(ArrayRef(elements).slice(i, step)), to, step * bytes);
        }
      }
    });
  }
  /// Four elements of line k; `place` is the address of those of line 0.
  Values load(Value place, int k, int64_t outer) {
    Values result;
    int step = 16 / bytes;
    for (int i = 0; i < group; i += step) {
      Value v = c.load(VectorType::get({step}, type), c.at(place, (int64_t(k) * line + outer + i) * bytes), 16);
      for (int j = 0; j < step; ++j)
        result.push_back(c.extract(v, j));
    }
    return result;
  }

private:
  /// The elements of a unit in the accumulator's type.
  Values widen(Value bits) {
    Type storage = element.isBF16() ? Type(c.b.getI16Type()) : element;
    int count = gather.vector();
    Value typed = LLVM::BitcastOp::create(c.b, count == 1 ? storage : Type(VectorType::get({count}, storage)), bits);
    Values result;
    for (int i = 0; i < count; ++i) {
      Value v = count == 1 ? typed : c.extract(typed, i);
      if (element.isBF16()) {
        Value half = c.i32(16);
        v = c.bitcast(c.b.getF32Type(), c.shiftLeft(c.zeroExtend(c.b.getI32Type(), v), half));
      } else if (element != type) {
        v = c.extend(type, v);
      }
      result.push_back(v);
    }
    return result;
  }

  Code c;
  Type element;
  Gather &gather;
  int line;
  Type type;
  int bytes;
  int64_t bufferBytes;
  Value memory, threadPart;
};

} // namespace

/// Emits the code of one thread for its share of a block's tile of C, over the tiles of k that `place` names.
static void emitTile(Code c, const Problem &problem, const Tile &tile, Value a, Value b, const BlockPlace &place,
                     Sink &sink) {
  Type type = problem.accumulator();
  int bytes = type.getIntOrFloatBitWidth() / 8;
  int groupsM = tile.partM / group, groupsN = tile.partN / group, across = tile.n / tile.partN;
  Value threadN = c.mul(c.rem(place.thread, across), group), threadM = c.mul(c.div(place.thread, across), group);
  Values sums(tile.partM * tile.partN, c.constant(type, 0));

  if (problem.k() > 0) {
    Gather gatherA(c, problem, problem.a, a, tile.m, tile.k, tile.threads(), place);
    Gather gatherB(c, problem, problem.b, b, tile.n, tile.k, tile.threads(), place);
    SharedTile tileA(c, problem, problem.a, gatherA, tile.m, tile.k, type),
        tileB(c, problem, problem.b, gatherB, tile.n, tile.k, type);
    Values cursorA = gatherA.cursor(place.firstK), cursorB = gatherB.cursor(place.firstK);
    Value zero = c.i32(0);
    Values firstA = gatherA.load(cursorA);
    tileA.store(tileA.buffer(zero), firstA);
    Values firstB = gatherB.load(cursorB);
    tileB.store(tileB.buffer(zero), firstB);
    c.barrier();

    size_t countA = gatherA.units().size(), digitsA = cursorA.size();
    Values init = sums;
    init.push_back(zero); // the buffer with this tile
    llvm::append_range(init, cursorA);
    llvm::append_range(init, cursorB);
    Values last = c.loop(place.firstK, place.lastK, init, [&](Value kTile, ValueRange carried) {
      Values next(carried.begin(), carried.begin() + sums.size());
      Value parity = carried[sums.size()];
      ValueRange cursors = carried.drop_front(sums.size() + 1);
      Values nextA = gatherA.advance(cursors.take_front(digitsA)), nextB = gatherB.advance(cursors.drop_front(digitsA));
      Value more = c.compare(arith::CmpIPredicate::slt, c.add(kTile, 1), place.lastK);
      llvm::SmallVector<Type> types(countA, gatherA.unitType());
      types.append(gatherB.units().size(), gatherB.unitType());
      Values loaded = c.when(more, types, [&] {
        Values units = gatherA.load(nextA);
        llvm::append_range(units, gatherB.load(nextB));
        return units;
      });
      Value offsetA = c.wide(c.mul(threadM, bytes)), mineA = c.at(tileA.buffer(parity), offsetA);
      Value offsetB = c.wide(c.mul(threadN, bytes)), mineB = c.at(tileB.buffer(parity), offsetB);
      for (int k = 0; k < tile.k; ++k) {
        Values rows, columns;
        for (int g = 0; g < groupsM; ++g)
          llvm::append_range(rows, tileA.load(mineA, k, int64_t(g) * tile.m / groupsM));
        for (int g = 0; g < groupsN; ++g)
          llvm::append_range(columns, tileB.load(mineB, k, int64_t(g) * tile.n / groupsN));
        for (int i = 0; i < tile.partM; ++i)
          for (int j = 0; j < tile.partN; ++j) {
            Value &sum = next[i * tile.partN + j];
            sum = c.fma(rows[i], columns[j], sum);
          }
      }
      Value other = c.bitXor(parity, 1);
      tileA.store(tileA.buffer(other), ArrayRef(loaded).take_front(countA));
      tileB.store(tileB.buffer(other), ArrayRef(loaded).drop_front(countA));
      c.barrier();
      next.push_back(other);
      llvm::append_range(next, nextA);
      llvm::append_range(next, nextB);
      return next;
    });
    sums.assign(last.begin(), last.begin() + sums.size());
  }

  llvm::SmallVector<Values> states(groupsN, sink.initial(group));
  auto column = [&](int g) { return c.add(c.add(place.firstN, threadN), g * (tile.n / groupsN)); };
  for (int i = 0; i < tile.partM; ++i) {
    Value m = c.add(c.add(place.firstM, threadM), i / group * (tile.m / groupsM) + i % group);
    for (int g = 0; g < groupsN; ++g)
      states[g] = sink.put(m, column(g), ArrayRef(sums).slice(i * tile.partN + g * group, group), states[g]);
  }
  // A thread's rows are a part, although they do not lie together.
  Value inBlock = c.div(place.thread, across), part = c.add(c.div(place.firstM, tile.partM), inBlock);
  for (int g = 0; g < groupsN; ++g)
    sink.finish(part, column(g), states[g]);
}

llvm::SmallVector<kernel::TensorMapAttr> mpc::hero::emitSimt(const MainKernel &main) {
  BlockPlace place = main.raster.placeOfBlock(main.c);
  std::unique_ptr<Sink> sink = main.sink(place, group);
  emitTile(main.c, main.problem, main.schedule.tile, main.a, main.b, place, *sink);
  return {};
}
