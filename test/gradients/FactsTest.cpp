//===- FactsTest.cpp - what ops state about themselves, against the evaluator ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests take the ops of all gradient cases and those of their gradients, with the operands that they had, and
// compare what an op states through the interfaces of dialects/Interfaces with what it computes.
//
//===----------------------------------------------------------------------===//
#include "GradientCase.h"
#include "mlir/IR/Verifier.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {

using Tensors = SmallVector<HostTensor>;
using Order = ArrayRef<int64_t>;

Tensors evaluate(Operation *op, ArrayRef<HostTensor> operands) {
  Tensors results;
  EXPECT_TRUE(succeeded(Evaluator::evaluateOp(op, operands, results, EvalMode::Exact)));
  return results;
}
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
/// Sums in another order differ by a few units in the last place of the largest term; terms are below 1e3.
bool near(double a, double b) { return same(a, b) || std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(a)); }

//===-- Elements -----------------------------------------------------------------------===//

/// Where the elements of all operands come in the opposite order, so do those of an elementwise op's result, unless the
/// op draws numbers.
TEST(Facts, ElementwiseResultsDependOnNoPosition) {
  std::set<std::string> drawing, changed;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor> operands) {
    if (!isOfKind(op, LoopKind::Elementwise))
      return;
    std::string name = op->getName().getStringRef().str();
    if (drawsNumbers(op))
      drawing.insert(name);
    Tensors backward(operands);
    for (HostTensor &operand : backward)
      std::reverse(operand.values.begin(), operand.values.end());
    HostTensor result = evaluate(op, operands)[0], other = evaluate(op, backward)[0];
    std::reverse(other.values.begin(), other.values.end());
    if (!std::equal(result.values.begin(), result.values.end(), other.values.begin(), same))
      changed.insert(name);
  });
  EXPECT_EQ(changed, drawing);
  EXPECT_TRUE(drawing.count("graph.dropout"));
}

TEST(Facts, RearrangementsKeepTheElements) {
  std::set<LoopKind> kinds;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor> operands) {
    if (!rearranges(op))
      return;
    kinds.insert(*loopKindOf(op));
    HostTensor result = evaluate(op, operands)[0];
    if (result.values.empty())
      return;
    EXPECT_EQ(std::set<double>(result.values.begin(), result.values.end()),
              std::set<double>(operands[0].values.begin(), operands[0].values.end()));
  });
  EXPECT_EQ(kinds.size(), 3u) << "views, permutations and broadcasts";
}

TEST(Facts, PeriodsArePositive) {
  std::set<std::string> periodic;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor>) {
    auto indexed = dyn_cast<IndexingOpInterface>(op);
    if (!indexed)
      return;
    EXPECT_GE(indexed.getPeriod(), 1);
    if (indexed.getPeriod() > 1)
      periodic.insert(op->getName().getStringRef().str());
  });
  for (const char *op : {"graph.dropout", "graph.max_pool_grad", "graph.avg_pool_grad"})
    EXPECT_TRUE(periodic.count(op)) << op;
}

//===-- Reductions ---------------------------------------------------------------------===//

double numberOf(TypedAttr attr) {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  auto number = cast<IntegerAttr>(attr);
  bool isUnsigned = number.getType().isUnsignedInteger() || number.getType().isInteger(1);
  return isUnsigned ? double(number.getValue().getZExtValue()) : double(number.getValue().getSExtValue());
}

double combined(Combiner combiner, double a, double b) {
  switch (combiner) {
  case Combiner::Add:
    return a + b;
  case Combiner::Multiply:
    return a * b;
  case Combiner::Max:
    return std::max(a, b);
  case Combiner::Min:
    return std::min(a, b);
  case Combiner::Or:
    return a != 0 || b != 0;
  case Combiner::Hypot:
    return std::hypot(a, b);
  }
  llvm_unreachable("all combiners are handled");
}

/// Reduces as the op states it.
std::vector<double> folded(ReductionOpInterface op, const HostTensor &x, ArrayRef<int64_t> axes) {
  Shape kept = reducedShape(x.shape, axes, /*keepdims=*/true);
  std::vector<double> result(llvm::product_of(kept), numberOf(identityOf(op.getCombiner(), x.element)));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (int64_t d = int64_t(kept.size()) - 1; d >= 0; --d) {
      at += kept[d] == 1 ? 0 : rest % x.shape[d] * stride;
      rest /= x.shape[d];
      stride *= kept[d];
    }
    result[at] = combined(op.getCombiner(), result[at], x.values[i]);
  }
  if (op.isMean())
    for (double &v : result)
      v /= double(x.size()) / double(result.size());
  return result;
}

