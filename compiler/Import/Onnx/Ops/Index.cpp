//===- Index.cpp - gathering and scattering ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Fold.h"
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

/// The indices as i64, with negative ones replaced by positions counted from the start.
static Value resolved(Node &n, Value indices, int64_t extent) {
  if (!isa<IntegerType>(elementOf(indices)))
    n.fail("indices must be integers");
  Value i = n.cast(indices, n.b.getI64Type());
  return n.select(n.compare(Predicate::lt, i, n.i64(0)), n.add(i, n.i64(extent)), i);
}

/// Returns whether a constant holds 0, 1, 2, ...: what is looked up there is a length (tools/torch/export.py writes
/// masks of padded sequences like that), and a negative one is no place from the end.
static bool countsUp(const Entry &table) {
  if (!table.constant || table.type.getRank() != 1 || !isa<IntegerType>(table.type.getElementType()))
    return false;
  std::vector<int64_t> values = table.constant->ints();
  for (auto [i, value] : llvm::enumerate(values))
    if (value != int64_t(i))
      return false;
  return values.size() > 1;
}

static void gather(Node &n) {
  int64_t axis = n.axis(n.intAttribute("axis", 0), n.rank(0)), extent = n.shape(0)[axis];
  if (!isa<IntegerType>(n.element(1)))
    n.fail("indices must be integers");
  const Entry &indices = n.entry(1);
  if (indices.constant && indices.constant->size() <= kMaxMoved) {
    // Known indices are checked here; a single one becomes a slice.
    std::vector<int64_t> values = indices.constant->ints();
    for (int64_t &v : values) {
      if (v < -extent || v >= extent)
        n.fail("index " + Twine(v) + " is out of range for " + Twine(extent) + " elements", "", "indices");
      v += v < 0 ? extent : 0;
    }
    int64_t rest = extent ? n.type(0).getNumElements() / extent : 0;
    if (foldable(n, 0) && int64_t(values.size()) <= kMaxMoved / std::max<int64_t>(rest, 1))
      return n.out(0, foldGather(*n.entry(0).constant, values, n.shape(1), axis));
    if (values.size() == 1) {
      Shape starts(n.rank(0), 0), sizes(n.shape(0)), shape(n.shape(0).take_front(axis));
      starts[axis] = values[0];
      sizes[axis] = 1;
      llvm::append_range(shape, n.shape(1));
      llvm::append_range(shape, n.shape(0).drop_front(axis + 1));
      return n.out(0, n.reshape(n.slice(n.in(0), starts, sizes, Shape(n.rank(0), 1)), shape));
    }
  }
  if (countsUp(n.entry(0)))
    n.import.markLengths(n.in(1), extent - 1, n.loc);
  else
    n.import.markIndices(n.in(1), extent, n.loc);
  n.out(0, n.gather(n.in(0), n.in(1), axis));
}

/// The row-major positions, in a tensor of `shape`, of the elements that GatherElements and ScatterElements
/// address: each has its own coordinates, but the index along the axis.
static Value elementPositions(Node &n, Value indices, ArrayRef<int64_t> shape, int64_t axis) {
  Shape strides = rowStrides(shape);
  n.import.markIndices(indices, shape[axis], n.loc);
  Value flat = n.mul(resolved(n, indices, shape[axis]), n.i64(strides[axis]));
  auto type = typeOf(indices).clone(n.b.getI64Type());
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != axis && shapeOf(indices)[d] > 1)
      flat = n.add(flat, n.mul(n.iota(type, d), n.i64(strides[d])));
  return flat;
}

static void checkElementIndices(Node &n, int64_t axis) {
  if (n.rank(1) != n.rank(0))
    n.fail("indices need the data's rank");
  for (int64_t d = 0; d < n.rank(0); ++d)
    if (d != axis && n.shape(1)[d] > n.shape(0)[d])
      n.fail("indices reach beyond dimension " + Twine(d));
}

static void gatherElements(Node &n) {
  int64_t axis = n.axis(n.intAttribute("axis", 0), n.rank(0));
  checkElementIndices(n, axis);
  Value positions = elementPositions(n, n.in(1), n.shape(0), axis);
  Value flat = n.reshape(n.in(0), {n.type(0).getNumElements()});
  n.out(0, n.gather(flat, positions, 0));
}

