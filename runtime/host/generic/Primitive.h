//===- Primitive.h - What one library primitive is --------------*- C++ -*-===//
//
// The base of the generic provider's primitives, their scratch layout, and the factories per operation.
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

/// Hands out 64-byte aligned pieces of the scratch memory at create time.
class ScratchLayout {
public:
  /// Returns the offset of a piece of `bytes`.
  size_t add(size_t bytes) {
    size_t offset = end;
    end += (bytes + 63) & ~size_t(63);
    most = std::max(most, end);
    return offset;
  }
  /// Where the next piece would lie, and going back there: what follows shares the memory of what came since.
  size_t mark() const { return end; }
  void rewind(size_t mark) { end = mark; }
  size_t bytes() const { return most; }

private:
  size_t end = 0, most = 0;
};

class Primitive {
public:
  virtual ~Primitive() = default;
  /// Constant from construction on.
  size_t scratchBytes() const { return scratch.bytes(); }
  /// buffers: as mpc_library_op lists them. scratch: scratchBytes() bytes, 64-byte aligned.
  virtual void execute(void *const *buffers, void *scratch) = 0;

protected:
  ScratchLayout scratch;
};

/// bias[i] widened to T. type: f32 or the result's type.
template <class T> void widenBias(T *dst, const void *bias, int32_t type, int64_t count) {
  if (sizeof(T) == 8 && type == MPC_F32)
    for (int64_t i = 0; i < count; ++i)
      dst[i] = static_cast<const float *>(bias)[i];
  else
    kernels<T>().packRows({dst, 0, bias, type, 0, 1, count, count});
}

/// Factories. The description has been validated. T: float, double. threads: slots to plan scratch for.
template <class T> std::unique_ptr<Primitive> makeMatmul(const mpc_library_desc &, int threads);
/// Forward and input gradient.
template <class T> std::unique_ptr<Primitive> makeConvolution(const mpc_library_desc &, int threads);
/// The same for few result channels; null where it does not apply or pay.
template <class T> std::unique_ptr<Primitive> makePlanarConvolution(const mpc_library_desc &, int threads);
template <class T> std::unique_ptr<Primitive> makeWeightGrad(const mpc_library_desc &, int threads);

/// The same for one input channel per group; null where it does not apply.
template <class T> std::unique_ptr<Primitive> makeSmallWeightGrad(const mpc_library_desc &, int threads);

/// Any of them, for plugins that link this library. Throws std::bad_alloc.
std::unique_ptr<Primitive> makePrimitive(const mpc_library_desc &, int threads);

} // namespace mpc::generic

#endif
