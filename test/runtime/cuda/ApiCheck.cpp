// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks that our declarations of the driver's interface agree with those of NVIDIA's cuda.h.
#include "runtime/cuda/Api.h"

#include <cuda.h>
#include <type_traits>

using namespace mpc::rt::cuda;

namespace {

/// Handles may differ in name, and enumerators are passed as int.
template <typename Ours, typename Theirs>
constexpr bool alike = sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <typename Ours, typename Theirs>
struct Same : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
  requires(sizeof...(A) == sizeof...(B))
struct Same<R (*)(A...), S (*)(B...)> : std::bool_constant<alike<R, S> && (alike<A, B> && ...)> {};

#define CHECK(name, symbol, parameters) static_assert(Same<Result(*) parameters, decltype(&symbol)>::value, #symbol);
MPC_CUDA_FUNCTIONS(CHECK)
MPC_CUDA_OPTIONAL_FUNCTIONS(CHECK)
#undef CHECK

constexpr bool same(long ours, long theirs) { return ours == theirs; }
static_assert(same(kSuccess, CUDA_SUCCESS) && same(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY) &&
              same(kNoDevice, CUDA_ERROR_NO_DEVICE) && same(kNoPtxCompiler, CUDA_ERROR_JIT_COMPILER_NOT_FOUND) &&
              same(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION) &&
              same(kNotReady, CUDA_ERROR_NOT_READY));
static_assert(same(kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
              same(kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) &&
              same(kMaxSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) &&
              same(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(kMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
              same(kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(same(kStreamNonBlocking, CU_STREAM_NON_BLOCKING) && same(kEventTimed, CU_EVENT_DEFAULT) &&
              same(kEventUntimed, CU_EVENT_DISABLE_TIMING) &&
              same(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(same(kInfoLog, CU_JIT_INFO_LOG_BUFFER) && same(kInfoLogBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) &&
              same(kErrorLog, CU_JIT_ERROR_LOG_BUFFER) && same(kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(sizeof(TensorMapBytes) == sizeof(CUtensorMap) && alignof(TensorMapBytes) >= alignof(CUtensorMap));
static_assert(same(kMapU8, CU_TENSOR_MAP_DATA_TYPE_UINT8) && same(kMapU16, CU_TENSOR_MAP_DATA_TYPE_UINT16) &&
              same(kMapU32, CU_TENSOR_MAP_DATA_TYPE_UINT32) && same(kMapU64, CU_TENSOR_MAP_DATA_TYPE_UINT64) &&
              same(kMapF16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16) && same(kMapF32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32) &&
              same(kMapF64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64) && same(kMapBF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16));
static_assert(same(kPromoteL2To256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B) && same(0, CU_TENSOR_MAP_SWIZZLE_NONE) &&
              same(1, CU_TENSOR_MAP_SWIZZLE_32B) && same(2, CU_TENSOR_MAP_SWIZZLE_64B) &&
              same(3, CU_TENSOR_MAP_SWIZZLE_128B) && same(0, CU_TENSOR_MAP_INTERLEAVE_NONE) &&
              same(0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));

} // namespace
