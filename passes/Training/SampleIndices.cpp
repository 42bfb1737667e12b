// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/SampleIndices.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <cstring>
#include <vector>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// A term of a sum, and the number that multiplies it.
using Term = std::pair<Value, int64_t>;

/// Returns the elements of an integer constant, in their order; nullopt for other values.
static std::optional<std::vector<int64_t>> constantOf(Value v) {
  auto constant = v.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  std::vector<int64_t> elements;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue())) { // as importers store many numbers
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || !resource.getElementType().isInteger(64))
      return std::nullopt;
    elements.resize(blob->getData().size() / sizeof(int64_t));
    std::memcpy(elements.data(), blob->getData().data(), elements.size() * sizeof(int64_t));
    return elements;
  }
  auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (!dense)
    return std::nullopt;
  for (const APInt &element : dense.getValues<APInt>())
    elements.push_back(element.getSExtValue());
  return elements;
}

/// Returns the factor of a product with a constant of one element, and what it multiplies.
static std::optional<Term> scaled(Value v) {
  auto mul = v.getDefiningOp<MulOp>();
  if (mul)
    for (auto [x, factor] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
      if (auto by = constantOf(factor); by && by->size() == 1 && typeOf(x) == typeOf(v))
        return Term(x, by->front());
  return std::nullopt;
}

static void collectTerms(Term term, SmallVectorImpl<Term> &terms) {
  auto [v, factor] = term;
  if (auto add = v.getDefiningOp<AddOp>()) {
    collectTerms({add.getLhs(), factor}, terms);
    collectTerms({add.getRhs(), factor}, terms);
  } else if (std::optional<Term> product = scaled(v)) {
    collectTerms({product->first, product->second * factor}, terms);
  } else {
    terms.push_back(term);
  }
}

/// Returns whether `holds(value, index of dim)` is true for each element of a tensor of that shape.
static bool all(ArrayRef<int64_t> values, ArrayRef<int64_t> shape, int64_t dim,
                function_ref<bool(int64_t value, int64_t index)> holds) {
  const int64_t stride = llvm::product_of(shape.drop_front(dim + 1));
  return llvm::all_of(llvm::enumerate(values), [&](const auto &element) {
    return holds(element.value(), int64_t(element.index()) / stride % shape[dim]);
  });
}

/// Returns the operand of a concatenation that a slice takes whole, or null.
static Value wholePart(SliceOp slice) {
  auto concat = slice.getX().getDefiningOp<ConcatOp>();
  if (!concat)
    return {};
  const int64_t axis = int64_t(concat.getAxis());
  int64_t start = 0;
  for (Value part : concat.getOperands()) {
    if (start == slice.getStarts()[axis] && shapeOf(part) == shapeOf(slice.getResult()) &&
        llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; }))
      return part;
    start += shapeOf(part)[axis];
  }
  return {};
}

/// Returns the step with which v counts up along a dimension, v[..., i, ...] = i * step; nullopt where it is not known.
static std::optional<int64_t> stepAlong(Value v, int64_t dim) {
  Operation *op = v.getDefiningOp();
  if (!op || dim < 0)
    return std::nullopt;
  if (auto iota = dyn_cast<IotaOp>(op))
    return int64_t(iota.getAxis()) == dim ? std::optional<int64_t>(1) : std::nullopt;
  if (std::optional<std::vector<int64_t>> values = constantOf(v)) {
    const size_t stride = llvm::product_of(shapeOf(v).drop_front(dim + 1));
    if (shapeOf(v)[dim] < 2 || values->size() <= stride)
      return std::nullopt;
    const int64_t step = (*values)[stride];
    const bool isLine = all(*values, shapeOf(v), dim, [&](int64_t value, int64_t i) { return value == i * step; });
    return isLine ? std::optional(step) : std::nullopt;
  }
  // An index below zero counts from the end; those that count up are not below it.
  if (auto select = dyn_cast<SelectOp>(op)) {
    Value x = select->getOperand(2);
    auto negative = select->getOperand(0).getDefiningOp<CompareOp>();
    std::optional<std::vector<int64_t>> zero = negative ? constantOf(negative->getOperand(1)) : std::nullopt;
    const bool isResolved = zero && zero->size() == 1 && zero->front() == 0 && negative->getOperand(0) == x &&
                            negative.getPredicate() == Predicate::lt && typeOf(x) == typeOf(v);
    std::optional<int64_t> step = isResolved ? stepAlong(x, dim) : std::nullopt;
    return step && *step >= 0 ? step : std::nullopt;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Value part = wholePart(slice);
    return part ? stepAlong(part, dim) : std::nullopt;
  }
  if (isa<ReshapeOp, CastOp, BroadcastOp>(op)) {
    auto indexed = cast<IndexingOpInterface>(op);
    for (int64_t from = 0; from < typeOf(op->getOperand(0)).getRank(); ++from)
      if (shapeOf(op->getOperand(0))[from] == shapeOf(v)[dim] &&
          indexed.followingDim(op->getOpOperand(0), op->getResult(0), from) == dim)
        return stepAlong(op->getOperand(0), from);
  }
  return std::nullopt;
}

std::optional<int64_t> training::ownIndicesDim(Value indices, int64_t samples, int64_t inner,
                                               function_ref<bool(Value, int64_t)> follows) {
  SmallVector<Term> terms;
  collectTerms({indices, 1}, terms);
  for (int64_t dim = 0, rank = typeOf(indices).getRank(); dim < rank; ++dim) {
    if (shapeOf(indices)[dim] != samples)
      continue;
    int64_t offsets = 0;
    bool others = true;
    for (auto [term, factor] : terms) {
      const int64_t at = dim - (rank - typeOf(term).getRank());
      std::optional<std::vector<int64_t>> values = terms.size() == 1 ? constantOf(term) : std::nullopt;
      if (values && values->size() > 1)
        offsets += all(*values, shapeOf(term), at, [&](int64_t v, int64_t i) { return v / inner % samples == i; });
      else if (std::optional<int64_t> step = stepAlong(term, at); step && *step * factor == inner)
        ++offsets;
      else
        others &= follows(term, at);
    }
    if (offsets == 1 && others)
      return dim;
  }
  return std::nullopt;
}