TEST(Facts, ReductionsCombineAsTheyState) {
  std::set<std::string> seen;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor> operands) {
    auto reduction = dyn_cast<ReductionOpInterface>(op);
    if (!reduction)
      return;
    seen.insert(op->getName().getStringRef().str());
    std::vector<double> result = evaluate(op, operands)[0].values,
                        expected = folded(reduction, operands[0], reduction.getAxes());
    EXPECT_TRUE(std::equal(result.begin(), result.end(), expected.begin(), expected.end(), near));

    // The same reduction over the last dimension alone.
    if (operands[0].shape.empty())
      return;
    int64_t last = int64_t(operands[0].shape.size()) - 1;
    Block block;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&block); // not atBlockEnd, which asks the block's region for the context
    Operation *made =
        reduction.over(builder, block.addArgument(operands[0].type(), op->getLoc()), {last}, /*keepdims=*/true)
            .getDefiningOp();
    EXPECT_EQ(made->getName(), op->getName());
    EXPECT_TRUE(cast<ReductionOpInterface>(made).getKeepdims());
    result = evaluate(made, operands)[0].values;
    expected = folded(reduction, operands[0], {last});
    EXPECT_TRUE(std::equal(result.begin(), result.end(), expected.begin(), expected.end(), near));
  });
  EXPECT_GE(seen.size(), 6u);
}

TEST(Facts, IdentitiesOfIntegersAreTheBoundsOfTheirTypes) {
  MLIRContext *context = &testContext();
  auto number = [&](Combiner combiner, unsigned width, IntegerType::SignednessSemantics sign) {
    return numberOf(identityOf(combiner, IntegerType::get(context, width, sign)));
  };
  EXPECT_EQ(number(Combiner::Max, 8, IntegerType::Signless), -128);
  EXPECT_EQ(number(Combiner::Min, 8, IntegerType::Signless), 127);
  EXPECT_EQ(number(Combiner::Max, 8, IntegerType::Unsigned), 0);
  EXPECT_EQ(number(Combiner::Min, 8, IntegerType::Unsigned), 255);
  EXPECT_EQ(number(Combiner::Min, 64, IntegerType::Unsigned), 0x1p64);
  EXPECT_EQ(number(Combiner::Add, 64, IntegerType::Signless), 0);
  EXPECT_EQ(number(Combiner::Multiply, 16, IntegerType::Unsigned), 1);
  EXPECT_EQ(number(Combiner::Or, 1, IntegerType::Signless), 0);
  EXPECT_EQ(numberOf(identityOf(Combiner::Max, Float16Type::get(context))), -INFINITY);
  EXPECT_EQ(numberOf(identityOf(Combiner::Min, BFloat16Type::get(context))), INFINITY);
}

//===-- Contractions -------------------------------------------------------------------===//

using Indices = std::array<MatrixProduct::Digits, MatrixProduct::axisCount>;

/// The digits of a number.
MatrixProduct::Digits digitsOf(int64_t number, const MatrixProduct::Digits &extents) {
  MatrixProduct::Digits digits(extents.size());
  for (size_t d = extents.size(); d-- > 0; number /= extents[d])
    digits[d] = number % extents[d];
  return digits;
}
/// The number of an element in row-major order; nullopt where there is none.
std::optional<int64_t> numberAt(const MatrixProduct::Coordinates &coordinates, const Indices &digits) {
  int64_t number = 0;
  for (const MatrixProduct::Coordinate &c : coordinates) {
    int64_t position = c.constant;
    for (const MatrixProduct::Term &term : c.terms)
      position += term.coefficient * digits[unsigned(term.axis)][term.digit];
    if (position % c.divisor != 0 || position < 0 || position / c.divisor >= c.extent)
      return std::nullopt;
    number = number * c.extent + position / c.divisor;
  }
  return number;
}

