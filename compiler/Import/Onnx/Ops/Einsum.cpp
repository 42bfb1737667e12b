//===- Einsum.cpp - sums of products over named dimensions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An equation such as bhqd,bhkd->bhqk names the dimensions of each operand. Dimensions of one element, which broadcast,
// are dropped first; then each operand is reduced to the diagonals of the labels that it repeats, and over the labels
// that it alone has. What is left are products of two operands, in the order that makes the smallest tensors.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Ops/Equation.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

namespace {

/// An operand, or a product of some, and the labels of its dimensions.
struct Term {
  Value value;
  Labels labels;
};

class Einsum {
public:
  explicit Einsum(Node &n) : n(n), equation(n), result(equation.result) {}
  void build();

private:
  void findExtents();
  Term diagonal(Term);
  Term withoutOnes(const Term &);
  Term summed(const Term &, ArrayRef<int> gone);
  Term inOrder(const Term &, ArrayRef<int> order);
  std::pair<size_t, size_t> nextPair() const;
  /// The product of two terms, summed over their common labels that are not `kept`. The dimensions come in the order
  /// `wanted` if it can be had without a further transpose.
  Term product(const Term &, const Term &, const llvm::SmallSetVector<int, 8> &kept, ArrayRef<int> wanted);
  Term multiplied(const Term &, const Term &, ArrayRef<int> summedOver, ArrayRef<int> wanted);
  Term matrixProduct(const Term &, const Term &, ArrayRef<int> batch, ArrayRef<int> inner, ArrayRef<int> wanted);
  double count(ArrayRef<int> labels) const {
    double product = 1;
    for (int label : labels)
      product *= double(extents.at(label));
    return product;
  }
  Shape shapeFor(ArrayRef<int> labels) const {
    return llvm::map_to_vector<6>(labels, [&](int label) { return extents.at(label); });
  }
  int64_t merged(ArrayRef<int> labels) const { return llvm::product_of(shapeFor(labels)); }
  /// The labels that terms other than these two have, and those of the result.
  llvm::SmallSetVector<int, 8> keptBeside(size_t i, size_t j) const;

  Node &n;
  const Equation equation;
  const Labels &result;
  SmallVector<Term> terms;
  std::map<int, int64_t> extents;
};

} // namespace

void Einsum::findExtents() {
  for (const Term &term : terms)
    for (auto [label, extent] : llvm::zip(term.labels, shapeOf(term.value))) {
      int64_t &known = extents.try_emplace(label, 1).first->second;
      if (extent == 1 || extent == known)
        continue;
      if (known != 1) {
        std::string name = "the ellipsis";
        if (label > 0)
          name = {'\'', char(label), '\''};
        equation.malformed("gives " + name + " dimensions of " + Twine(known) + " and of " + Twine(extent) +
                           " elements");
      }
      known = extent;
    }
}

//===-- One operand ----------------------------------------------------------------------===//

Term Einsum::diagonal(Term term) {
  for (size_t q = 0; q < term.labels.size(); ++q) {
    size_t p = size_t(llvm::find(term.labels, term.labels[q]) - term.labels.begin());
    if (p == q)
      continue;
    // The two dimensions become the last ones: n x n elements, of which those n + 1 apart are the diagonal.
    const int64_t extent = shapeOf(term.value)[p];
    if (shapeOf(term.value)[q] != extent)
      equation.malformed("repeats '" + Twine(char(term.labels[q])) + "' within a term for dimensions of " +
                         Twine(extent) + " and of " + Twine(shapeOf(term.value)[q]) + " elements");
    Shape order, shape;
    Labels labels;
    for (size_t d = 0; d < term.labels.size(); ++d)
      if (d != p && d != q) {
        order.push_back(int64_t(d));
        shape.push_back(shapeOf(term.value)[d]);
        labels.push_back(term.labels[d]);
      }
    labels.push_back(term.labels[q]);
    order.append({int64_t(p), int64_t(q)});
    shape.push_back(extent * extent);
    Shape starts(shape.size(), 0), sizes(shape), strides(shape.size(), 1);
    sizes.back() = extent;
    strides.back() = extent > 1 ? extent + 1 : 1;
    term = {n.slice(n.reshape(n.transpose(term.value, order), shape), starts, sizes, strides), labels};
    q = size_t(-1); // the labels have moved
  }
  return term;
}

Term Einsum::withoutOnes(const Term &term) {
  Term rest;
  Shape shape;
  for (auto [label, extent] : llvm::zip(term.labels, shapeOf(term.value)))
    if (extent != 1) {
      rest.labels.push_back(label);
      shape.push_back(extent);
    }
  rest.value = n.reshape(term.value, shape);
  return rest;
}

