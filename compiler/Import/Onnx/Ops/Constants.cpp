//===- Constants.cpp - constants and shapes ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Fold.h"
#include "compiler/Import/Onnx/Import.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

static HostTensor tensorAttribute(Node &n, onnx::AttributeProto &attribute) {
  try {
    return n.import.model().tensor(n.context, *attribute.mutable_t(), "");
  } catch (ImportError &error) { // the error is about this node
    n.fail("attribute '" + printable(attribute.name()) + "' " + error.problem.why, error.problem.hint,
           printable(attribute.name()));
  }
}

static void constant(Node &n) {
  using A = onnx::AttributeProto;
  if (auto *a = n.attribute("value", {A::TENSOR}))
    return n.out(0, tensorAttribute(n, *a));
  if (auto *a = n.attribute("value_int", {A::INT}))
    return n.out(0, HostTensor::scalar(n.context, a->i()));
  if (auto ints = n.intsAttribute("value_ints"))
    return n.out(0, HostTensor::vector(n.context, *ints));
  Type f32 = n.b.getF32Type();
  if (auto *a = n.attribute("value_float", {A::FLOAT}))
    return n.out(0, HostTensor::fromDoubles(RankedTensorType::get({}, f32), double(a->f())));
  if (auto floats = n.floatsAttribute("value_floats")) {
    HostTensor t = HostTensor::fromDoubles(RankedTensorType::get(int64_t(floats->size()), f32), *floats);
    t.splat = false;
    return n.out(0, std::move(t));
  }
  for (const char *name : {"sparse_value", "value_string", "value_strings"})
    if (n.hasAttribute(name))
      n.fail("attribute '" + Twine(name) + "' is not supported", "dense tensors of numbers are", name);
  n.fail("has no value");
}

static void constantOfShape(Node &n) {
  Shape shape = n.constantInts(0, "the shape");
  HostTensor value = HostTensor::fromDoubles(RankedTensorType::get({1}, n.b.getF32Type()), 0.0);
  if (auto *a = n.attribute("value", {onnx::AttributeProto::TENSOR}))
    value = tensorAttribute(n, *a);
  if (value.size() != 1)
    n.fail("the value must have one element", "", "value");
  RankedTensorType type = n.tensorType(shape, value.element());
  n.out(0, HostTensor{type, value.bytes, type.getNumElements() != 1});
}

static void shapeOp(Node &n) {
  int64_t rank = n.rank(0), start = 0, end = rank;
  if (n.opset >= 15) {
    start = n.intAttribute("start", 0);
    end = n.intAttribute("end", rank);
    for (int64_t *bound : {&start, &end})
      *bound = std::clamp<int64_t>(*bound < 0 ? *bound + rank : *bound, 0, rank);
  }
  ArrayRef<int64_t> shape = n.shape(0);
  n.out(0, HostTensor::vector(n.context, start < end ? shape.slice(start, end - start) : ArrayRef<int64_t>()));
}

static void size(Node &n) { n.out(0, HostTensor::scalar(n.context, n.type(0).getNumElements())); }

static void range(Node &n) {
  static constexpr int64_t kMaxCount = 1 << 24;
  for (size_t i = 0; i < 3; ++i)
    if (n.constant(i, "a bound").size() != 1 || n.element(i) != n.element(0))
      n.fail("start, limit and delta must be scalars of one type");
  if (n.opset >= 27)
    n.ignore({"stash_type"}); // elements are computed in double and rounded once
  if (isFloat(n.element(0))) {
    double start = n.constantNumber(0, "start"), limit = n.constantNumber(1, "limit"),
           delta = n.constantNumber(2, "delta");
    double count = std::max(std::ceil((limit - start) / delta), 0.0);
    if (!(count <= double(kMaxCount)))
      n.limit("would have " + std::to_string(count) + " elements");
    std::vector<double> values;
    for (int64_t i = 0; i < int64_t(count); ++i)
      values.push_back(start + double(i) * delta);
    HostTensor t = HostTensor::fromDoubles(RankedTensorType::get(int64_t(values.size()), n.element(0)), values);
    t.splat = false;
    return n.out(0, std::move(t));
  }
  int64_t start = n.constantInts(0, "start")[0], limit = n.constantInts(1, "limit")[0],
          delta = n.constantInts(2, "delta")[0];
  if (delta == 0)
    n.fail("delta must not be zero");
  std::vector<int64_t> values;
  for (__int128 v = start; delta > 0 ? v < limit : v > limit; v += delta) {
    if (int64_t(values.size()) >= kMaxCount)
      n.limit("would have more than " + Twine(kMaxCount) + " elements");
    values.push_back(int64_t(v));
  }
  HostTensor t = HostTensor::fromInts(RankedTensorType::get(int64_t(values.size()), n.element(0)), values);
  t.splat = false;
  n.out(0, std::move(t));
}

static void eyeLike(Node &n) {
  int64_t k = n.intAttribute("k", 0);
  Type element = n.element(0);
  if (n.hasAttribute("dtype"))
    element = elementType(n.context, n.intAttribute("dtype"));
  if (!element)
    n.limit("this element type is not supported", "", "dtype");
  if (n.rank(0) != 2 || n.type(0).getNumElements() > 1 << 24)
    n.fail("the input must be a matrix of at most 2^24 elements");
  int64_t rows = n.shape(0)[0], columns = n.shape(0)[1];
  std::vector<int64_t> values(rows * columns, 0);
  for (int64_t i = 0; i < rows; ++i)
    if (__int128 j = __int128(i) + k; j >= 0 && j < columns)
      values[i * columns + int64_t(j)] = 1;
  HostTensor t = HostTensor::fromInts(RankedTensorType::get(n.shape(0), element), values);
  t.splat = false;
  n.out(0, std::move(t));
}

OpFamily onnx_import::constantOps() {
  static const OpRow rows[] = {
      {"Constant", 1, kMaxOpset, 0, 1, "", "dense tensors of numbers", constant},
      {"ConstantOfShape", 9, kMaxOpset, 1, 1, "", "constant shape", constantOfShape},
      {"Shape", 1, kMaxOpset, 1, 1, "", "", shapeOp},
      {"Size", 1, kMaxOpset, 1, 1, "", "", size},
      {"Range", 11, kMaxOpset, 3, 1, "", "constant bounds", range},
      {"EyeLike", 9, kMaxOpset, 1, 1, "", "", eyeLike},
  };
  return {"Constants", rows};
}
