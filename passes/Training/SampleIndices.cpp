// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/SampleIndices.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <cstring>
#include <vector>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// A term of a sum, and the number that multiplies it.
using Term = std::pair<Value, int64_t>;
using Integers = std::optional<std::vector<int64_t>>;
using Integer = std::optional<int64_t>;

// Importers write an index in some twenty ops. A file that has more of them is not followed, for a graph in which one
// value is added to itself again and again has more paths than anyone can walk.
static constexpr int kDeepest = 32, kMostOps = 256;
static constexpr size_t kMostTerms = 16;

/// Returns the elements that a slice takes of those of its operand.
static std::vector<int64_t> sliced(SliceOp slice, ArrayRef<int64_t> elements) {
  ArrayRef<int64_t> from = shapeOf(slice.getX()), to = shapeOf(slice.getResult());
  std::vector<int64_t> taken;
  for (int64_t i = 0, count = llvm::product_of(to); i < count; ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (int64_t d = int64_t(to.size()) - 1; d >= 0; --d) {
      at += (slice.getStarts()[d] + rest % to[d] * slice.getStrides()[d]) * stride;
      rest /= to[d];
      stride *= from[d];
    }
    taken.push_back(elements[at]);
  }
  return taken;
}

/// Returns the elements of an integer constant, or of a slice or view of one, in their order; nullopt for other values.
static Integers constantOf(Value v, int depth = 0) {
  Operation *op = v.getDefiningOp();
  if (!op || depth > kDeepest)
    return std::nullopt;
  if (isa<ReshapeOp>(op))
    return constantOf(op->getOperand(0), depth + 1);
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Integers whole = constantOf(slice.getX(), depth + 1);
    return whole ? Integers(sliced(slice, *whole)) : std::nullopt;
  }
  auto constant = dyn_cast<ConstantOp>(op);
  if (!constant)
    return std::nullopt;
  std::vector<int64_t> elements;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue())) { // as importers store many numbers
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || blob->getData().empty() || !resource.getElementType().isInteger(64))
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
  if (auto mul = v.getDefiningOp<MulOp>())
    for (auto [x, factor] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
      if (Integers by = constantOf(factor); by && by->size() == 1 && typeOf(x) == typeOf(v))
        return Term(x, by->front());
  return std::nullopt;
}

/// Returns whether the sum has no more terms than importers write.
static bool collectTerms(Term term, SmallVectorImpl<Term> &terms, int depth = 0) {
  auto [v, factor] = term;
  if (terms.size() >= kMostTerms || depth > kDeepest)
    return false;
  if (auto add = v.getDefiningOp<AddOp>())
    return collectTerms({add.getLhs(), factor}, terms, depth + 1) &&
           collectTerms({add.getRhs(), factor}, terms, depth + 1);
  if (std::optional<Term> product = scaled(v)) {
    Integer both = llvm::checkedMul(product->second, factor);
    return both && collectTerms({product->first, *both}, terms, depth + 1);
  }
  terms.push_back(term);
  return true;
}