Term Einsum::summed(const Term &term, ArrayRef<int> gone) {
  Term rest;
  Shape axes;
  for (auto [d, label] : llvm::enumerate(term.labels))
    if (llvm::is_contained(gone, label))
      axes.push_back(int64_t(d));
    else
      rest.labels.push_back(label);
  rest.value = axes.empty() ? term.value : n.sum(term.value, axes, false);
  return rest;
}

Term Einsum::inOrder(const Term &term, ArrayRef<int> order) {
  Shape permutation;
  for (int label : order)
    permutation.push_back(llvm::find(term.labels, label) - term.labels.begin());
  return {n.transpose(term.value, permutation), Labels(order)};
}

//===-- Products -------------------------------------------------------------------------===//

llvm::SmallSetVector<int, 8> Einsum::keptBeside(size_t i, size_t j) const {
  llvm::SmallSetVector<int, 8> kept(llvm::from_range, result);
  for (auto [t, term] : llvm::enumerate(terms))
    if (t != i && t != j)
      kept.insert_range(term.labels);
  return kept;
}

/// The pair whose product is the smallest in comparison with its operands, as numpy's and opt_einsum's greedy order.
/// It looks at each pair; a long list, which no network has, is multiplied from the left.
std::pair<size_t, size_t> Einsum::nextPair() const {
  std::pair<size_t, size_t> best = {0, 1};
  if (terms.size() == 2 || terms.size() > 16)
    return best;
  std::optional<double> least;
  for (size_t i = 0; i < terms.size(); ++i)
    for (size_t j = i + 1; j < terms.size(); ++j) {
      llvm::SmallSetVector<int, 8> kept = keptBeside(i, j), left;
      for (const Term &term : {terms[i], terms[j]})
        for (int label : term.labels)
          if (kept.contains(label))
            left.insert(label);
      double grown = count(left.getArrayRef()) - count(terms[i].labels) - count(terms[j].labels);
      if (!least || grown < *least) {
        least = grown;
        best = {i, j};
      }
    }
  return best;
}

/// The product of all pairs of elements, as one loop. It serves where nothing is summed, and for integers.
Term Einsum::multiplied(const Term &a, const Term &b, ArrayRef<int> summedOver, ArrayRef<int> wanted) {
  Labels all(wanted);
  for (const Term &term : {a, b})
    for (int label : term.labels)
      if (!llvm::is_contained(all, label))
        all.push_back(label);
  auto aligned = [&](const Term &term) {
    Labels order;
    Shape shape;
    for (int label : all) {
      const bool has = llvm::is_contained(term.labels, label);
      shape.push_back(has ? extents.at(label) : 1);
      if (has)
        order.push_back(label);
    }
    return n.reshape(inOrder(term, order).value, shape);
  };
  Value left = aligned(a);
  return summed({n.mul(left, aligned(b)), all}, summedOver);
}

