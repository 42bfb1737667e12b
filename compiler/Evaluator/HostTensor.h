//===- HostTensor.h - tensors of the reference evaluator -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EVALUATOR_HOSTTENSOR_H
#define MPC_EVALUATOR_HOSTTENSOR_H
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include <vector>

namespace mpc {

/// A row-major tensor with one double for each element, whatever its element type: floats as they are,
/// integers as numbers (exact to 2^53), i1 as 0 or 1.
struct HostTensor {
  llvm::SmallVector<int64_t> shape;
  mlir::Type element;
  std::vector<double> values;

  HostTensor() = default;
  /// A tensor of zeros.
  explicit HostTensor(mlir::RankedTensorType type);
  HostTensor(mlir::RankedTensorType type, std::vector<double> values);
  static HostTensor scalar(mlir::Type element, double value);
  /// The tensor of a constant's value; fails for storage that it does not know.
  static llvm::FailureOr<HostTensor> fromAttr(mlir::ElementsAttr attr);

  mlir::RankedTensorType type() const;
  int64_t size() const { return int64_t(values.size()); }
  /// Rounds every element to the element type.
  void round();
};

/// v, rounded to an element type. For floats it rounds to nearest, ties to even, with subnormals; overflow
/// gives infinity, but for 8-bit floats the largest finite number (for infinity, too). For integers it rounds
/// toward zero, then modulo 2^width (NaN gives 0; beyond 64 bits it saturates first). For i1 it is v != 0.
double roundTo(mlir::Type element, double v);

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

} // namespace mpc
#endif
