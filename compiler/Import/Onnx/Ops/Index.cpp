//===- Index.cpp - gathering ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Fold.h"
#include "compiler/Import/Onnx/Import.h"
#include "compiler/Import/Onnx/Ops/Places.h"
#include "compiler/Import/Onnx/Torch/Metadata.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// Lets the gradient end where an embedding of torch looks up its row of padding (`padding_idx`), of which ONNX has no
/// word. `y` is what the Gather gives.
static Value withoutPadding(Node &n, int64_t axis, Value y) {
  std::optional<torch::EmbeddingCall> embedding = torch::Metadata::embeddingCallOf(n.proto);
  if (!embedding || axis != 0 || n.rank(0) != 2 || n.import.options.forwardOnly || n.entry(0).constant)
    return y;
  if (embedding->scalesByFrequency)
    n.fail("the embedding of the torch module has scale_grad_by_freq=True, by which torch divides gradients",
           "make the embedding without scale_grad_by_freq, and export the module again");
  if (!embedding->padding)
    return y;
  Shape spread(n.shape(1));
  spread.push_back(1);
  Value ids = n.in(1);
  Value isPadding = n.compare(Predicate::eq, ids, n.number(double(*embedding->padding), ids));
  return n.select(n.reshape(isPadding, spread), n.unary<StopGradientOp>(y), y);
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
      Value line = n.reshape(n.slice(n.in(0), starts, sizes, Shape(n.rank(0), 1)), shape);
      return n.out(0, withoutPadding(n, axis, line));
    }
  }
  if (countsUp(n.entry(0)))
    n.import.markLengths(n.in(1), extent - 1, n.loc);
  else
    n.import.markIndices(n.in(1), extent, n.loc);
  n.out(0, withoutPadding(n, axis, n.gather(n.in(0), n.in(1), axis)));
}

static void gatherElements(Node &n) {
  int64_t axis = n.axis(n.intAttribute("axis", 0), n.rank(0));
  checkElementIndices(n, axis);
  Value positions = elementPositions(n, n.in(1), n.shape(0), axis);
  Value flat = n.reshape(n.in(0), {n.type(0).getNumElements()});
  n.out(0, n.gather(flat, positions, 0));
}

static void gatherND(Node &n) {
  int64_t batch = n.opset >= 12 ? n.intAttribute("batch_dims", 0) : 0;
  if (batch < 0 || batch >= std::min(n.rank(0), n.rank(1)))
    n.fail("batch_dims " + Twine(batch) + " is out of range", "", "batch_dims");
  Value positions = slicePositions(n, 1, batch, n.shape(0));
  Value rows = n.reshape(n.in(0), joined(n.shape(0), batch + n.shape(1).back()));
  n.out(0, n.gather(rows, positions, 0));
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
      {"OneHot", 9, kMaxOpset, 3, 1, "", "constant depth", oneHot},
  };
  return {"Index", rows};
}
