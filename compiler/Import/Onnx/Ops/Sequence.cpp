//===- Sequence.cpp - sequences of tensors ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence is a list that the import knows: the number of tensors and the position of each follow from
// shapes and constants. The module contains nothing of it.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Fold.h"
#include "compiler/Import/Onnx/Import.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// The position at input i, or else the fallback; -1 is the last of `count`.
static int64_t position(Node &n, size_t i, int64_t count, int64_t fallback) {
  if (!n.has(i))
    return fallback;
  int64_t given = n.constantInt(i, "the position in the sequence");
  if (given < -count || given >= count)
    n.fail("position " + Twine(given) + " is out of range for " + Twine(count) + " tensors", "", "position");
  return given < 0 ? given + count : given;
}

static void sequenceEmpty(Node &n) {
  n.ignore({"dtype"}); // elements have their own types
  n.out(0, std::vector<Entry>());
}

static void sequenceConstruct(Node &n) {
  std::vector<Entry> elements;
  for (size_t i = 0; i < n.numInputs(); ++i)
    elements.push_back(n.entry(i));
  n.out(0, std::move(elements));
}

static void sequenceLength(Node &n) { n.out(0, HostTensor::scalar(n.context, int64_t(n.sequence(0).size()))); }

static void sequenceAt(Node &n) {
  const std::vector<Entry> &elements = n.sequence(0);
  if (!n.has(1))
    n.fail("the position is missing");
  n.out(0, elements[position(n, 1, int64_t(elements.size()), 0)]);
}

static void sequenceInsert(Node &n) {
  std::vector<Entry> elements = n.sequence(0);
  Entry added = n.entry(1);
  int64_t count = int64_t(elements.size()), at = count;
  // The position after the last element is valid here, too.
  if (n.has(2) && n.constantInt(2, "the position in the sequence") != count)
    at = position(n, 2, count, count);
  elements.insert(elements.begin() + at, std::move(added));
  n.out(0, std::move(elements));
}

static void sequenceErase(Node &n) {
  std::vector<Entry> elements = n.sequence(0);
  int64_t count = int64_t(elements.size());
  if (count == 0)
    n.fail("the sequence is empty: there is nothing to erase");
  elements.erase(elements.begin() + position(n, 1, count, count - 1));
  n.out(0, std::move(elements));
}

/// SplitToSequence: the parts have the given sizes, or all have one size except a smaller last one. Without
/// sizes the parts have one element, and keepdims=0 removes that dimension.
static void splitToSequence(Node &n) {
  int64_t rank = n.rank(0), axis = n.axis(n.intAttribute("axis", 0), rank), extent = n.shape(0)[axis];
  bool keepdims = n.intAttribute("keepdims", 1) != 0 || n.has(1);
  Shape sizes;
  if (n.has(1) && n.rank(1) > 0) {
    sizes = n.constantInts(1, "split");
  } else {
    int64_t each = n.has(1) ? n.constantInt(1, "split") : 1;
    if (each < 1)
      n.fail("parts of " + Twine(each) + " elements are not possible", "", "split");
    for (int64_t left = extent; left > 0; left -= each)
      sizes.push_back(std::min(left, each));
  }
  std::vector<Entry> parts;
  Shape starts(rank, 0), extents(n.shape(0)), steps(rank, 1);
  for (int64_t size : sizes) {
    if (size < 0 || size > extent - starts[axis])
      n.fail("the sizes do not add up to " + Twine(extent), "", "split");
    extents[axis] = size;
    parts.push_back(sliced(n, n.entry(0), starts, extents, steps));
    if (!keepdims) {
      Shape shape(extents);
      shape.erase(shape.begin() + axis);
      parts.back() = reshaped(n, parts.back(), shape);
    }
    starts[axis] += size;
  }
  if (starts[axis] != extent)
    n.fail("the sizes add up to " + Twine(starts[axis]) + ", not " + Twine(extent), "", "split");
  n.out(0, std::move(parts));
}

/// ConcatFromSequence: with new_axis the tensors are stacked along a new dimension.
static void concatFromSequence(Node &n) {
  std::vector<Entry> elements = n.sequence(0);
  if (elements.empty())
    n.fail("the sequence is empty: there is nothing to join");
  bool isNew = n.intAttribute("new_axis", 0) != 0;
  int64_t axis = n.axis(n.intAttribute("axis"), elements[0].type.getRank() + isNew);
  SmallVector<Entry *> parts;
  for (Entry &element : elements) {
    if (isNew) {
      Shape shape(element.type.getShape());
      if (axis > int64_t(shape.size()))
        n.fail("the tensors of the sequence differ in rank");
      shape.insert(shape.begin() + axis, 1);
      element = reshaped(n, element, shape);
    }
    parts.push_back(&element);
  }
  n.out(0, concatenated(n, parts, axis));
}

OpFamily onnx_import::sequenceOps() {
  static const OpRow rows[] = {
      {"SequenceEmpty", 11, kMaxOpset, 0, 1, "", "", sequenceEmpty},
      {"SequenceConstruct", 11, kMaxOpset, kAnyNumber, 1, "=", "", sequenceConstruct},
      {"SequenceLength", 11, kMaxOpset, 1, 1, "", "", sequenceLength},
      {"SequenceAt", 11, kMaxOpset, 2, 1, "=d", "constant position", sequenceAt},
      {"SequenceInsert", 11, kMaxOpset, 3, 1, "==d", "constant position", sequenceInsert},
      {"SequenceErase", 11, kMaxOpset, 2, 1, "=d", "constant position", sequenceErase},
      {"SplitToSequence", 11, kMaxOpset, 2, 1, "=d", "constant sizes", splitToSequence},
      {"ConcatFromSequence", 11, kMaxOpset, 1, 1, "=", "", concatFromSequence},
  };
  return {"Sequence", rows};
}
