//===- HostTensor.h - tensors of the reference evaluator -----------------------===//
#ifndef MPC_EVALUATOR_HOSTTENSOR_H
#define MPC_EVALUATOR_HOSTTENSOR_H
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include <vector>

namespace mpc {

/// A row-major tensor with one double per element whatever its element type: floats as they are, integers as numbers (exact to 2^53),
/// i1 as 0 or 1.
struct HostTensor {
  llvm::SmallVector<int64_t> shape;
  mlir::Type element;
  std::vector<double> values;

  HostTensor() = default;
  /// Zeros.
  explicit HostTensor(mlir::RankedTensorType type);
  HostTensor(mlir::RankedTensorType type, std::vector<double> values);
  static HostTensor scalar(mlir::Type element, double value);
  /// From a constant's value; fails for storage it does not know.
  static llvm::FailureOr<HostTensor> fromAttr(mlir::ElementsAttr attr);

  mlir::RankedTensorType type() const;
  int64_t size() const { return int64_t(values.size()); }
  /// Rounds every element to the element type.
  void round();
};

/// v rounded to an element type. Floats: to nearest, ties to even, with subnormals, overflow to infinity, of
/// 8-bit floats to the largest finite number (infinity, too). Integers: toward zero, then modulo 2^width
/// (NaN: 0; beyond 64 bits: saturated first). i1: v != 0.
double roundTo(mlir::Type element, double v);

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

} // namespace mpc
#endif