/// Returns whether `holds(value, index of dim)` is true for each element of a tensor of that shape.
static bool holdsAlong(ArrayRef<int64_t> values, ArrayRef<int64_t> shape, int64_t dim,
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

/// Returns (x, E) of an index as importers write it, x < 0 ? x + E : x: one below zero counts from the end of E
/// elements, and the data are checked to lie in [-E, E).
static std::optional<Term> resolvedIndex(Value v) {
  auto select = v.getDefiningOp<SelectOp>();
  auto negative = select ? select->getOperand(0).getDefiningOp<CompareOp>() : nullptr;
  auto fromEnd = select ? select->getOperand(1).getDefiningOp<AddOp>() : nullptr;
  if (!negative || !fromEnd || negative.getPredicate() != Predicate::lt)
    return std::nullopt;
  Value x = select->getOperand(2);
  Integers zero = constantOf(negative->getOperand(1)), extent = constantOf(fromEnd.getRhs());
  if (negative->getOperand(0) != x || fromEnd.getLhs() != x || typeOf(x) != typeOf(v) || !zero || zero->size() != 1 ||
      zero->front() != 0 || !extent || extent->size() != 1)
    return std::nullopt;
  return Term(x, extent->front());
}

/// Returns the step with which v counts up along a dimension, v[..., i, ...] = i * step; nullopt where it is not known.
static Integer stepAlong(Value v, int64_t dim, int depth = 0) {
  Operation *op = v.getDefiningOp();
  if (!op || dim < 0 || depth > kDeepest)
    return std::nullopt;
  if (auto iota = dyn_cast<IotaOp>(op))
    return int64_t(iota.getAxis()) == dim ? Integer(1) : std::nullopt;
  if (Integers values = constantOf(v)) {
    const size_t stride = llvm::product_of(shapeOf(v).drop_front(dim + 1));
    if (shapeOf(v)[dim] < 2 || values->size() <= stride)
      return std::nullopt;
    const int64_t step = (*values)[stride];
    auto isLine = [&](int64_t value, int64_t i) { return llvm::checkedMul(i, step) == Integer(value); };
    return holdsAlong(*values, shapeOf(v), dim, isLine) ? Integer(step) : std::nullopt;
  }
  if (std::optional<Term> product = scaled(v)) {
    Integer step = stepAlong(product->first, dim, depth + 1);
    return step ? llvm::checkedMul(*step, product->second) : std::nullopt;
  }
  if (std::optional<Term> index = resolvedIndex(v)) {
    Integer step = stepAlong(index->first, dim, depth + 1);
    return step && *step >= 0 ? step : std::nullopt;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Value part = wholePart(slice);
    return part ? stepAlong(part, dim, depth + 1) : std::nullopt;
  }
  if (isa<ReshapeOp, CastOp, BroadcastOp>(op)) {
    auto indexed = cast<IndexingOpInterface>(op);
    for (int64_t from = 0; from < typeOf(op->getOperand(0)).getRank(); ++from)
      if (shapeOf(op->getOperand(0))[from] == shapeOf(v)[dim] &&
          indexed.followingDim(op->getOpOperand(0), op->getResult(0), from) == dim)
        return stepAlong(op->getOperand(0), from, depth + 1);
  }
  return std::nullopt;
}

/// Returns a number that no element of v exceeds, if none is below zero; nullopt where that is not known. `below` gives
/// the bound that the data of an argument are checked against; `ops` counts those that are still followed.
static Integer mostOf(Value v, function_ref<Integer(Value argument)> below, int &ops) {
  Operation *op = v.getDefiningOp();
  if (--ops < 0)
    return std::nullopt;
  if (!op) {
    Integer bound = below(v);
    return bound ? Integer(*bound - 1) : std::nullopt;
  }
  auto largest = [&](ValueRange values) -> Integer {
    int64_t most = 0;
    for (Value each : values) {
      Integer here = mostOf(each, below, ops);
      if (!here)
        return std::nullopt;
      most = std::max(most, *here);
    }
    return most;
  };
  if (Integers values = constantOf(v)) {
    if (values->empty() || *llvm::min_element(*values) < 0)
      return std::nullopt;
    return *llvm::max_element(*values);
  }
  if (auto iota = dyn_cast<IotaOp>(op))
    return shapeOf(v)[iota.getAxis()] - 1;
  if (auto argMax = dyn_cast<ArgMaxOp>(op))
    return shapeOf(argMax.getX())[argMax.getAxis()] - 1;
  if (std::optional<Term> index = resolvedIndex(v))
    return index->second - 1;
  if (isa<SelectOp>(op))
    return largest(op->getOperands().drop_front());
  if (auto pad = dyn_cast<PadOp>(op)) {
    Integer most = mostOf(pad.getX(), below, ops);
    const double value = pad.getValue().convertToDouble();
    return most && value >= 0 && value <= double(*most) ? most : std::nullopt;
  }
  if (std::optional<Term> product = scaled(v)) {
    Integer most = mostOf(product->first, below, ops);
    return most && product->second >= 0 ? llvm::checkedMul(*most, product->second) : std::nullopt;
  }
  if (auto add = dyn_cast<AddOp>(op)) {
    Integer x = mostOf(add.getLhs(), below, ops), y = mostOf(add.getRhs(), below, ops);
    return x && y ? llvm::checkedAdd(*x, *y) : std::nullopt;
  }
  if (isa<ConcatOp, SliceOp, ReshapeOp, BroadcastOp, TransposeOp>(op) ||
      (isa<CastOp>(op) && isa<IntegerType>(elementOf(op->getOperand(0)))))
    return largest(op->getOperands());
  return std::nullopt;
}

Integer training::ownIndicesDim(Value indices, int64_t samples, int64_t inner,
                                function_ref<bool(Value, int64_t)> follows, function_ref<Integer(Value)> below) {
  SmallVector<Term> terms;
  const Integer all = llvm::checkedMul(samples, inner);
  if (!all || !collectTerms({indices, 1}, terms))
    return std::nullopt;
  for (int64_t dim = 0, rank = typeOf(indices).getRank(); dim < rank; ++dim) {
    if (shapeOf(indices)[dim] != samples)
      continue;
    int ops = kMostOps;
    int64_t offsets = 0;
    Integer inside = 0; // the most that the other terms add within a sample's elements
    for (auto [term, factor] : terms) {
      const int64_t at = dim - (rank - typeOf(term).getRank());
      const bool counts = at >= 0 && shapeOf(term)[at] == samples;
      auto isOwn = [&, factor = factor](int64_t value, int64_t i) {
        Integer index = llvm::checkedMul(value, factor);
        return index && *index >= 0 && *index / inner % samples == i;
      };
      Integers values = counts && terms.size() == 1 ? constantOf(term) : std::nullopt;
      Integer step = counts ? stepAlong(term, at) : std::nullopt;
      if ((values && holdsAlong(*values, shapeOf(term), at, isOwn)) ||
          (step && llvm::checkedMul(*step, factor) == Integer(inner))) {
        ++offsets;
        continue;
      }
      Integer most = factor >= 0 && follows(term, at) ? mostOf(term, below, ops) : std::nullopt;
      // Whole turns through all samples lead to the same one.
      Integer added = most ? (factor % *all == 0 ? Integer(0) : llvm::checkedMul(*most, factor)) : std::nullopt;
      inside = inside && added ? llvm::checkedAdd(*inside, *added) : std::nullopt;
    }
    if (offsets == 1 && inside && *inside < inner)
      return dim;
  }
  return std::nullopt;
}