/// The positions of the slices that GatherND and ScatterND address, in data whose first `batch + k`
/// dimensions are merged into one.
static Value slicePositions(Node &n, size_t input, int64_t batch, ArrayRef<int64_t> data) {
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

static Shape joined(ArrayRef<int64_t> data, int64_t count) {
  Shape shape = {1};
  for (int64_t d : data.take_front(count))
    shape[0] *= d;
  llvm::append_range(shape, data.drop_front(count));
  return shape;
}

static void gatherND(Node &n) {
  int64_t batch = n.opset >= 12 ? n.intAttribute("batch_dims", 0) : 0;
  if (batch < 0 || batch >= std::min(n.rank(0), n.rank(1)))
    n.fail("batch_dims " + Twine(batch) + " is out of range", "", "batch_dims");
  Value positions = slicePositions(n, 1, batch, n.shape(0));
  Value rows = n.reshape(n.in(0), joined(n.shape(0), batch + n.shape(1).back()));
  n.out(0, n.gather(rows, positions, 0));
}

/// Puts updates into data at positions of its leading dimension; both are floats. Since gather_grad adds
/// rows, replacement goes through a mask of the written rows (ONNX leaves the order of duplicates open).
static Value scatter(Node &n, Value data, Value positions, Value updates, const std::string &reduction) {
  RankedTensorType type = typeOf(data);
  auto spread = [&](Value dy) {
    return n.make<GatherGradOp>(
                ValueRange{dy, positions}, [&](auto &p) { p.axis = n.b.getI64IntegerAttr(0); }, type)
        .getDx();
  };
  if (reduction == "add")
    return n.add(data, spread(updates));
  if (reduction != "none")
    n.limit("reduction '" + printable(reduction) + "' is not supported",
            "only none and add are; for the largest or smallest of each group, take a maximum or minimum over a dense "
            "dimension (ReduceMax) of masked values",
            "reduction");
  Value count = spread(n.constantValue(HostTensor::fromDoubles(typeOf(updates), 1.0)));
  // Duplicates give their mean, so that equal updates count once.
  Value written = n.compare(Predicate::gt, count, n.number(0, data));
  Value safe = n.select(written, count, n.number(1, data));
  return n.select(written, n.div(spread(updates), safe), data);
}

static void scatterElements(Node &n) {
  int64_t axis = n.axis(n.intAttribute("axis", 0), n.rank(0));
  std::string reduction = n.opset >= 16 ? n.stringAttribute("reduction", "none") : "none";
  checkElementIndices(n, axis);
  if (n.shape(2) != n.shape(1))
    n.fail("updates need the shape of the indices");
  Value positions = elementPositions(n, n.in(1), n.shape(0), axis);
  int64_t total = n.type(0).getNumElements(), count = n.type(1).getNumElements();
  Value y = scatter(n, n.reshape(n.floatIn(0), {total}), n.reshape(positions, {count}),
                    n.reshape(n.floatIn(2), {count}), reduction);
  n.out(0, n.reshape(y, n.shape(0)));
}

/// ScatterND to places that are known at import, as exporters write assignments to slices: each row of the result
/// reads its own row of the updates or of the data, whatever their type. Of updates to one place the last one stays.
static Value placed(Node &n, ArrayRef<int64_t> rows, ArrayRef<int64_t> flatUpdates) {
  const std::vector<int64_t> indices = n.constant(1, "the indices").ints();
  const int64_t k = n.shape(1).back();
  std::vector<int64_t> from(rows[0], -1);
  for (int64_t j = 0; j < flatUpdates[0]; ++j) {
    int64_t row = 0;
    for (int64_t d = 0; d < k; ++d) {
      const int64_t extent = n.shape(0)[d], index = indices[j * k + d];
      if (index < -extent || index >= extent)
        n.fail("index " + Twine(index) + " is out of range for dimension " + Twine(d) + " of " + Twine(extent));
      row = row * extent + (index < 0 ? index + extent : index);
    }
    from[row] = j;
  }
  Shape perRow(rows.size(), 1);
  perRow[0] = rows[0];
  Type i64 = n.b.getI64Type();
  Value source = n.constantValue(HostTensor::fromInts(n.tensorType(perRow, i64), from));
  Value written = n.compare(Predicate::ge, source, n.number(0, source));
  for (int64_t &j : from)
    j = std::max<int64_t>(j, 0);
  Value rowsRead = n.constantValue(HostTensor::fromInts(n.tensorType({rows[0]}, i64), from));
  Value updates = n.gather(n.reshape(n.in(2), flatUpdates), rowsRead, 0);
  return n.select(n.broadcast(written, rows), updates, n.reshape(n.in(0), rows));
}

static void scatterND(Node &n) {
  std::string reduction = n.opset >= 16 ? n.stringAttribute("reduction", "none") : "none";
  const bool known = n.entry(1).constant && reduction == "none";
  Value positions = slicePositions(n, 1, 0, n.shape(0));
  int64_t k = n.shape(1).back();
  Shape rows = joined(n.shape(0), k), updates(n.shape(1).drop_back());
  llvm::append_range(updates, n.shape(0).drop_front(k));
  if (n.shape(2) != ArrayRef<int64_t>(updates))
    n.fail("updates do not have the shape that data and indices give");
  Shape flatUpdates = {typeOf(positions).getNumElements()};
  llvm::append_range(flatUpdates, n.shape(0).drop_front(k));
  if (n.element(0) != n.element(2))
    n.fail("data and updates have different element types");
  if (known && rows[0] > 0 && flatUpdates[0] > 0)
    return n.out(0, n.reshape(placed(n, rows, flatUpdates), n.shape(0)));
  Value y = scatter(n, n.reshape(n.floatIn(0), rows), n.reshape(positions, {flatUpdates[0]}),
                    n.reshape(n.floatIn(2), flatUpdates), reduction);
  n.out(0, n.reshape(y, n.shape(0)));
}

/// OneHot: the `on` value where the index along a new axis is the given one; the `off` value elsewhere and
/// for indices out of range.
static void oneHot(Node &n) {
  int64_t depth = n.constantInt(1, "depth"), rank = n.rank(0) + 1;
  int64_t axis = n.axis(n.intAttribute("axis", -1), rank);
  if (depth < 0 || depth > kMaxElements)
    n.fail("depth " + Twine(depth) + " is not possible", "", "depth");
  if (n.shape(2) != ArrayRef<int64_t>{2})
    n.fail("values must be [off, on]");
  Type i64 = n.b.getI64Type();
  Value indices = n.cast(n.in(0), i64);
  indices = n.select(n.compare(Predicate::lt, indices, n.i64(0)), n.add(indices, n.i64(depth)), indices);
  Shape wide(n.shape(0)), shape(n.shape(0));
  wide.insert(wide.begin() + axis, 1);
  shape.insert(shape.begin() + axis, depth);
  Value hit = n.compare(Predicate::eq, n.iota(n.tensorType(shape, i64), axis), n.reshape(indices, wide));
  auto value = [&](int64_t i) { return n.reshape(n.slice(n.in(2), {i}, {1}, {1}), {}); };
  n.out(0, n.select(hit, value(1), value(0)));
}

OpFamily onnx_import::indexOps() {
  static const OpRow rows[] = {
      {"Gather", 1, kMaxOpset, 2, 1, "ed", "", gather},
      {"GatherElements", 11, kMaxOpset, 2, 1, "", "", gatherElements},
      {"GatherND", 11, kMaxOpset, 2, 1, "", "", gatherND},
      {"Scatter", 9, 10, 3, 1, "", "floats", scatterElements},
      {"ScatterElements", 11, kMaxOpset, 3, 1, "", "floats; reduction none or add", scatterElements},
      {"ScatterND", 11, kMaxOpset, 3, 1, "", "floats, or constant indices; reduction none or add", scatterND},
      {"OneHot", 9, kMaxOpset, 3, 1, "", "constant depth", oneHot},
  };
  return {"Index", rows};
}