/// One batched matrix product. The orders of the labels within each group are chosen so that the fewest elements are
/// transposed: a product reads both of its operands transposed at no cost, and either operand may be the left one.
Term Einsum::matrixProduct(const Term &a, const Term &b, ArrayRef<int> batch, ArrayRef<int> inner,
                           ArrayRef<int> wanted) {
  auto among = [](ArrayRef<int> labels, ArrayRef<int> group) {
    Labels found;
    llvm::copy_if(labels, std::back_inserter(found), [&](int label) { return llvm::is_contained(group, label); });
    return found;
  };
  auto joined = [](std::initializer_list<ArrayRef<int>> groups) {
    Labels all;
    for (ArrayRef<int> group : groups)
      llvm::append_range(all, group);
    return all;
  };
  Labels onlyA, onlyB;
  for (int label : a.labels)
    if (!llvm::is_contained(batch, label) && !llvm::is_contained(inner, label))
      onlyA.push_back(label);
  for (int label : b.labels)
    if (!llvm::is_contained(batch, label) && !llvm::is_contained(inner, label))
      onlyB.push_back(label);

  struct Plan {
    Labels batch, rows, inner, columns;
    bool swapped;
  };
  std::optional<Plan> best;
  double least = 0;
  auto consider = [&](Plan plan) {
    auto cost = [&](const Term &term, ArrayRef<int> own) {
      bool fits =
          term.labels == joined({plan.batch, own, plan.inner}) || term.labels == joined({plan.batch, plan.inner, own});
      return fits ? 0 : count(term.labels);
    };
    Labels made =
        plan.swapped ? joined({plan.batch, plan.columns, plan.rows}) : joined({plan.batch, plan.rows, plan.columns});
    double total =
        cost(a, plan.rows) + cost(b, plan.columns) + (wanted.empty() || ArrayRef(made) == wanted ? 0 : count(made));
    if (!best || total < least) {
      best = std::move(plan);
      least = total;
    }
  };
  SmallVector<Labels> batches = {among(a.labels, batch), among(b.labels, batch)}, rows = {onlyA}, columns = {onlyB};
  if (!wanted.empty()) {
    batches.push_back(among(wanted, batch));
    rows.push_back(among(wanted, onlyA));
    columns.push_back(among(wanted, onlyB));
  }
  for (bool swapped : {false, true})
    for (const Labels &batchOrder : batches)
      for (const Labels &innerOrder : {among(a.labels, inner), among(b.labels, inner)})
        for (const Labels &rowOrder : rows)
          for (const Labels &columnOrder : columns)
            consider({batchOrder, rowOrder, innerOrder, columnOrder, swapped});

  const Plan &plan = *best;
  const Term &left = plan.swapped ? b : a, &right = plan.swapped ? a : b;
  const Labels &leftOnly = plan.swapped ? plan.columns : plan.rows,
               &rightOnly = plan.swapped ? plan.rows : plan.columns;
  const int64_t depth = merged(plan.inner);
  // An operand whose summed labels come first is read transposed.
  const bool innerFirst = left.labels == joined({plan.batch, plan.inner, leftOnly}) && !leftOnly.empty();
  const bool innerLast = right.labels == joined({plan.batch, rightOnly, plan.inner}) && !rightOnly.empty();
  Value x = inOrder(left, innerFirst ? joined({plan.batch, plan.inner, leftOnly})
                                     : joined({plan.batch, leftOnly, plan.inner}))
                .value;
  Value y = inOrder(right, innerLast ? joined({plan.batch, rightOnly, plan.inner})
                                     : joined({plan.batch, plan.inner, rightOnly}))
                .value;
  Shape leftShape = shapeFor(plan.batch), rightShape = leftShape;
  if (innerFirst)
    leftShape.append({depth, merged(leftOnly)});
  else if (plan.batch.empty() && leftOnly.size() > 1) // leading dimensions of rows stay as they are, as in a MatMul
    leftShape = shapeFor(joined({leftOnly}));
  else
    leftShape.push_back(merged(leftOnly));
  if (!innerFirst)
    leftShape.push_back(depth);
  if (innerLast)
    rightShape.append({merged(rightOnly), depth});
  else
    rightShape.append({depth, merged(rightOnly)});
  Value product = n.make<MatMulOp>(ValueRange{n.reshape(x, leftShape), n.reshape(y, rightShape)}, [&](auto &p) {
                     if (innerFirst)
                       p.transpose_a = n.b.getUnitAttr();
                     if (innerLast)
                       p.transpose_b = n.b.getUnitAttr();
                   }).getResult();
  Labels made = joined({plan.batch, leftOnly, rightOnly});
  return {n.reshape(product, shapeFor(made)), made};
}

Term Einsum::product(const Term &a, const Term &b, const llvm::SmallSetVector<int, 8> &kept, ArrayRef<int> wanted) {
  Labels batch, inner;
  for (int label : a.labels)
    if (llvm::is_contained(b.labels, label))
      (kept.contains(label) ? batch : inner).push_back(label);
  if (inner.empty() || !isFloat(a.value))
    return multiplied(a, b, inner, wanted);
  return matrixProduct(a, b, batch, inner, wanted);
}

void Einsum::build() {
  for (auto [i, labels] : llvm::enumerate(equation.terms)) {
    if (n.element(i) != n.element(0))
      n.fail("inputs 0 and " + Twine(i) + " differ in their element types", "cast one of them (Cast)");
    terms.push_back({n.in(i), labels});
  }
  findExtents();
  for (Term &term : terms)
    term = withoutOnes(diagonal(term));
  for (auto [i, term] : llvm::enumerate(terms)) {
    llvm::SmallSetVector<int, 8> kept = keptBeside(i, i);
    Labels gone;
    llvm::copy_if(term.labels, std::back_inserter(gone), [&](int label) { return !kept.contains(label); });
    term = summed(term, gone);
  }
  Labels wanted; // without the dimensions of one element, which no term has any more
  llvm::copy_if(result, std::back_inserter(wanted), [&](int label) { return extents.at(label) != 1; });
  while (terms.size() > 1) {
    auto [i, j] = nextPair();
    terms[i] = product(terms[i], terms[j], keptBeside(i, j), terms.size() == 2 ? ArrayRef(wanted) : ArrayRef<int>());
    terms.erase(terms.begin() + ptrdiff_t(j));
  }
  n.out(0, n.reshape(inOrder(terms[0], wanted).value, shapeFor(result)));
}

static void einsum(Node &n) { Einsum(n).build(); }

OpFamily onnx_import::contractionOps() {
  static const OpRow rows[] = {
      {"Einsum", 12, kMaxOpset, kAnyNumber, 1, "@", "dimensions of an ellipsis are in the result", einsum},
  };
  return {"Contraction", rows};
}
