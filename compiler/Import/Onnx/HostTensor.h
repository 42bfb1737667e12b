//===- HostTensor.h - tensors known at import time ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_HOSTTENSOR_H
#define MPC_IMPORT_ONNX_HOSTTENSOR_H
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mpc::onnx_import {

/// The most elements that a tensor of a model may have: 2^33.
inline constexpr int64_t kMaxElements = int64_t(1) << 33;
/// The number of elements of a shape; nullopt when a dimension is negative or there are more than kMaxElements.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

/// The bytes of an element; booleans have one.
int64_t elementBytes(mlir::Type element);
/// The MLIR type of an ONNX TensorProto.DataType code; null for those that mpc has no type for.
mlir::Type elementType(mlir::MLIRContext *, int64_t onnxType);
/// "FLOAT", "STRING", ... or "type code N".
std::string onnxTypeName(int64_t onnxType);

/// A tensor on the host: row-major, little endian, one byte per boolean.
struct HostTensor {
  mlir::RankedTensorType type;
  std::shared_ptr<const std::string> bytes; // only one element if splat
  bool splat = false;

  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  mlir::Type element() const { return type.getElementType(); }
  int64_t size() const { return type.getNumElements(); }

  /// All elements, converted to this type; a splat is expanded.
  std::vector<int64_t> ints() const;
  std::vector<double> doubles() const;

  /// Rounds each number to the element type. A single number makes a splat of any shape.
  static HostTensor fromInts(mlir::RankedTensorType, llvm::ArrayRef<int64_t>);
  static HostTensor fromDoubles(mlir::RankedTensorType, llvm::ArrayRef<double>);
  /// Make a vector of int64, and a tensor of rank 0.
  static HostTensor vector(mlir::MLIRContext *, llvm::ArrayRef<int64_t>);
  static HostTensor scalar(mlir::MLIRContext *, int64_t);

  /// The same bytes under another shape that has as many elements.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// The attribute is dense if the tensor is small, a splat or boolean, else a resource blob that owns the
  /// bytes and is called `name`.
  mlir::ElementsAttr attribute(llvm::StringRef name) const;
};

} // namespace mpc::onnx_import
#endif
