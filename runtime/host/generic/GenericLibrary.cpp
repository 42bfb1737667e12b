//===- GenericLibrary.cpp - The built-in library provider -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Validates descriptions and wraps the primitives in the C interface. No exception crosses it.
//
//===----------------------------------------------------------------------===//
#include "GenericLibrary.h"
#include "Parallel.h"
#include "Primitive.h"
#include "Validate.h"

#include <cstdio>
#include <exception>

namespace mpc::generic {
namespace {

std::atomic<int> threadCount{1};
mpc_parallel_for_fn parallelForCallback = nullptr;
void *parallelForContext = nullptr;

template <class T>
std::unique_ptr<Primitive> make(const mpc_library_desc &desc, int threads) {
  switch (desc.op) {
  case MPC_MATMUL:
    return makeMatmul<T>(desc, threads);
  case MPC_CONV_FORWARD:
  case MPC_CONV_INPUT_GRAD:
    if (std::unique_ptr<Primitive> planar = makePlanarConvolution<T>(desc, threads))
      return planar;
    return makeConvolution<T>(desc, threads);
  default:
    if (std::unique_ptr<Primitive> small = makeSmallWeightGrad<T>(desc, threads))
      return small;
    return makeWeightGrad<T>(desc, threads);
  }
}

} // namespace

std::unique_ptr<Primitive> makePrimitive(const mpc_library_desc &desc, int threads) {
  if (isDepthwise(desc))
    return makeDepthwise(desc, threads);
  return desc.type_a == MPC_F64 ? make<double>(desc, threads) : make<float>(desc, threads);
}

namespace {

mpc_library_primitive *create(const mpc_library_desc *desc, char *error, size_t errorBytes) {
  if (const char *message = validate(*desc)) {
    std::snprintf(error, errorBytes, "%s", message);
    return nullptr;
  }
  try {
    return reinterpret_cast<mpc_library_primitive *>(makePrimitive(*desc, threadCount).release());
  } catch (const std::exception &e) {
    std::snprintf(error, errorBytes, "%s", e.what());
    return nullptr;
  }
}

Primitive *unwrap(const mpc_library_primitive *p) {
  return reinterpret_cast<Primitive *>(const_cast<mpc_library_primitive *>(p));
}

size_t scratchBytes(const mpc_library_primitive *p) { return unwrap(p)->scratchBytes(); }
void execute(mpc_library_primitive *p, void *const *buffers, void *scratch) { unwrap(p)->execute(buffers, scratch); }
void destroy(mpc_library_primitive *p) { delete unwrap(p); }
const char *implementation(const mpc_library_primitive *p) { return unwrap(p)->implementation(); }

const mpc_library library = {MPC_LIBRARY_ABI, "generic", create, scratchBytes, execute, destroy, implementation};

} // namespace

void parallelFor(int64_t n, void (*body)(void *, int64_t, int64_t), void *ctx) {
  if (parallelForCallback)
    parallelForCallback(parallelForContext, n, 1, body, ctx);
  else
    body(ctx, 0, n);
}

} // namespace mpc::generic

extern "C" const mpc_library *mpc_generic_library(int threads) {
  mpc::generic::threadCount = threads > 0 ? threads : 1;
  return &mpc::generic::library;
}

extern "C" void mpc_generic_set_parallel_for(mpc_parallel_for_fn parallel_for, void *ctx) {
  mpc::generic::parallelForCallback = parallel_for;
  mpc::generic::parallelForContext = ctx;
}