TEST(Facts, ContractionsAreTheirMatrixProducts) {
  std::set<std::string> seen;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor> operands) {
    auto contraction = dyn_cast<ContractionOpInterface>(op);
    if (!contraction)
      return;
    seen.insert(op->getName().getStringRef().str());
    MatrixProduct product = contraction.getProduct();
    auto extents = [](const MatrixProduct::Coordinates &coordinates) {
      return llvm::map_to_vector(coordinates, [](const auto &c) { return c.extent; });
    };
    ASSERT_EQ(Order(extents(product.atA)), shapeOf(product.a));
    ASSERT_EQ(Order(extents(product.atB)), shapeOf(product.b));
    ASSERT_EQ(Order(extents(product.atC)), shapeOf(op->getResult(0)));
    const HostTensor &a = operands[product.a == op->getOperand(0) ? 0 : 1],
                     &b = operands[product.b == op->getOperand(1) ? 1 : 0];
    HostTensor result = evaluate(op, operands)[0];
    std::vector<int> stored(result.values.size(), 0);
    auto extent = [&](MatrixProduct::Axis axis) { return llvm::product_of(product.digits[unsigned(axis)]); };
    auto set = [&](Indices &digits, MatrixProduct::Axis axis, int64_t number) {
      digits[unsigned(axis)] = digitsOf(number, product.digits[unsigned(axis)]);
    };
    using Axis = MatrixProduct::Axis;
    Indices digits;
    for (int64_t z = 0; z < extent(Axis::Z); ++z)
      for (int64_t m = 0; m < extent(Axis::M); ++m)
        for (int64_t n = 0; n < extent(Axis::N); ++n) {
          set(digits, Axis::Z, z), set(digits, Axis::M, m), set(digits, Axis::N, n);
          std::optional<int64_t> at = numberAt(product.atC, digits);
          if (!at)
            continue;
          double sum = 0;
          for (int64_t k = 0; k < extent(Axis::K); ++k) {
            set(digits, Axis::K, k);
            std::optional<int64_t> inA = numberAt(product.atA, digits), inB = numberAt(product.atB, digits);
            sum += inA && inB ? a.values[*inA] * b.values[*inB] : 0;
          }
          ++stored[*at];
          ASSERT_TRUE(near(result.values[*at], sum)) << "element " << *at;
        }
    EXPECT_TRUE(llvm::all_of(stored, [](int times) { return times == 1; }))
        << "an element is stored twice, or not at all";
  });
  EXPECT_EQ(seen,
            (std::set<std::string>{"graph.conv", "graph.conv_input_grad", "graph.conv_weight_grad", "graph.matmul"}));
}

/// A bias has one number for each column of the second operand.
TEST(Facts, BiasesBelongToColumns) {
  std::set<std::string> biased;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor>) {
    auto contraction = dyn_cast<ContractionOpInterface>(op);
    std::optional<int64_t> dim = contraction ? contraction.getBiasDim() : std::nullopt;
    if (!dim)
      return;
    biased.insert(op->getName().getStringRef().str());
    OpOperand &columns = op->getOpOperand(1);
    auto leadsThere = [&](int64_t d) {
      return cast<IndexingOpInterface>(op).followingDim(columns, op->getResult(0), d) == dim;
    };
    EXPECT_TRUE(llvm::any_of(llvm::seq<int64_t>(typeOf(columns.get()).getRank()), leadsThere));
  });
  EXPECT_EQ(biased, (std::set<std::string>{"graph.conv", "graph.matmul"}));
}

TEST(Facts, ConvolutionsNameTheirTensors) {
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor>) {
    auto convolution = dyn_cast<ConvolutionOpInterface>(op);
    if (!convolution)
      return;
    Value tensors[] = {convolution.getInput(), convolution.getWeight(), convolution.getOutput()};
    for (Value v : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
      EXPECT_TRUE(llvm::is_contained(tensors, v));
  });
}

//===-- Norms ----------------------------------------------------------------------------===//

/// Layout and the tests below ask these interfaces. To a composite op that implements none of them they would give the
/// treatment of an op of which nothing is known.
TEST(Facts, CompositeOpsStateTheirFamily) {
  std::set<std::string> norms;
  for (RegisteredOperationName name : testContext().getRegisteredOperationsByDialect("graph")) {
    const auto *indexed = name.getInterface<IndexingOpInterface>();
    if (!indexed || indexed->getLoopKind() != LoopKind::Composite)
      continue;
    bool isNorm = name.hasInterface<NormOpInterface>();
    if (isNorm)
      norms.insert(name.getStringRef().str());
    // Layout does not see attention: mpc-decompose-attention comes before it.
    bool isAttention = name.getStringRef().starts_with("graph.attention");
    EXPECT_TRUE(isNorm || isAttention || name.hasInterface<ProbabilityOpInterface>() ||
                name.hasInterface<ClassificationLossOpInterface>() || name.hasInterface<ReductionOpInterface>())
        << name.getStringRef().str() << " is composite: derive it from the base class of its family, such as "
        << "Graph_NormOp, or state here that layout treats its family as it treats an op of one result";
  }
  std::set<std::string> seen;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor>) {
    if (isa<NormOpInterface>(op))
      seen.insert(op->getName().getStringRef().str());
  });
  EXPECT_EQ(seen, norms) << "the tests of norms need a case of each";
  EXPECT_TRUE(norms.count("graph.batch_norm"));
}

