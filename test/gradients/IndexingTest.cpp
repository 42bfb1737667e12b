//===- IndexingTest.cpp - what ops state about their indices, against the evaluator --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests take the ops of all gradient cases and those of their gradients. They change operands, and at one index of
// one dimension; results may change only where the op says.
//
//===----------------------------------------------------------------------===//
#include "GradientCase.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {

using Tensors = SmallVector<HostTensor>;

/// Returns the index along `dim` of the element with this row-major number.
int64_t indexAlong(ArrayRef<int64_t> shape, int64_t dim, int64_t element) {
  return element / llvm::product_of(shape.drop_front(dim + 1)) % shape[dim];
}

/// Returns the tensor with other values where `where` says it of an element's number: other numbers for floats, and
/// values from elsewhere in the tensor for other types.
HostTensor changedWhere(const HostTensor &tensor, function_ref<bool(int64_t)> where) {
  HostTensor changed = tensor;
  for (int64_t i = 0, n = tensor.size(); i < n; ++i)
    if (where(i))
      changed.values[i] = isFloat(tensor.element) ? tensor.values[i] * 0.75 + 0.37 : tensor.values[(i + n / 2 + 1) % n];
  return changed;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Whether an element of the result at index `there` of the range's dimension may depend on index `at` of the operand.
bool reads(const ReadRange &range, int64_t there, int64_t at) {
  int64_t begin = range.stride * there + range.offset;
  return begin <= at && at < begin + range.span;
}

std::string nameOf(Operation *op) { return op->getName().getStringRef().str(); }

/// A result of an op and an operand.
std::string nameOf(OpOperand &operand, OpResult result) {
  return nameOf(operand.getOwner()) + ": result " + std::to_string(result.getResultNumber()) + ", operand " +
         std::to_string(operand.getOperandNumber());
}

/// Elementwise results depend on all operands, and those of a loop as its body says.
bool statesDependence(LoopKind kind) { return kind != LoopKind::Elementwise && kind != LoopKind::Repeat; }

class Checker {
public:
  void check(IndexingOpInterface op, const Tensors &operands);
  std::set<std::string> seen;
  int followed = 0, independent = 0;
  /// Ops that state ranges where no dimension follows, and those whose results changed within such a range.
  std::set<std::string> ranged, changedInRange;
  /// The operands that results depend on, says the op, and those of them that changed the result.
  std::set<std::string> dependent, changing;

private:
  Tensors resultsWith(IndexingOpInterface op, const Tensors &operands, OpOperand &operand,
                      function_ref<bool(int64_t)> where);
  void checkDependence(IndexingOpInterface op, OpOperand &operand, const Tensors &operands, const Tensors &results);
  void checkDim(IndexingOpInterface op, OpOperand &operand, const Tensors &operands, const Tensors &results,
                int64_t dim);
};

/// Returns the results where the operand has other values.
Tensors Checker::resultsWith(IndexingOpInterface op, const Tensors &operands, OpOperand &operand,
                             function_ref<bool(int64_t)> where) {
  Tensors changed(operands), results;
  HostTensor &tensor = changed[operand.getOperandNumber()];
  tensor = changedWhere(tensor, where);
  EXPECT_TRUE(succeeded(Evaluator::evaluateOp(op, changed, results, EvalMode::Exact)));
  return results;
}

void Checker::checkDependence(IndexingOpInterface op, OpOperand &operand, const Tensors &operands,
                              const Tensors &results) {
  // The order of all elements changes, on which maxima depend.
  auto everySecond = [](int64_t i) { return i % 2 == 0; };
  const HostTensor &tensor = operands[operand.getOperandNumber()];
  if (tensor.values == changedWhere(tensor, everySecond).values)
    return;
  Tensors others = resultsWith(op, operands, operand, everySecond);
  for (OpResult result : op->getResults()) {
    const auto &before = results[result.getResultNumber()].values, &after = others[result.getResultNumber()].values;
    bool stays = std::equal(before.begin(), before.end(), after.begin(), same);
    if (!op.dependsOn(operand, result)) {
      ++independent;
      ASSERT_TRUE(stays) << nameOf(operand, result);
    } else if (statesDependence(op.getLoopKind())) {
      dependent.insert(nameOf(operand, result));
      if (!stays)
        changing.insert(nameOf(operand, result));
    }
  }
}

void Checker::checkDim(IndexingOpInterface op, OpOperand &operand, const Tensors &operands, const Tensors &results,
                       int64_t dim) {
  ArrayRef<int64_t> from = shapeOf(operand.get());
  for (OpResult result : op->getResults()) {
    if (!op.dependsOn(operand, result))
      continue;
    std::optional<int64_t> there = op.followingDim(operand, result, dim);
    std::optional<ReadRange> range = op.readRange(operand, result, dim);
    ArrayRef<int64_t> to = shapeOf(result);
    if (there) {
      ASSERT_TRUE(*there >= 0 && *there < int64_t(to.size())) << "dimension " << *there;
      ASSERT_EQ(to[*there], from[dim]) << "of dimensions " << dim << " and " << *there;
      ASSERT_TRUE(range) << "dimension " << dim << " of the operand is followed, and has no range";
    }
    if (!range)
      continue;
    ASSERT_TRUE(range->dim >= 0 && range->dim < int64_t(to.size())) << "dimension " << range->dim;
    followed += there && from[dim] > 1;
    if (!there)
      ranged.insert(nameOf(op));
    for (int64_t at = 0; at < from[dim]; ++at) {
      Tensors others = resultsWith(op, operands, operand, [&](int64_t i) { return indexAlong(from, dim, i) == at; });
      const auto &before = results[result.getResultNumber()].values, &after = others[result.getResultNumber()].values;
      for (int64_t i = 0; i < int64_t(before.size()); ++i) {
        if (same(before[i], after[i]))
          continue;
        ASSERT_TRUE((!there || indexAlong(to, *there, i) == at) && reads(*range, indexAlong(to, range->dim, i), at))
            << nameOf(operand, result) << ": element " << i << " changed with index " << at << " of dimension " << dim;
        if (!there)
          changedInRange.insert(nameOf(op));
      }
    }
  }
}

void Checker::check(IndexingOpInterface op, const Tensors &operands) {
  seen.insert(nameOf(op));
  Tensors results;
  ASSERT_TRUE(succeeded(Evaluator::evaluateOp(op, operands, results, EvalMode::Exact)));
  for (OpOperand &operand : op->getOpOperands()) {
    ASSERT_NO_FATAL_FAILURE(checkDependence(op, operand, operands, results));
    for (int64_t dim = 0; dim < typeOf(operand.get()).getRank(); ++dim)
      ASSERT_NO_FATAL_FAILURE(checkDim(op, operand, operands, results, dim));
  }
  if (!op.keepsMagnitudes())
    return;
  double largest = 0;
  for (const HostTensor &operand : operands)
    for (double v : operand.values)
      largest = std::max(largest, std::abs(v));
  for (const HostTensor &result : results)
    for (double v : result.values)
      ASSERT_LE(std::abs(v), largest);
}

/// Checks reductions that have no gradient, and so are in no case.
void checkReductionsWithoutGradient(Checker &checker) {
  Block block;
  OpBuilder b(&testContext());
  b.setInsertionPointToEnd(&block);
  Location loc = b.getUnknownLoc();
  // The first number is the largest of its row, and no longer after it has changed.
  HostTensor x(RankedTensorType::get({2, 3}, b.getF64Type()), {2, 1.9, 0.2, 0.3, 3, 0.1});
  HostTensor flags(RankedTensorType::get({2, 3}, b.getI1Type()), {0, 0, 1, 1, 0, 0});
  Value numbers = block.addArgument(x.type(), loc), answers = block.addArgument(flags.type(), loc);
  for (bool keepdims : {false, true}) {
    checker.check(ArgMaxOp::create(b, loc, numbers, 1, keepdims, /*min=*/false, /*last=*/false), {x});
    checker.check(ReduceAnyOp::create(b, loc, answers, Shape{1}, keepdims), {flags});
  }
}

/// Checks depthwise convolutions as windows, which are made behind the gradients, and so are in no case.
void checkDepthwise(Checker &checker) {
  Block block;
  OpBuilder b(&testContext());
  b.setInsertionPointToEnd(&block);
  Location loc = b.getUnknownLoc();
  auto tensor = [&](Shape shape) {
    HostTensor result(RankedTensorType::get(shape, b.getF64Type()), {});
    result.values.resize(size_t(llvm::product_of(shape)));
    for (auto [i, v] : llvm::enumerate(result.values))
      v = 0.3 + double(i % 7) - 0.1 * double(i % 5);
    return result;
  };
  HostTensor w = tensor({3, 2, 3});
  for (Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast})
    for (int64_t stride : {1, 2}) {
      auto activation = [&](int64_t height, int64_t width) {
        return tensor(layout == Layout::ChannelsFirst ? Shape{2, 3, height, width} : Shape{2, height, width, 3});
      };
      HostTensor x = activation(5, 4), y = activation(stride == 1 ? 5 : 3, 4);
      Value xv = block.addArgument(x.type(), loc), yv = block.addArgument(y.type(), loc),
            wv = block.addArgument(w.type(), loc);
      Shape kernel{3, 2}, strides{stride, 1}, dilations{1, 1}, low{1, 0}, high{1, 1};
      checker.check(DepthwiseConvOp::create(b, loc, y.type(), xv, wv, kernel, strides, dilations, low, high, layout),
                    {x, w});
      checker.check(
          DepthwiseInputGradOp::create(b, loc, x.type(), yv, wv, kernel, strides, dilations, low, high, layout),
          {y, w});
    }
}

