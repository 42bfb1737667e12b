// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/AttentionToGpu/AttentionBlock.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::attention;

AttentionBlock::AttentionBlock(const Kernel &kernel, int64_t rows, int64_t heads)
    : kernel(kernel), c(kernel.e.b), thread(kernel::ThreadIdOp::create(c.b, c.b.getI32Type())),
      f(c, kernel.e, kernel.op, kernel.form, thread) {
  Value number = kernel::BlockIdOp::create(c.b, c.b.getI32Type(), kernel::Axis::X);
  int64_t blocks = llvm::divideCeil(rows, kernel.tiles.rows);
  Value ofHeads = c.div(number, blocks);
  firstRow = c.mul(c.sub(blocks - 1, c.rem(number, blocks)), kernel.tiles.rows);
  sample = c.div(ofHeads, heads);
  head = c.rem(ofHeads, heads);
  memory = kernel::SharedOp::create(c.b, LLVM::LLVMPointerType::get(c.b.getContext(), 3), kernel.sharedBytes,
                                    /*alignment=*/kernel.tiles.byWarpgroup ? 1024 : 128);
}

Value AttentionBlock::row(int i) { return c.add(c.add(c.add(firstRow, warpRow()), f.row()), 8 * i); }

Values AttentionBlock::walk(Value first, Value last, ValueRange init, llvm::function_ref<void(Value, Value)> start,
                            llvm::function_ref<Values(Value, Value, ValueRange)> body) {
  auto exists = [&](Value tile) { return c.compare(arith::CmpIPredicate::slt, tile, last); };
  c.when(exists(first), [&] { start(first, c.i32(0)); });
  commit();
  Values carried(init);
  carried.push_back(c.i32(0));
  Values results = c.rolledLoop(first, last, carried, [&](Value tile, ValueRange carried) {
    Value stage = carried.back(), other = c.bitXor(stage, 1);
    arrive(); // behind it, no thread still reads the other stage
    Value next = c.add(tile, 1);
    c.when(exists(next), [&] { start(next, other); });
    commit();
    Values after = body(tile, stage, carried.drop_back());
    after.push_back(other);
    return after;
  });
  results.pop_back();
  return results;
}

void AttentionBlock::load(OwnRows &rows) {
  for (int step = 0; step < rows.tile.steps(); ++step)
    rows.fragments.push_back(rows.tile.rowsOfA(rows.at, warpRow(), step));
}

Values AttentionBlock::warpTimesRows(const RowProduct &product, int64_t columns) {
  const OwnRows &own = product.a;
  Values sums(size_t(sumsOf(columns)), f.zero());
  for (int step = 0; step < product.b.steps(); ++step) {
    Values rows = own.fragments.empty() ? own.tile.rowsOfA(own.at, warpRow(), step) : own.fragments[step];
    for (int column = 0; column < columns; column += 16) {
      Values two = product.b.columnsOfB(product.at, column, step);
      for (int half : {0, 1})
        f.multiply(MutableArrayRef<Value>(sums).slice(size_t(column / 8 + half) * 4, 4), rows,
                   ArrayRef<Value>(two).slice(size_t(half) * 2, 2));
    }
  }
  return sums;
}

void AttentionBlock::warpTimesElements(const ElementProduct &product, int64_t depth) {
  for (int row = 0; row < depth; row += 16) {
    Values rows = f.asFactor(product.a.slice(size_t(row) / 2, 8));
    for (int step = 0; step < product.b.steps(); ++step) {
      Values two = product.b.rowsOfB(product.at, row, step);
      for (int half : {0, 1})
        f.multiply(MutableArrayRef<Value>(product.sums).slice(size_t(step * 2 + half) * 4, 4), rows,
                   ArrayRef<Value>(two).slice(size_t(half) * 2, 2));
    }
  }
}

Values AttentionBlock::startProduct(const OwnRows *own, const Values &registers, const HeadTile &b, Value at,
                                    bool transposed, int step, int64_t columns, ValueRange sums) {
  SmallVector<Type> types(size_t(columns / 2), c.b.getF32Type());
  Value a;
  IntegerAttr offset;
  kernel::MatrixLayoutAttr layout;
  if (registers.empty()) {
    a = own->at;
    offset = c.b.getI32IntegerAttr(int32_t(own->tile.offsetOf(step, /*transposed=*/false)));
    layout = own->tile.layout(/*transposed=*/false);
  }
  auto product = kernel::WgmmaOp::create(c.b, types, f.productType(), a, offset, layout, registers, at,
                                         b.offsetOf(step, transposed), b.layout(transposed), sums,
                                         /*elementB=*/kernel::MmaTypeAttr());
  return Values(product.getD());
}