/// Returns whether the shape broadcasts to the other as numpy does.
bool broadcastsTo(ArrayRef<int64_t> shape, ArrayRef<int64_t> to) {
  if (shape.size() > to.size())
    return false;
  return llvm::all_of(llvm::zip(shape, to.take_back(shape.size())), [](auto pair) {
    auto [from, extent] = pair;
    return from == 1 || from == extent;
  });
}

/// The channels are where numbers per channel go and come from (IndexingOpInterface::followingDim), and a sample's
/// results follow its elements.
TEST(Facts, NormsStateTheirDimensions) {
  std::set<std::string> withChannels, following;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor>) {
    auto norm = dyn_cast<NormOpInterface>(op);
    if (!norm)
      return;
    std::string name = op->getName().getStringRef().str();
    SCOPED_TRACE(name);
    auto indexed = cast<IndexingOpInterface>(op);
    EXPECT_EQ(norm.getX(), op->getOperand(0));
    int64_t rank = typeOf(norm.getX()).getRank();
    std::optional<int64_t> channels = norm.getChannelAxis();
    if (norm.keepsSamplesFirst()) {
      EXPECT_EQ(indexed.followingDim(op->getOpOperand(0), op->getResult(0), 0), 0);
    }
    if (!channels) {
      for (Type type :
           llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
        EXPECT_TRUE(broadcastsTo(cast<RankedTensorType>(type).getShape(), shapeOf(norm.getX())));
      return;
    }
    ASSERT_LT(*channels, rank);
    withChannels.insert(name);
    for (OpOperand &operand : op->getOpOperands())
      for (OpResult result : op->getResults()) {
        // From numbers per channel to an activation, or from an activation to numbers per channel.
        bool fromChannels = typeOf(operand.get()).getRank() == 1, toChannels = typeOf(result).getRank() == 1;
        if (rank == 1 || fromChannels == toChannels || !indexed.dependsOn(operand, result))
          continue;
        EXPECT_EQ(shapeOf(fromChannels ? operand.get() : Value(result))[0], shapeOf(norm.getX())[*channels]);
        std::optional<int64_t> there = indexed.followingDim(operand, result, fromChannels ? 0 : *channels);
        if (!there)
          continue;
        EXPECT_EQ(*there, fromChannels ? *channels : 0);
        following.insert(name);
      }
  });
  EXPECT_EQ(following, withChannels);
  EXPECT_FALSE(withChannels.count("graph.layer_norm"));
}

//===-- Permutations -------------------------------------------------------------------===//

/// Returns whether the op broadcasts the operands that have fewer dimensions than the others.
bool broadcastsOperands(Operation *op) {
  auto norm = dyn_cast<NormOpInterface>(op);
  return isOfKind(op, LoopKind::Elementwise) || (norm && !norm.getChannelAxis());
}

HostTensor inOrder(const HostTensor &x, Order order) {
  SmallVector<int64_t> shape, strides = stridesOf(x.shape), from;
  for (int64_t dim : order) {
    shape.push_back(x.shape[dim]);
    from.push_back(strides[dim]);
  }
  HostTensor y(RankedTensorType::get(shape, x.element));
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t rest = i, at = 0;
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; rest /= shape[d--])
      at += rest % shape[d] * from[d];
    y.values[i] = x.values[at];
  }
  return y;
}
HostTensor withRank(const HostTensor &x, size_t rank) {
  SmallVector<int64_t> shape(rank - x.shape.size(), 1);
  llvm::append_range(shape, x.shape);
  return HostTensor(RankedTensorType::get(shape, x.element), x.values);
}