/// Runs the checks on all ops, once for all tests.
const Checker &checked() {
  static const Checker checker = [] {
    Checker checker;
    forEachOpRun([&](Operation *op, ArrayRef<HostTensor> operands) {
      if (auto indexed = dyn_cast<IndexingOpInterface>(op))
        checker.check(indexed, Tensors(operands));
    });
    checkReductionsWithoutGradient(checker);
    checkDepthwise(checker);
    return checker;
  }();
  return checker;
}

TEST(Indexing, ResultsChangeOnlyWhereOpsSay) {
  const Checker &checker = checked();
  EXPECT_GT(checker.followed, 500);
  EXPECT_GT(checker.independent, 10);
  for (const char *op : {"graph.conv", "graph.conv_input_grad", "graph.conv_weight_grad", "graph.layer_norm_grad",
                         "graph.group_norm_grad", "graph.batch_norm_grad", "graph.scatter", "graph.resize_grad",
                         "graph.max_pool_grad", "graph.avg_pool_grad", "graph.slice", "graph.pad"})
    EXPECT_TRUE(checker.seen.count(op)) << op;
}

/// An op that forgets dependsOn says that all results depend on all operands.
TEST(Indexing, ResultsDependOnTheOperandsThatOpsSay) {
  const Checker &checker = checked();
  EXPECT_GT(checker.dependent.size(), 50u);
  for (const std::string &pair : checker.dependent)
    EXPECT_TRUE(checker.changing.count(pair))
        << pair << ": no change of the operand changes the result; dependsOn should say that it does not depend on it";
}

