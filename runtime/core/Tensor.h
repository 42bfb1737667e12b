// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dense row-major tensor in ordinary memory, as it goes in and out of a session.
#pragma once

#include "runtime/support/DType.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mpc::rt {

using Shape = std::vector<int64_t>;

/// Returns the product of the dimensions; 1 for a scalar. Beyond 64 bits it returns 2^63 - 1.
int64_t elementsOf(std::span<const int64_t> shape);
/// Returns the bytes of a dense tensor, or nothing for a shape that no tensor has: one with a negative dimension, or
/// one whose dimensions other than 0 make more than 2^63 - 1 bytes. A dimension of 0 does not excuse the others,
/// because every part of a shape must have a size.
std::optional<int64_t> bytesOf(mpc_dtype dtype, std::span<const int64_t> shape);
/// Returns whether an array may stand for another in row-major order: without dimensions of 1 the shapes are equal,
/// or one of them is flat and as long. [28,28] and [784] can stand for [1,28,28], but [8,8,3] cannot for [3,8,8].
bool sameLayout(std::span<const int64_t> a, std::span<const int64_t> b);
/// Returns e.g. "[128,1,28,28]".
std::string toString(std::span<const int64_t> shape);

/// Owns its elements, in logical (ONNX) order.
struct Tensor {
  mpc_dtype dtype = MPC_F32;
  Shape shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  /// Makes a zero-filled tensor.
  Tensor(mpc_dtype dtype, Shape shape);

  int64_t elements() const { return elementsOf(shape); }
  /// Returns element `index` in row-major order, widened to double.
  double at(size_t index) const { return loadDouble(dtype, bytes.data(), index); }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T *>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// Refers to elements that somebody else owns, in logical order.
struct TensorView {
  mpc_dtype dtype = MPC_F32;
  Shape shape;
  const void *data = nullptr;

  TensorView() = default;
  TensorView(mpc_dtype dtype, Shape shape, const void *data) : dtype(dtype), shape(std::move(shape)), data(data) {}
  TensorView(const Tensor &tensor) : dtype(tensor.dtype), shape(tensor.shape), data(tensor.bytes.data()) {}
};

} // namespace mpc::rt
