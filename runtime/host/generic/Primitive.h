//===- Primitive.h - The base of library primitives --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defines the base of the generic provider's primitives, their scratch layout, and the factories per operation.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_HOST_GENERIC_PRIMITIVE_H
#define MPC_RUNTIME_HOST_GENERIC_PRIMITIVE_H

#include "Kernels.h"
#include "mpc/library.h"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace mpc::generic {

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/// Assigns 64-byte aligned pieces of the scratch memory when a primitive is created.
class ScratchLayout {
public:
  /// Returns the offset of a piece of `bytes`.
  size_t add(size_t bytes) {
    size_t offset = end;
    end += (bytes + 63) & ~size_t(63);
    most = std::max(most, end);
    return offset;
  }
  /// mark() returns the offset of the next piece, and rewind() goes back there: later pieces then share the memory of
  /// those added since the mark.
  size_t mark() const { return end; }
  void rewind(size_t mark) { end = mark; }
  size_t bytes() const { return most; }

private:
  size_t end = 0, most = 0;
};

class Primitive {
public:
  virtual ~Primitive() = default;
  /// Returns the size of the scratch memory, which is constant from construction on.
  size_t scratchBytes() const { return scratch.bytes(); }
  /// buffers: in the order that mpc_library_op lists. scratch: scratchBytes() bytes, 64-byte aligned.
  virtual void execute(void *const *buffers, void *scratch) = 0;
  /// Returns the name of what executes it.
  virtual const char *implementation() const { return "generic"; }

protected:
  ScratchLayout scratch;
};

/// Widens bias[i] to T. type: f32 or the result's type.
template <class T>
void widenBias(T *dst, const void *bias, int32_t type, int64_t count) {
  if (sizeof(T) == 8 && type == MPC_F32)
    for (int64_t i = 0; i < count; ++i)
      dst[i] = static_cast<const float *>(bias)[i];
  else
    kernels<T>().packRows({dst, 0, bias, type, 0, 1, count, count});
}

/// These factories take a description that has been validated. T: float, double. threads: number of slots to
/// plan scratch for.
template <class T>
std::unique_ptr<Primitive> makeMatmul(const mpc_library_desc &, int threads);
/// Makes forward convolutions and input gradients.
template <class T>
std::unique_ptr<Primitive> makeConvolution(const mpc_library_desc &, int threads);
/// Makes the same for few result channels; returns null if the method does not apply or would not be faster.
template <class T>
std::unique_ptr<Primitive> makePlanarConvolution(const mpc_library_desc &, int threads);
template <class T>
std::unique_ptr<Primitive> makeWeightGrad(const mpc_library_desc &, int threads);

/// Returns whether makeDepthwise takes a description: a convolution (not in f64) or a gradient with one input and one
/// output channel a group, and enough groups to fill vectors.
bool isDepthwise(const mpc_library_desc &);
std::unique_ptr<Primitive> makeDepthwise(const mpc_library_desc &, int threads);

/// Makes the same for one input channel per group; returns null if the method does not apply.
template <class T>
std::unique_ptr<Primitive> makeSmallWeightGrad(const mpc_library_desc &, int threads);

/// Makes any of them, for plugins that link this library. Throws std::bad_alloc.
std::unique_ptr<Primitive> makePrimitive(const mpc_library_desc &, int threads);

} // namespace mpc::generic

#endif