/// An op that reads some of its operands' elements says which (readRange), unless they do not follow from one index.
TEST(Indexing, OpsThatReadSomeElementsSayWhich) {
  const std::map<std::string, const char *> without = {
      {"graph.gather", "the indices say which elements are read"},
      {"graph.argmax", "all elements along the axis are read"},
      {"graph.resize", "the coordinates are multiples of a fraction"},
      {"graph.resize_grad", "the coordinates are multiples of a fraction"},
  };
  const Checker &checker = checked();
  for (RegisteredOperationName name : testContext().getRegisteredOperationsByDialect("graph")) {
    const auto *indexed = name.getInterface<IndexingOpInterface>();
    if (!indexed || (indexed->getLoopKind() != LoopKind::Movement && indexed->getLoopKind() != LoopKind::Window))
      continue;
    std::string op = name.getStringRef().str();
    ASSERT_TRUE(checker.seen.count(op))
        << op << " is in no case of test/gradients, nor in this file, so nothing tests what it states";
    EXPECT_NE(checker.ranged.count(op), without.count(op))
        << op << " has to define readRange, or to be named here with the reason why it has none; not both";
  }
  // The ranges are tested only if results change within them.
  EXPECT_EQ(checker.changedInRange, checker.ranged);
}

/// Every op states its facts, and those that go together do. Passes that ask for them would silently leave out an op
/// without the interfaces.
TEST(Indexing, EveryOpStatesItsFacts) {
  int ops = 0;
  for (RegisteredOperationName name : testContext().getRegisteredOperationsByDialect("graph")) {
    if (name.hasTrait<OpTrait::IsTerminator>())
      continue;
    SCOPED_TRACE(name.getStringRef().str());
    EXPECT_TRUE(name.hasInterface<PrecisionOpInterface>());
    const auto *indexed = name.getInterface<IndexingOpInterface>();
    ASSERT_NE(indexed, nullptr);
    LoopKind kind = indexed->getLoopKind();
    EXPECT_EQ(kind == LoopKind::Contraction, name.hasInterface<ContractionOpInterface>());
    EXPECT_EQ(kind == LoopKind::View, name.hasTrait<StorageView>());
    EXPECT_TRUE(kind != LoopKind::Reduction || name.hasInterface<ReductionOpInterface>());
    EXPECT_TRUE(kind == LoopKind::Elementwise || !indexed->drawsNumbers());
    ++ops;
  }
  EXPECT_GT(ops, 70);
}

} // namespace
