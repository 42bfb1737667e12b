// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Tensor.h"

#include "runtime/support/Error.h"

#include <algorithm>

namespace mpc::rt {

int64_t elementsOf(std::span<const int64_t> shape) {
  int64_t product = 1;
  bool beyond = false;
  for (int64_t extent : shape) {
    if (extent == 0)
      return 0;
    beyond |= __builtin_mul_overflow(product, extent, &product);
  }
  return beyond ? INT64_MAX : product;
}

std::optional<int64_t> bytesOf(mpc_dtype dtype, std::span<const int64_t> shape) {
  int64_t bytes = int64_t(sizeOf(dtype));
  bool empty = false;
  for (int64_t extent : shape) {
    empty |= extent == 0;
    if (extent < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes))
      return std::nullopt;
  }
  return empty ? 0 : bytes;
}

bool sameLayout(std::span<const int64_t> a, std::span<const int64_t> b) {
  auto withoutOnes = [](std::span<const int64_t> shape) {
    Shape rest(shape.begin(), shape.end());
    std::erase(rest, 1);
    return rest;
  };
  Shape left = withoutOnes(a), right = withoutOnes(b);
  return left == right || ((left.size() <= 1 || right.size() <= 1) && elementsOf(a) == elementsOf(b));
}

std::string toString(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += concat(i ? "," : "", shape[i]);
  return out + "]";
}

Tensor::Tensor(mpc_dtype dtype, Shape shape) : dtype(dtype), shape(std::move(shape)) {
  bytes.resize(size_t(elements()) * sizeOf(dtype));
}

} // namespace mpc::rt
