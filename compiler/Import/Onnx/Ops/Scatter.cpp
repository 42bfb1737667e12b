//===- Scatter.cpp - updates of elements that indices name ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Ops/Places.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static Value spread(Node &n, Value updates, Value positions, int64_t rows, ScatterMode mode) {
  Shape shape(shapeOf(updates));
  shape[0] = rows;
  return n
      .make<ScatterOp>(
          ValueRange{updates, positions},
          [&](auto &p) {
            p.axis = n.b.getI64IntegerAttr(0);
            p.mode = ScatterModeAttr::get(n.context, mode);
          },
          Type(n.tensorType(shape, elementOf(updates))))
      .getY();
}

/// Replacement: of several updates of one place the last one stays, as in numpy, and it alone has a gradient.
static Value replaced(Node &n, Value data, Value positions, Value updates) {
  const Shape rows(shapeOf(data));
  Value numbers = n.iota(typeOf(positions), 0);
  Value last = spread(n, numbers, positions, rows[0], ScatterMode::max);
  Shape thin(rows.size(), 1);
  thin[0] = rows[0];
  Value written = n.reshape(n.compare(Predicate::ge, last, n.i64(0)), thin);
  Value from = n.binary<MaxOp>(last, n.i64(0));
  return n.select(n.broadcast(written, rows), n.gather(updates, from, 0), data);
}

/// Combines updates with data [rows, ...] at positions of its leading dimension. The rows that are not there
/// (Node::rows) go to a row behind the data.
static Value scatter(Node &n, Value data, Value positions, Value updates, const std::string &reduction) {
  const Shape shape(shapeOf(data));
  if (typeOf(updates).getNumElements() == 0 || typeOf(data).getNumElements() == 0)
    return data;
  if (n.rows) {
    Value there = n.compare(Predicate::lt, n.iota(typeOf(positions), 0), n.rows);
    positions = n.select(there, positions, n.i64(shape[0]));
    Shape none(shape.size(), 0), one(none);
    one[0] = 1;
    data = n.make<PadOp>(data, [&](auto &p) {
              p.value = n.b.getF64FloatAttr(0);
              p.low = n.b.getDenseI64ArrayAttr(none);
              p.high = n.b.getDenseI64ArrayAttr(one);
              p.interior = n.b.getDenseI64ArrayAttr(none);
            }).getY();
  }
  const int64_t rows = shapeOf(data)[0];
  Type element = elementOf(data);
  if (reduction != "none" && element.isInteger(1))
    n.fail("booleans cannot be combined", "cast them to integers", "reduction");
  Value y;
  if (reduction == "none")
    y = replaced(n, data, positions, updates);
  else if (reduction == "add")
    y = n.add(data, spread(n, updates, positions, rows, ScatterMode::add));
  else if (reduction == "mul")
    y = n.mul(data, spread(n, updates, positions, rows, ScatterMode::multiply));
  else if (reduction == "max")
    y = n.binary<MaxOp>(data, spread(n, updates, positions, rows, ScatterMode::max));
  else if (reduction == "min")
    y = n.binary<MinOp>(data, spread(n, updates, positions, rows, ScatterMode::min));
  else
    n.fail("reduction '" + printable(reduction) + "' is not known", "none, add, mul, max or min", "reduction");
  return n.slice(y, Shape(shape.size(), 0), shape, Shape(shape.size(), 1));
}

static std::string reductionOf(Node &n) { return n.opset >= 16 ? n.stringAttribute("reduction", "none") : "none"; }

static void checkTypes(Node &n) {
  if (n.element(0) != n.element(2))
    n.fail("data and updates have different element types");
}

static void scatterElements(Node &n) {
  int64_t axis = n.axis(n.intAttribute("axis", 0), n.rank(0));
  const std::string reduction = reductionOf(n);
  std::optional<torch::Call> call = torch::Metadata::callOf(n.proto);
  if (call && call->target == "scatter_reduce" && llvm::is_contained(call->args, "mean") && reduction == "none")
    n.fail("the torch module takes the mean of what is scattered to one place (scatter_reduce), and the exporter wrote "
           "that the last value stays",
           "write it as scatter_add of the values, divided by scatter_add of ones", "reduction");
  checkElementIndices(n, axis);
  checkTypes(n);
  if (n.shape(2) != n.shape(1))
    n.fail("updates need the shape of the indices");
  Value positions = elementPositions(n, n.in(1), n.shape(0), axis);
  int64_t total = n.type(0).getNumElements(), count = n.type(1).getNumElements();
  Value y =
      scatter(n, n.reshape(n.in(0), {total}), n.reshape(positions, {count}), n.reshape(n.in(2), {count}), reduction);
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
  const std::string reduction = reductionOf(n);
  const bool known = n.entry(1).constant && reduction == "none";
  Value positions = slicePositions(n, 1, 0, n.shape(0));
  int64_t k = n.shape(1).back();
  Shape rows = joined(n.shape(0), k), updates(n.shape(1).drop_back());
  llvm::append_range(updates, n.shape(0).drop_front(k));
  if (n.shape(2) != ArrayRef<int64_t>(updates))
    n.fail("updates do not have the shape that data and indices give");
  Shape flatUpdates = {typeOf(positions).getNumElements()};
  llvm::append_range(flatUpdates, n.shape(0).drop_front(k));
  checkTypes(n);
  if (known && rows[0] > 0 && flatUpdates[0] > 0)
    return n.out(0, n.reshape(placed(n, rows, flatUpdates), n.shape(0)));
  Value y = scatter(n, n.reshape(n.in(0), rows), n.reshape(positions, {flatUpdates[0]}),
                    n.reshape(n.in(2), flatUpdates), reduction);
  n.out(0, n.reshape(y, n.shape(0)));
}

OpFamily onnx_import::scatterOps() {
  static const OpRow rows[] = {
      {"Scatter", 9, 10, 3, 1, "", "", scatterElements},
      {"ScatterElements", 11, kMaxOpset, 3, 1, "", "", scatterElements},
      {"ScatterND", 11, kMaxOpset, 3, 1, "", "", scatterND},
  };
  return {"Scatter", rows};
}
