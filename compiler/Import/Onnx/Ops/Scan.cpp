//===- Scan.cpp - ONNX Scan ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Ops/Control.h"
#include "compiler/Import/Onnx/Samples.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// The directions or axes of a scan's operands or results: one for each, 0 where the attribute is absent.
static Shape oneForEach(Node &n, StringRef name, size_t count) {
  Shape values = n.intsAttribute(name).value_or(Shape(count, 0));
  if (values.size() != count)
    n.fail(Twine(name) + " has " + Twine(values.size()) + " entries for " + Twine(count) + " tensors", "", name);
  return values;
}

/// The directions of a scan's operands or results: 0 is forward, 1 backward.
static Shape directionsOf(Node &n, StringRef name, size_t count) {
  Shape directions = oneForEach(n, name, count);
  for (int64_t direction : directions)
    if (direction != 0 && direction != 1)
      n.fail(Twine(name) + " has " + Twine(direction) + "; a direction is 0 (forward) or 1 (backward)",
             "give 0 or 1 for each tensor", name);
  return directions;
}

static Value moveAxis(Node &n, Value x, int64_t from, int64_t to) {
  Shape order;
  for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
    if (i != from)
      order.push_back(i);
  order.insert(order.begin() + to, from);
  return from == to ? x : n.transpose(x, order);
}

static Value reversed(Node &n, Value x) {
  Shape starts(typeOf(x).getRank(), 0), strides(starts.size(), 1);
  starts[0] = std::max<int64_t>(shapeOf(x)[0] - 1, 0);
  strides[0] = -1;
  return n.slice(x, starts, shapeOf(x), strides);
}

/// A Scan becomes a graph.scan: the state variables are carried, the scan inputs and outputs are stacked, and what the
/// body takes from the graph around it is invariant.
void onnx_import::scanOp(Node &n) {
  onnx::GraphProto &graph = bodyOf(n, "body");
  const int64_t numStacked = n.intAttribute("num_scan_inputs");
  if (numStacked < 1 || numStacked > int64_t(n.numInputs()))
    n.fail("it has " + Twine(n.numInputs()) + " inputs, of which " + Twine(numStacked) + " are scanned",
           "give it one scan input or more", "num_scan_inputs");
  const size_t numCarried = n.numInputs() - size_t(numStacked);
  if (size_t(graph.input_size()) != n.numInputs() || size_t(graph.output_size()) < std::max(numCarried, n.numOutputs()))
    n.fail("the body has " + Twine(graph.input_size()) + " inputs and " + Twine(graph.output_size()) +
           " outputs, the node " + Twine(n.numInputs()) + " and " + Twine(n.numOutputs()));
  const size_t numStacks = size_t(graph.output_size()) - numCarried;
  Shape inputAxes = oneForEach(n, "scan_input_axes", size_t(numStacked)),
        inputDirections = directionsOf(n, "scan_input_directions", size_t(numStacked));
  Shape outputAxes = oneForEach(n, "scan_output_axes", numStacks),
        outputDirections = directionsOf(n, "scan_output_directions", numStacks);
  // Where all tensors are read and written from the last element to the first, so are the iterations.
  auto isBackward = [](int64_t direction) { return direction == 1; };
  const bool backward = llvm::all_of(inputDirections, isBackward) && llvm::all_of(outputDirections, isBackward);

  SmallVector<Value> inits, stacked;
  for (size_t i = 0; i < numCarried; ++i)
    inits.push_back(n.in(i));
  std::optional<int64_t> trips;
  for (size_t i = 0; i < size_t(numStacked); ++i) {
    Value x = n.in(numCarried + i);
    const int64_t axis = n.axis(inputAxes[i], typeOf(x).getRank());
    x = moveAxis(n, x, axis, 0);
    if (trips && shapeOf(x)[0] != *trips)
      n.fail("the scan inputs have " + Twine(*trips) + " and " + Twine(shapeOf(x)[0]) + " elements to scan");
    trips = shapeOf(x)[0];
    stacked.push_back(isBackward(inputDirections[i]) && !backward ? reversed(n, x) : x);
  }

  if (numCarried > 0)
    for (Value x : stacked)
      noteTimeAlongSamples(n, x, 0);

  ScanOp scan = repeat(
      n, graph, {*trips, backward, inits, stacked},
      [&](ArrayRef<BlockArgument> arguments) {
        std::vector<Entry> inputs;
        for (auto [i, argument] : llvm::enumerate(arguments)) {
          Entry &entry = inputs.emplace_back();
          entry.type = typeOf(argument);
          entry.value = argument;
          entry.fromData = n.entry(i).fromData || i < numCarried;
        }
        return inputs;
      },
      [](std::vector<Entry> &) {});
  for (size_t i = 0; i < n.numOutputs(); ++i) {
    Value v = scan.getResult(unsigned(i));
    if (i >= numCarried) {
      v = isBackward(outputDirections[i - numCarried]) && !backward ? reversed(n, v) : v;
      v = moveAxis(n, v, 0, n.axis(outputAxes[i - numCarried], typeOf(v).getRank()));
    }
    n.out(i, v);
  }
}
