//===- Initial.cpp - initial values of variables ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Evaluator.h"
#include "compiler/Evaluator/Ops/Models.h"
#include "dialects/Train/IR/Train.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

/// The 64-bit FNV-1a hash.
static uint64_t hashName(StringRef name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

/// Element i of a stream, uniform in [0, 1): splitmix64 (Steele, Lea & Flood 2014) of key + i.
static double uniform(uint64_t key, uint64_t i) {
  uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static FailureOr<HostTensor> logicalValue(train::VariableOp variable, EvalMode mode) {
  Attribute init = variable.getInit();
  if (auto elements = dyn_cast<ElementsAttr>(init))
    return HostTensor::fromAttr(elements);

  HostTensor result(variable.getLogicalType());
  uint64_t key = hashName(variable.getSymName());
  if (auto fill = dyn_cast<train::FillAttr>(init)) {
    std::fill(result.values.begin(), result.values.end(), fill.getValue().getValueAsDouble());
  } else if (auto normal = dyn_cast<train::NormalAttr>(init)) {
    double mean = normal.getMean().getValueAsDouble(), stddev = normal.getStddev().getValueAsDouble();
    for (auto [i, v] : llvm::enumerate(result.values))
      v = mean +
          stddev * std::sqrt(-2 * std::log(1 - uniform(key, 2 * i))) * std::cos(2 * M_PI * uniform(key, 2 * i + 1));
  } else if (auto range = dyn_cast<train::UniformAttr>(init)) {
    double low = range.getLow().getValueAsDouble(), high = range.getHigh().getValueAsDouble();
    for (auto [i, v] : llvm::enumerate(result.values))
      v = low + (high - low) * uniform(key, i);
  } else if (auto copy = dyn_cast<train::CopyOfAttr>(init)) {
    train::VariableOp source = train::lookupVariable(variable, copy.getSource());
    if (!source)
      return variable.emitError("no variable ") << copy.getSource();
    FailureOr<HostTensor> value = logicalValue(source, mode);
    if (failed(value))
      return failure();
    result.values = std::move(value->values);
    if (mode == EvalMode::Exact)
      return result;
  } else {
    return failure();
  }
  result.round();
  return result;
}

FailureOr<HostTensor> mpc::initialValue(Operation *op, EvalMode mode) {
  auto variable = cast<train::VariableOp>(op);
  FailureOr<HostTensor> logical = logicalValue(variable, mode);
  auto permutation = variable->getAttrOfType<DenseI64ArrayAttr>(train::kPermutationAttr);
  if (failed(logical) || !permutation)
    return logical;
  HostTensor stored(variable.getTensorType());
  SmallVector<int64_t> logicalStrides = stridesOf(logical->shape), strides;
  for (int64_t dim : permutation.asArrayRef())
    strides.push_back(logicalStrides[dim]);
  walkStrided(stored.shape, strides, 0, [&](int64_t i, int64_t at) { stored.values[i] = logical->values[at]; });
  return stored;
}
