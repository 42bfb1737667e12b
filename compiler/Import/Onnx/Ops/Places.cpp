//===- Places.cpp - which elements indices name ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Ops/Places.h"
#include "compiler/Import/Onnx/Import.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static Shape rowStrides(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

Value onnx_import::resolved(Node &n, Value indices, int64_t extent) {
  if (!isa<IntegerType>(elementOf(indices)))
    n.fail("indices must be integers");
  Value i = n.cast(indices, n.b.getI64Type());
  return n.select(n.compare(Predicate::lt, i, n.i64(0)), n.add(i, n.i64(extent)), i);
}

bool onnx_import::countsUp(const Entry &table) {
  if (!table.constant || table.type.getRank() != 1 || !isa<IntegerType>(table.type.getElementType()))
    return false;
  std::vector<int64_t> values = table.constant->ints();
  for (auto [i, value] : llvm::enumerate(values))
    if (value != int64_t(i))
      return false;
  return values.size() > 1;
}

Value onnx_import::elementPositions(Node &n, Value indices, ArrayRef<int64_t> shape, int64_t axis) {
  Shape strides = rowStrides(shape);
  n.import.markIndices(indices, shape[axis], n.loc);
  Value flat = n.mul(resolved(n, indices, shape[axis]), n.i64(strides[axis]));
  auto type = typeOf(indices).clone(n.b.getI64Type());
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != axis && shapeOf(indices)[d] > 1)
      flat = n.add(flat, n.mul(n.iota(type, d), n.i64(strides[d])));
  return flat;
}

void onnx_import::checkElementIndices(Node &n, int64_t axis) {
  if (n.rank(1) != n.rank(0))
    n.fail("indices need the data's rank");
  for (int64_t d = 0; d < n.rank(0); ++d)
    if (d != axis && n.shape(1)[d] > n.shape(0)[d])
      n.fail("indices reach beyond dimension " + Twine(d));
}

Value onnx_import::slicePositions(Node &n, size_t input, int64_t batch, ArrayRef<int64_t> data) {
  ArrayRef<int64_t> shape = n.shape(input);
  int64_t k = shape.empty() ? 0 : shape.back();
  if (shape.empty() || k < 1 || batch + k > int64_t(data.size()) || batch >= int64_t(shape.size()))
    n.fail("indices [..., k] must index dimensions that the data has");
  for (int64_t d = 0; d < batch; ++d)
    if (shape[d] != data[d])
      n.fail("batch dimension " + Twine(d) + " differs between data and indices");
  Shape strides = rowStrides(data.take_front(batch + k)), outer(shape.drop_back());
  Value indices = n.in(input), flat;
  if (k == 1 && batch == 0 && input == 1 && countsUp(n.entry(0)))
    n.import.markLengths(indices, data[0] - 1, n.loc);
  else
    n.import.markIndices(indices, data.slice(batch, k), n.loc);
  Shape starts(shape.size(), 0), sizes(shape), steps(shape.size(), 1);
  sizes.back() = 1;
  for (int64_t j = 0; j < k; ++j) {
    starts.back() = j;
    Value one = n.reshape(n.slice(indices, starts, sizes, steps), outer);
    Value term = n.mul(resolved(n, one, data[batch + j]), n.i64(strides[batch + j]));
    flat = flat ? n.add(flat, term) : term;
  }
  auto type = n.tensorType(outer, n.b.getI64Type());
  for (int64_t d = 0; d < batch; ++d)
    flat = n.add(flat, n.mul(n.iota(type, d), n.i64(strides[d])));
  return flat;
}

Shape onnx_import::joined(ArrayRef<int64_t> data, int64_t count) {
  Shape shape = {1};
  for (int64_t d : data.take_front(count))
    shape[0] *= d;
  llvm::append_range(shape, data.drop_front(count));
  return shape;
}

Value onnx_import::inParts(Node &n, int64_t rows, int64_t pointsPerRow,
                           llvm::function_ref<Value(int64_t from, int64_t count)> build) {
  constexpr int64_t kMost = int64_t(1) << 30;
  const int64_t part = std::clamp<int64_t>(kMost / std::max<int64_t>(pointsPerRow, 1), 1, std::max<int64_t>(rows, 1));
  SmallVector<Value> parts;
  for (int64_t from = 0; from < rows; from += part)
    parts.push_back(build(from, std::min(part, rows - from)));
  return n.concat(parts, 0);
}

Value onnx_import::rowsOf(Node &n, Value x, int64_t from, int64_t count) {
  Shape starts(typeOf(x).getRank(), 0), sizes(shapeOf(x));
  if (sizes[0] == 1) // the same for all rows
    return x;
  starts[0] = from;
  sizes[0] = count;
  return n.slice(x, starts, sizes, Shape(starts.size(), 1));
}