/// The tensor in place of a value of an op that is permuted: what IndexingOpInterface::permuted asks for and promises.
HostTensor permutedAs(Operation *op, Value v, const HostTensor &x, Order order) {
  auto convolution = dyn_cast<ConvolutionOpInterface>(op);
  if (convolution && v == convolution.getWeight())
    return x;
  if (x.shape.size() == order.size())
    return inOrder(x, order);
  return broadcastsOperands(op) && !x.shape.empty() ? inOrder(withRank(x, order.size()), order) : x;
}
/// The same for the result of a reduction that drops its axes.
HostTensor withoutAxes(const HostTensor &x, ArrayRef<int64_t> axes, Order order) {
  SmallVector<int64_t> left;
  for (int64_t dim : order)
    if (!llvm::is_contained(axes, dim))
      left.push_back(dim - llvm::count_if(axes, [&](int64_t axis) { return axis < dim; }));
  return inOrder(x, left);
}

void checkOrder(IndexingOpInterface op, ArrayRef<HostTensor> operands, Order order, std::set<std::string> &built) {
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  Tensors inputs;
  SmallVector<Value> values;
  for (auto [v, x] : llvm::zip_equal(op->getOperands(), operands)) {
    inputs.push_back(permutedAs(op, v, x, order));
    values.push_back(block.addArgument(inputs.back().type(), op->getLoc()));
  }
  Operation *made = op.permuted(builder, order, values);
  EXPECT_EQ(!made, block.empty()) << "an op was built, and is not the answer";
  if (auto norm = dyn_cast<NormOpInterface>(op.getOperation())) {
    EXPECT_EQ(!made, norm.keepsSamplesFirst() && order[0] != 0);
  }
  if (!made)
    return;
  ASSERT_TRUE(succeeded(verify(made)));
  built.insert(op->getName().getStringRef().str());
  Tensors before = evaluate(op, operands), after = evaluate(made, inputs);
  for (auto [v, x, y] : llvm::zip_equal(op->getResults(), before, after)) {
    HostTensor expected = permutedAs(op, v, x, order);
    if (auto reduction = dyn_cast<ReductionOpInterface>(op.getOperation()); reduction && !reduction.getKeepdims())
      expected = withoutAxes(x, reduction.getAxes(), order);
    if (auto argMax = dyn_cast<ArgMaxOp>(op.getOperation()); argMax && !argMax.getKeepdims())
      expected = withoutAxes(x, {int64_t(argMax.getAxis())}, order);
    ASSERT_EQ(y.type(), expected.type()) << "of result " << v.getResultNumber();
    EXPECT_TRUE(std::equal(y.values.begin(), y.values.end(), expected.values.begin(), near))
        << "result " << v.getResultNumber();
  }
}

/// An op for tensors in another order computes what the op itself computes, in that order.
TEST(Facts, PermutedOpsComputeTheSame) {
  std::set<std::string> built;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor> operands) {
    auto indexed = dyn_cast<IndexingOpInterface>(op);
    if (!indexed || operands.empty())
      return;
    int64_t rank = std::max(typeOf(op->getOperand(0)).getRank(), typeOf(op->getResult(0)).getRank());
    if (rank < 2)
      return;
    SmallVector<int64_t> backward = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(rank))),
                         channelsLast = llvm::to_vector(llvm::seq<int64_t>(rank)), channelsFirst = channelsLast;
    std::rotate(channelsLast.begin() + 1, channelsLast.begin() + 2, channelsLast.end());
    std::rotate(channelsFirst.begin() + 1, channelsFirst.end() - 1, channelsFirst.end());
    for (Order order : {Order(backward), Order(channelsLast), Order(channelsFirst)})
      ASSERT_NO_FATAL_FAILURE(checkOrder(indexed, operands, order, built));
  });
  for (const char *op : {"graph.add",
                         "graph.tanh",
                         "graph.concat",
                         "graph.slice",
                         "graph.pad",
                         "graph.transpose",
                         "graph.broadcast",
                         "graph.resize",
                         "graph.resize_grad",
                         "graph.softmax",
                         "graph.log_softmax",
                         "graph.reduce_sum",
                         "graph.reduce_max",
                         "graph.batch_norm",
                         "graph.batch_norm_grad",
                         "graph.layer_norm",
                         "graph.layer_norm_grad",
                         "graph.group_norm",
                         "graph.group_norm_grad",
                         "graph.max_pool",
                         "graph.max_pool_grad",
                         "graph.avg_pool",
                         "graph.avg_pool_grad",
                         "graph.conv",
                         "graph.conv_input_grad",
                         "graph.conv_weight_grad"})
    EXPECT_TRUE(built.count(op)) << op;
}

//===-- Split dimensions ---------------------------------------------------------------===//

