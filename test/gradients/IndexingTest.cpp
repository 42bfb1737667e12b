//===- IndexingTest.cpp - what ops state about their indices, against the evaluator --------===//
//
// The test takes the ops of all gradient cases and those of their gradients. It changes operands at one index of one
// dimension, and results may change only where the op says.
//
//===----------------------------------------------------------------------===//
#include "GradientCase.h"
#include <gtest/gtest.h>
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

/// Returns the operand with other values at index `at` of a dimension: other numbers for floats, and values from
/// elsewhere in the operand for other types.
HostTensor changedAt(const HostTensor &tensor, ArrayRef<int64_t> shape, bool isFloat, int64_t dim, int64_t at) {
  HostTensor changed = tensor;
  for (int64_t i = 0, n = int64_t(tensor.values.size()); i < n; ++i)
    if (indexAlong(shape, dim, i) == at)
      changed.values[i] = isFloat ? tensor.values[i] * 0.75 + 0.37 : tensor.values[(i + n / 2 + 1) % n];
  return changed;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class Checker {
public:
  void check(IndexingOpInterface op, const Tensors &operands);
  std::set<std::string> seen;
  int followed = 0, independent = 0;

private:
  void checkDim(IndexingOpInterface op, OpOperand &operand, const Tensors &operands, const Tensors &results,
                int64_t dim);
};

void Checker::checkDim(IndexingOpInterface op, OpOperand &operand, const Tensors &operands, const Tensors &results,
                       int64_t dim) {
  ArrayRef<int64_t> from = shapeOf(operand.get());
  for (OpResult result : op->getResults()) {
    bool depends = op.dependsOn(operand, result);
    std::optional<int64_t> there = depends ? op.followingDim(operand, result, dim) : std::nullopt;
    ArrayRef<int64_t> to = shapeOf(result);
    if (there) {
      ASSERT_TRUE(*there >= 0 && *there < int64_t(to.size())) << "dimension " << *there;
      ASSERT_EQ(to[*there], from[dim]) << "of dimensions " << dim << " and " << *there;
    }
    followed += there && from[dim] > 1;
    independent += !depends;
    for (int64_t at = 0; at < from[dim] && (there || !depends); ++at) {
      Tensors changed(operands);
      changed[operand.getOperandNumber()] =
          changedAt(operands[operand.getOperandNumber()], from, isFloat(operand.get()), dim, at);
      Tensors others;
      ASSERT_TRUE(succeeded(Evaluator::evaluateOp(op, changed, others, EvalMode::Exact)));
      const auto &before = results[result.getResultNumber()].values, &after = others[result.getResultNumber()].values;
      for (size_t i = 0; i < before.size(); ++i)
        ASSERT_TRUE(same(before[i], after[i]) || (depends && indexAlong(to, *there, int64_t(i)) == at))
            << "element " << i << " of result " << result.getResultNumber() << " changed with index " << at
            << " of dimension " << dim << " of operand " << operand.getOperandNumber();
    }
  }
}

void Checker::check(IndexingOpInterface op, const Tensors &operands) {
  seen.insert(op->getName().getStringRef().str());
  Tensors results;
  ASSERT_TRUE(succeeded(Evaluator::evaluateOp(op, operands, results, EvalMode::Exact)));
  for (OpOperand &operand : op->getOpOperands())
    for (int64_t dim = 0; dim < typeOf(operand.get()).getRank(); ++dim)
      ASSERT_NO_FATAL_FAILURE(checkDim(op, operand, operands, results, dim));
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

TEST(Indexing, ResultsChangeOnlyWhereOpsSay) {
  Checker checker;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor> operands) {
    if (auto indexed = dyn_cast<IndexingOpInterface>(op))
      checker.check(indexed, Tensors(operands));
  });
  EXPECT_GT(checker.followed, 500);
  EXPECT_GT(checker.independent, 10);
  for (const char *op : {"graph.conv", "graph.conv_input_grad", "graph.conv_weight_grad", "graph.layer_norm_grad",
                         "graph.group_norm_grad", "graph.batch_norm_grad", "graph.gather_grad", "graph.resize_grad",
                         "graph.max_pool_grad", "graph.avg_pool_grad", "graph.slice", "graph.pad"})
    EXPECT_TRUE(checker.seen.count(op)) << op;
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
