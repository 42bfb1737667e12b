//===- Selection.cpp - as many elements as the data say ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Their results are as long as they can become, and counted (Counted.h).
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Counted.h"
#include "compiler/Import/Onnx/Fold.h"
#include "compiler/Import/Onnx/Import.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// Returns whether two values are computed by the same ops of the same values: exporters write `y > 0` once for each
/// use. Gives up after `left` ops.
static bool isSame(Value a, Value b, int &left) {
  if (a == b)
    return true;
  auto x = dyn_cast<OpResult>(a), y = dyn_cast<OpResult>(b);
  if (!x || !y || x.getResultNumber() != y.getResultNumber() || --left < 0 || !isMemoryEffectFree(x.getOwner()))
    return false;
  auto same = [&](Value p, Value q) { return success(isSame(p, q, left)); };
  return OperationEquivalence::isEquivalentTo(x.getOwner(), y.getOwner(), same, /*markEquivalent=*/nullptr,
                                              OperationEquivalence::IgnoreLocations);
}

static HostTensor indicesOf(Node &n, ArrayRef<int64_t> shape, ArrayRef<double> values) {
  std::vector<std::vector<int64_t>> rows(shape.size());
  for (int64_t i = 0; i < int64_t(values.size()); ++i) {
    if (values[i] == 0)
      continue;
    int64_t rest = i;
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      rows[d].push_back(rest % shape[d]);
      rest /= shape[d];
    }
  }
  std::vector<int64_t> flat;
  for (const auto &row : rows)
    flat.insert(flat.end(), row.begin(), row.end());
  HostTensor t = HostTensor::fromInts(
      RankedTensorType::get({int64_t(shape.size()), int64_t(rows[0].size())}, n.b.getI64Type()), flat);
  t.splat = false;
  return t;
}

/// Returns the positions of the elements of x that are not 0; a mask that had them before gets the same values.
static Positions foundIn(Node &n, Value x) {
  auto known = llvm::find_if(n.import.positions, [&](const auto &entry) {
    int left = 100;
    return isSame(entry.mask, x, left);
  });
  if (known != n.import.positions.end())
    return {known->positions, known->count};
  Value mask = elementOf(x).isInteger(1) ? x : n.compare(Predicate::ne, x, n.number(0, x));
  Positions found = positionsOf(n, n.reshape(mask, {typeOf(x).getNumElements()}));
  // The values of a loop's body are gone when it ends.
  if (isa<func::FuncOp>(n.b.getInsertionBlock()->getParentOp()))
    n.import.positions.push_back({x, found.positions, found.count});
  return found;
}

/// NonZero gives the indices of the elements that are not 0, a column for each, in row-major order.
static void nonZero(Node &n) {
  Shape shape(n.shape(0));
  if (shape.empty())
    shape.push_back(1);
  const int64_t elements = n.type(0).getNumElements();
  if (n.entry(0).constant && n.entry(0).constant->size() <= kMaxMoved)
    return n.out(0, indicesOf(n, shape, n.entry(0).constant->doubles()));
  const Positions found = foundIn(n, n.in(0));
  SmallVector<Value> rows;
  int64_t inner = elements;
  for (int64_t extent : shape) {
    inner = extent ? inner / extent : 0;
    Value index = inner > 1 ? n.div(found.positions, n.i64(inner)) : found.positions;
    if (!rows.empty() && extent > 0)
      index = n.binary<ModOp>(index, n.i64(extent));
    rows.push_back(n.reshape(index, {1, elements}));
  }
  n.out(0, n.concat(rows, 0));
  n.count(0, {1, found.count});
}

/// Compress takes the slices along an axis, or the elements, where the condition is true. A shorter condition is false
/// behind its end.
static void compress(Node &n) {
  const bool flat = !n.hasAttribute("axis");
  Value x = flat ? n.reshape(n.in(0), {n.type(0).getNumElements()}) : n.in(0);
  const int64_t axis = flat ? 0 : n.axis(n.intAttribute("axis"), n.rank(0)), extent = shapeOf(x)[axis];
  if (n.rank(1) != 1 || !n.element(1).isInteger(1) || n.shape(1)[0] > extent)
    n.fail("the condition must be a list of at most " + Twine(extent) + " booleans");
  const Positions found = foundIn(n, n.in(1));
  n.out(0, n.gather(x, found.positions, axis));
  n.count(0, {axis, found.count});
}

OpFamily onnx_import::selectionOps() {
  static const OpRow rows[] = {
      {"NonZero", 9, kMaxOpset, 1, 1, "", "what follows takes rows one by one, sums them up, or scatters them",
       nonZero},
      {"Compress", 9, kMaxOpset, 2, 1, "", "as NonZero", compress},
  };
  return {"Selection", rows};
}
