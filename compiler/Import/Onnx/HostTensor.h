//===- HostTensor.h - tensors known at import time ----------------------------===//
#ifndef MPC_IMPORT_ONNX_HOSTTENSOR_H
#define MPC_IMPORT_ONNX_HOSTTENSOR_H
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mpc::onnx_import {

/// No tensor of a model may have more elements: 2^33.
inline constexpr int64_t kMaxElements = int64_t(1) << 33;
/// Elements of a shape; nullopt when a dimension is negative or there are more than kMaxElements.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

/// Bytes of an element; booleans have one.
int64_t elementBytes(mlir::Type element);
/// The MLIR type of an ONNX TensorProto.DataType code; null for those that mpc has no type for.
mlir::Type elementType(mlir::MLIRContext *, int64_t onnxType);
/// "FLOAT", "STRING", ... or "type code N".
std::string onnxTypeName(int64_t onnxType);

/// A tensor on the host: row-major, little endian, one byte per boolean.
struct HostTensor {
  mlir::RankedTensorType type;
  std::shared_ptr<const std::string> bytes; // one element if splat
  bool splat = false;

  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  mlir::Type element() const { return type.getElementType(); }
  int64_t size() const { return type.getNumElements(); }

  /// All elements, converted; a splat is expanded.
  std::vector<int64_t> ints() const;
  std::vector<double> doubles() const;

  /// Rounds each number to the element type. One number for any shape makes a splat.
  static HostTensor fromInts(mlir::RankedTensorType, llvm::ArrayRef<int64_t>);
  static HostTensor fromDoubles(mlir::RankedTensorType, llvm::ArrayRef<double>);
  /// A vector of int64 and a rank-0 one.
  static HostTensor vector(mlir::MLIRContext *, llvm::ArrayRef<int64_t>);
  static HostTensor scalar(mlir::MLIRContext *, int64_t);

  /// The same bytes under another shape of as many elements.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// Dense if it is small, a splat or boolean, else a resource blob that owns the bytes and is called `name`.
  mlir::ElementsAttr attribute(llvm::StringRef name) const;
};

} // namespace mpc::onnx_import
#endif