/// The tensor with dimension `dim` as two dimensions; all elements stay where they are.
HostTensor withSplit(const HostTensor &x, int64_t dim, ArrayRef<int64_t> whole) {
  SmallVector<int64_t> shape(x.shape);
  int64_t extent = shape[dim], inner = 2;
  while (whole[dim] % inner != 0)
    ++inner;
  shape[dim] = extent == 1 ? 1 : extent / inner;
  shape.insert(shape.begin() + dim + 1, extent == 1 ? 1 : inner);
  return HostTensor(RankedTensorType::get(shape, x.element), x.values);
}

/// Whether IndexingOpInterface::permuted may be asked to split the dimension.
bool canSplit(IndexingOpInterface op, int64_t dim, ArrayRef<int64_t> whole) {
  bool spreads = broadcastsOperands(op);
  bool reduces = isa<ReductionOpInterface>(op.getOperation());
  auto fits = [&](Value v) { return typeOf(v).getRank() == int64_t(whole.size()) || typeOf(v).getRank() == 0; };
  if (whole[dim] < 2 || op.drawsNumbers() || isOfKind(op, LoopKind::Permutation) || op->hasAttr("layout"))
    return false;
  // The operands of a matrix product have dimensions of their own.
  auto hasDim = [&](Value v) {
    ArrayRef<int64_t> shape = shapeOf(v);
    return shape.size() != whole.size() || shape[dim] == 1 || shape[dim] == whole[dim];
  };
  if (!llvm::all_of(op->getOperands(), hasDim))
    return false;
  if (!spreads && (!llvm::all_of(op->getOperands(), fits) || (!reduces && !llvm::all_of(op->getResults(), fits))))
    return false;
  return reduces || spreads || isOfKind(op, LoopKind::Broadcast) ||
         op.followingDim(op->getOpOperand(0), op->getResult(0), dim) == dim;
}

void checkSplit(IndexingOpInterface op, ArrayRef<HostTensor> operands, int64_t dim, ArrayRef<int64_t> whole,
                std::set<std::string> &built) {
  size_t rank = whole.size();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(rank));
  order.insert(order.begin() + dim, dim);
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  Tensors inputs;
  SmallVector<Value> values;
  for (const HostTensor &x : operands) {
    inputs.push_back(x.shape.empty() ? x : withSplit(withRank(x, rank), dim, whole));
    values.push_back(block.addArgument(inputs.back().type(), op->getLoc()));
  }
  Operation *made = op.permuted(builder, order, values);
  if (!made)
    return;
  Tensors before = evaluate(op, operands);
  for (auto [v, x] : llvm::zip_equal(made->getResults(), before))
    if (x.shape.size() == rank)
      v.setType(withSplit(x, dim, whole).type());
  ASSERT_TRUE(succeeded(verify(made)));
  built.insert(op->getName().getStringRef().str());
  for (auto [x, y] : llvm::zip_equal(before, evaluate(made, inputs))) {
    ASSERT_EQ(x.values.size(), y.values.size());
    EXPECT_TRUE(std::equal(y.values.begin(), y.values.end(), x.values.begin(), near));
  }
}

/// An op for tensors of which a dimension is split computes the same elements.
TEST(Facts, OpsOfSplitDimensionsComputeTheSame) {
  std::set<std::string> built;
  forEachOpRun([&](Operation *op, ArrayRef<HostTensor> operands) {
    auto indexed = dyn_cast<IndexingOpInterface>(op);
    if (!indexed || operands.empty())
      return;
    bool spreads = isOfKind(op, LoopKind::Elementwise) || isOfKind(op, LoopKind::Broadcast);
    ArrayRef<int64_t> whole = shapeOf(spreads ? Value(op->getResult(0)) : op->getOperand(0));
    for (int64_t dim = 0; dim < int64_t(whole.size()); ++dim)
      if (canSplit(indexed, dim, whole)) {
        ASSERT_NO_FATAL_FAILURE(checkSplit(indexed, operands, dim, whole, built)) << op->getName().getStringRef().str();
      }
  });
  for (const char *op :
       {"graph.add", "graph.select", "graph.concat", "graph.slice", "graph.pad", "graph.broadcast", "graph.resize",
        "graph.softmax", "graph.reduce_sum", "graph.reduce_max", "graph.layer_norm", "graph.layer_norm_grad"})
    EXPECT_TRUE(built.count(op)) << op;
}

} // namespace
