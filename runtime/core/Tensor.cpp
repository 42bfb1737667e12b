#include "runtime/core/Tensor.h"

namespace mpc::rt {

int64_t elementsOf(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
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
    out += (i ? "," : "") + std::to_string(shape[i]);
  return out + "]";
}

Tensor::Tensor(mpc_dtype dtype, Shape shape) : dtype(dtype), shape(std::move(shape)) {
  bytes.resize(size_t(elements()) * sizeOf(dtype));
}

} // namespace mpc::rt