void AttentionBlock::await(MutableArrayRef<Values *> sums) {
  kernel::WgmmaCommitOp::create(c.b);
  Values all;
  for (Values *each : sums)
    all.append(*each);
  SmallVector<Type> types(all.size(), c.b.getF32Type());
  ValueRange done = kernel::WgmmaWaitOp::create(c.b, types, 0u, all).getResults();
  for (Values *each : sums) {
    llvm::copy(done.take_front(each->size()), each->begin());
    done = done.drop_front(each->size());
  }
}

std::vector<Values> AttentionBlock::timesRows(ArrayRef<RowProduct> products, int64_t columns) {
  std::vector<Values> results(products.size());
  if (!kernel.tiles.byWarpgroup) {
    for (auto [result, product] : llvm::zip_equal(results, products))
      result = warpTimesRows(product, columns);
    return results;
  }
  SmallVector<Values *> started;
  kernel::WgmmaFenceOp::create(c.b);
  for (auto [result, product] : llvm::zip_equal(results, products)) {
    for (int step = 0; step < product.b.steps(); ++step)
      result = startProduct(&product.a, product.a.fragments.empty() ? Values() : product.a.fragments[step], product.b,
                            product.at, /*transposed=*/false, step, columns, result);
    started.push_back(&result);
  }
  await(started);
  return results;
}

void AttentionBlock::timesElements(ArrayRef<ElementProduct> products, int64_t depth) {
  if (!kernel.tiles.byWarpgroup) {
    for (const ElementProduct &product : products)
      warpTimesElements(product, depth);
    return;
  }
  // The fence orders what is written to registers before it, so all factors come first.
  std::vector<std::vector<Values>> factors(products.size());
  for (auto [factor, product] : llvm::zip_equal(factors, products))
    for (int row = 0; row < depth; row += 16)
      factor.push_back(f.asFactor(product.a.slice(size_t(row) / 2, 8)));
  SmallVector<Values *> started;
  kernel::WgmmaFenceOp::create(c.b);
  for (auto [factor, product] : llvm::zip_equal(factors, products)) {
    for (auto [step, registers] : llvm::enumerate(factor))
      product.sums = startProduct(nullptr, registers, product.b, product.at, /*transposed=*/true, int(step),
                                  int64_t(product.sums.size()) * 2, product.sums);
    started.push_back(&product.sums);
  }
  await(started);
}

void AttentionBlock::store(const HeadLayout &to, Value sample, Value head, ArrayRef<Value> sums, Value factors[2]) {
  Value start = to.at(c, sample, head);
  for (int h : {0, 1}) {
    Value number = row(h);
    c.when(c.below(number, to.rows), [&] {
      Value line = c.at(start, c.mul(c.wide(number), to.row * 2));
      for (int64_t column = 0; column < to.width; column += 8) {
        Value low = sums[column / 8 * 4 + 2 * h], high = sums[column / 8 * 4 + 2 * h + 1];
        if (factors) {
          low = c.mul(low, factors[h]);
          high = c.mul(high, factors[h]);
        }
        Value element = c.add(f.column(), column);
        c.store(f.pack(low, high), c.at(line, c.wide(c.mul(element, 2))), 4);
      }
    });
  }
}

Value AttentionBlock::statistic(const HeadLayout &of, Value query) {
  return c.at(of.at(c, sample, head, 4), c.mul(c.wide(query), of.row * 4));
}

KeysAndValues::KeysAndValues(AttentionBlock &block, Value memory)
    : block(block), keys(block.c, block.kernel.tiles.columns, block.kernel.tensors.k.width,
                         block.kernel.tiles.threads(), block.thread),
      values(block.c, block.kernel.tiles.columns, block.kernel.tensors.v.width, block.kernel.tiles.threads(),
             block.thread),
      memory(memory) {
  const Kernel &kernel = block.kernel;
  Value head = block.c.div(block.head, kernel.form.heads() / kernel.form.keyHeads());
  k = kernel.tensors.k.at(block.c, block.sample, head);
  v = kernel.tensors.v.at(block.c, block.sample, head);
}

Value KeysAndValues::keysAt(Value stage) {
  Code &c = block.c;
  return c.at(memory, c.wide(c.mul(stage, keys.bytes() + values.bytes())));
}

void KeysAndValues::start(Value tile, Value stage) {
  Value row = block.c.mul(tile, block.kernel.tiles.columns);
  keys.copy(keysAt(stage), k, block.kernel.tensors.k, row);
  values.copy(valuesAt(stage), v, block.kernel.tensors.v, row);
}
