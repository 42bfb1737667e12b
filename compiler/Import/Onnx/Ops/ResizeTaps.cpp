//===- ResizeTaps.cpp - interpolation by the elements that each result reads --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Ops/ResizeTaps.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// Returns the filter's height at a distance from its middle.
static double heightAt(const Filter &f, double distance) {
  const double x = std::fabs(distance);
  if (!f.cubic)
    return std::max(0.0, 1 - x);
  if (x <= 1)
    return ((f.a + 2) * x - (f.a + 3)) * x * x + 1;
  return x < 2 ? f.a * (((x - 5) * x + 8) * x - 4) : 0;
}

Taps onnx_import::tapsOf(const Filter &f, ArrayRef<double> coordinates, double scale, int64_t extent) {
  const double narrow = f.antialias ? std::min(scale, 1.0) : 1.0; // distances are measured in pixels of the result
  const int64_t before = int64_t(std::floor(-(f.cubic ? 2 : 1) / narrow)) + 1, count = 2 - 2 * before;
  Taps result;
  result.taps = count;
  for (double at : coordinates) {
    // A result at an element belongs to the pair of which that is the right one.
    const int64_t base = int64_t(std::ceil(at)) - 1;
    std::vector<double> weights;
    double total = 0;
    for (int64_t t = 0; t < count; ++t) {
      const int64_t index = base + before + t;
      const bool outside = index < 0 || index >= extent;
      weights.push_back(f.excludeOutside && outside ? 0 : heightAt(f, (double(index) - at) * narrow));
      total += weights.back();
      result.indices.push_back(std::clamp<int64_t>(index, 0, extent - 1));
    }
    const bool normalize = (f.antialias || f.excludeOutside) && total != 0;
    for (double w : weights)
      result.weights.push_back(normalize ? w / total : w);
  }
  return result;
}

Value onnx_import::applyTaps(Node &n, Value x, int64_t dim, const Taps &taps) {
  const int64_t results = int64_t(taps.indices.size()) / taps.taps;
  auto type = RankedTensorType::get({results, taps.taps}, n.b.getI64Type());
  Value read = n.gather(x, n.constantValue(HostTensor::fromInts(type, taps.indices)), dim);
  Shape thin(typeOf(read).getRank(), 1);
  thin[dim] = results;
  thin[dim + 1] = taps.taps;
  Value weights = n.constantValue(HostTensor::fromDoubles(type.clone(elementOf(x)), taps.weights));
  return n.sum(n.mul(read, n.reshape(weights, thin)), {dim + 1}, /*keepdims=*/false);
}
