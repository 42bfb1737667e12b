// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cases of the scan: bodies are small, and differ in how values go from one iteration to the next.
#include "GradientCase.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {
/// Builds what an iteration yields from the arguments of the body.
using Body = std::function<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

/// A case whose first inputs are carried, the next ones invariant, the others stacked.
Case scan(const std::string &name, int64_t trips, unsigned carried, unsigned invariant, std::vector<Input> inputs,
          Body body, bool reverse = false) {
  auto build = [=](OpBuilder &b, Location loc, ValueRange values) -> Operation * {
    // The types of the stacked results are known once the body is built; a first scan finds them.
    SmallVector<Type> stacks;
    for (bool last : {false, true}) {
      auto op = ScanOp::create(b, loc, trips, reverse, values.take_front(carried), values.slice(carried, invariant),
                               values.drop_front(carried + invariant), stacks);
      OpBuilder inner = OpBuilder::atBlockEnd(&op.getBlock());
      SmallVector<Value> yielded = body(inner, loc, op.getBlock().getArguments());
      ScanYieldOp::create(inner, loc, yielded);
      if (last)
        return op;
      for (Value v : ArrayRef(yielded).drop_front(carried))
        stacks.push_back(ScanOp::stackType(trips, v.getType()));
      op.erase();
    }
    llvm_unreachable("the second scan is returned");
  };
  return {"scan: " + name, std::move(inputs), build};
}
} // namespace

void test::addScanCases(std::vector<Case> &cases) {
  // h' = tanh(x w + h u + b), which is also the slice of the result.
  Body cell = [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
    Value x = MatMulOp::create(b, loc, v[4], v[1]), h = MatMulOp::create(b, loc, v[0], v[2]);
    Value y = TanhOp::create(b, loc, AddOp::create(b, loc, AddOp::create(b, loc, x, h), v[3]));
    return {y, y};
  };
  auto cellInputs = [](int64_t trips) -> std::vector<Input> {
    return {uniform({2, 3}), uniform({4, 3}), uniform({3, 3}), uniform({3}), uniform({trips, 2, 4})};
  };
  cases.push_back(scan("a recurrent cell", 3, 1, 3, cellInputs(3), cell));
  cases.push_back(
      scan("a recurrent cell, from the last slice to the first", 3, 1, 3, cellInputs(3), cell, /*reverse=*/true));
  cases.push_back(scan("one iteration", 1, 1, 3, cellInputs(1), cell));

  // Two carried values change places, so a cotangent comes back to its own only in the iteration after the next.
  cases.push_back(scan("carried values that change places", 3, 2, 1, {uniform({3}), uniform({3}), uniform({3})},
                       [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
                         return {SinOp::create(b, loc, v[1]), MulOp::create(b, loc, v[0], v[2])};
                       }));
  cases.push_back(scan("results without carried values", 4, 0, 1, {uniform({3}), uniform({4, 3})},
                       [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
                         return {MulOp::create(b, loc, v[1], v[0]), ExpOp::create(b, loc, v[1])};
                       }));
  cases.push_back(scan("the carried value, an invariant and a slice are results", 2, 1, 1,
                       {uniform({3}), uniform({3}), uniform({2, 3})},
                       [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
                         return {MulOp::create(b, loc, v[0], v[2]), v[0], v[1], v[2]};
                       }));
  // Only the first iteration reads the operand: after it a slice is carried.
  cases.push_back(scan("a carried value that forgets", 3, 1, 0, {uniform({3}), uniform({3, 3})},
                       [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
                         Value square = MulOp::create(b, loc, v[0], v[0]);
                         return {v[1], square};
                       }));
  // A counter of integers is carried beside the floats, and decides which of them counts.
  cases.push_back(
      scan("a carried counter", 3, 2, 0, {uniform({3}), integers({}, {0}), uniform({3, 3})},
           [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
             auto number = [&](int64_t n) {
               return ConstantOp::create(b, loc, DenseElementsAttr::get(typeOf(v[1]), b.getI64IntegerAttr(n)));
             };
             Value odd = CompareOp::create(b, loc, Predicate::eq, v[1], number(1));
             Value next = SelectOp::create(b, loc, broadcastTo(b, loc, odd, {3}), MulOp::create(b, loc, v[0], v[2]),
                                           AddOp::create(b, loc, v[0], v[2]));
             return {next, AddOp::create(b, loc, v[1], number(1))};
           }));
}
