// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of NVIDIA's driver interface that this runtime uses: own declarations of its types, and one table of its
// functions. The numbers are those of the CUDA Driver API's documentation, sections "Data types used by CUDA
// driver" and "Types".
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpc::rt::cuda {

using Result = int;       // stands for CUresult
using Address = uint64_t; // stands for CUdeviceptr: device memory
using ContextHandle = struct ContextTag *;
using ModuleHandle = struct ModuleTag *;
using FunctionHandle = struct FunctionTag *;
using StreamHandle = struct StreamTag *;
using EventHandle = struct EventTag *;
using GraphHandle = struct GraphTag *;
using ExecutableHandle = struct ExecutableTag *; // stands for CUgraphExec: a graph made ready

/// CUtensorMap is opaque. It is aligned to 64 bytes up to CUDA 12, and to 128 from 13 on.
struct alignas(128) TensorMapBytes {
  unsigned char bytes[128];
};

enum : Result {
  kSuccess = 0,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kNoPtxCompiler = 221,
  kUnsupportedPtxVersion = 222,
  kNotReady = 600,
};
// Attributes of a device, and of a function.
enum : int {
  kComputeMajor = 75,
  kComputeMinor = 76,
  kMaxSharedBytesPerBlock = 97, // the limit for kernels that opt in to more
  kMultiprocessors = 16,
};
enum : int {
  kMaxThreadsPerBlock = 0,
  kMaxDynamicSharedBytes = 8,
};
enum : unsigned { kStreamNonBlocking = 1 };
enum : unsigned { kEventTimed = 0, kEventUntimed = 2 };
enum : int { kCaptureThreadLocal = 1 };
// Element types of tensor maps, and how much of a line of L2 a miss fetches. Swizzles count from 0: none,
// 32, 64, 128 bytes.
enum : int { kMapU8 = 0, kMapU16 = 1, kMapU32 = 2, kMapU64 = 4, kMapF16 = 6, kMapF32 = 7, kMapF64 = 8, kMapBF16 = 9 };
enum : int { kPromoteL2To256 = 3 };
// Options of cuModuleLoadDataEx.
enum : int { kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6 };

/// X(name, symbol, parameters) lists every function, by the symbol of the version that has these parameters. The
/// youngest of them came with CUDA 11.4 (kOldestDriver).
// clang-format off
#define MPC_CUDA_FUNCTIONS(X)                                                                                                          \
  X(init, cuInit, (unsigned flags))                                                                                                    \
  X(driverGetVersion, cuDriverGetVersion, (int *version))                                                                              \
  X(getErrorName, cuGetErrorName, (Result result, const char **text))                                                                  \
  X(getErrorString, cuGetErrorString, (Result result, const char **text))                                                              \
  X(deviceGetCount, cuDeviceGetCount, (int *count))                                                                                    \
  X(deviceGet, cuDeviceGet, (int *device, int ordinal))                                                                                \
  X(deviceGetName, cuDeviceGetName, (char *name, int bytes, int device))                                                               \
  X(deviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, int device))                                                                  \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, int device))                                                 \
  X(devicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (ContextHandle *context, int device))                                            \
  X(devicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int device))                                                               \
  X(ctxSetCurrent, cuCtxSetCurrent, (ContextHandle context))                                                                           \
  X(moduleLoadDataEx, cuModuleLoadDataEx, (ModuleHandle *module, const void *image, unsigned count, int *options, void **values))      \
  X(moduleUnload, cuModuleUnload, (ModuleHandle module))                                                                               \
  X(moduleGetFunction, cuModuleGetFunction, (FunctionHandle *function, ModuleHandle module, const char *name))                         \
  X(funcGetAttribute, cuFuncGetAttribute, (int *value, int attribute, FunctionHandle function))                                        \
  X(funcSetAttribute, cuFuncSetAttribute, (FunctionHandle function, int attribute, int value))                                         \
  X(memGetInfo, cuMemGetInfo_v2, (size_t *free, size_t *total))                                                                        \
  X(memAlloc, cuMemAlloc_v2, (Address *address, size_t bytes))                                                                         \
  X(memFree, cuMemFree_v2, (Address address))                                                                                          \
  X(memAllocHost, cuMemAllocHost_v2, (void **address, size_t bytes))                                                                   \
  X(memFreeHost, cuMemFreeHost, (void *address))                                                                                       \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (Address to, const void *from, size_t bytes, StreamHandle stream))                          \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, Address from, size_t bytes, StreamHandle stream))                                \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, StreamHandle stream))                              \
  X(memsetD8Async, cuMemsetD8Async, (Address to, unsigned char value, size_t count, StreamHandle stream))                              \
  X(memsetD32Async, cuMemsetD32Async, (Address to, unsigned value, size_t count, StreamHandle stream))                                 \
  X(streamCreate, cuStreamCreate, (StreamHandle *stream, unsigned flags))                                                              \
  X(streamDestroy, cuStreamDestroy_v2, (StreamHandle stream))                                                                          \
  X(streamSynchronize, cuStreamSynchronize, (StreamHandle stream))                                                                     \
  X(streamQuery, cuStreamQuery, (StreamHandle stream))                                                                                 \
  X(streamWaitEvent, cuStreamWaitEvent, (StreamHandle stream, EventHandle event, unsigned flags))                                      \
  X(streamBeginCapture, cuStreamBeginCapture_v2, (StreamHandle stream, int mode))                                                      \
  X(streamEndCapture, cuStreamEndCapture, (StreamHandle stream, GraphHandle *graph))                                                   \
  X(eventCreate, cuEventCreate, (EventHandle *event, unsigned flags))                                                                  \
  X(eventDestroy, cuEventDestroy_v2, (EventHandle event))                                                                              \
  X(eventRecord, cuEventRecord, (EventHandle event, StreamHandle stream))                                                              \
  X(eventSynchronize, cuEventSynchronize, (EventHandle event))                                                                         \
  X(eventElapsedTime, cuEventElapsedTime, (float *milliseconds, EventHandle start, EventHandle end))                                   \
  X(launchKernel, cuLaunchKernel, (FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,           \
                                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, StreamHandle stream, void **parameters,     \
                                   void **extra))                                                                                      \
  X(graphInstantiate, cuGraphInstantiateWithFlags, (ExecutableHandle *executable, GraphHandle graph, unsigned long long flags))        \
  X(graphLaunch, cuGraphLaunch, (ExecutableHandle executable, StreamHandle stream))                                                    \
  X(graphExecDestroy, cuGraphExecDestroy, (ExecutableHandle executable))                                                               \
  X(graphDestroy, cuGraphDestroy, (GraphHandle graph))

/// Functions that only plans with tensor maps need; they are null if the driver is older than CUDA 12.0.
#define MPC_CUDA_OPTIONAL_FUNCTIONS(X)                                                                                                 \
  X(tensorMapEncodeTiled, cuTensorMapEncodeTiled, (TensorMapBytes *map, int type, unsigned rank, void *address, const uint64_t *sizes, \
                                                   const uint64_t *strides, const unsigned *box, const unsigned *steps,                \
                                                   int interleave, int swizzle, int promotion, int fill))                              \
  X(tensorMapEncodeIm2col, cuTensorMapEncodeIm2col, (TensorMapBytes *map, int type, unsigned rank, void *address,                      \
                                                     const uint64_t *sizes, const uint64_t *strides, const int *lower,                 \
                                                     const int *upper, unsigned channels, unsigned pixels, const unsigned *steps,      \
                                                     int interleave, int swizzle, int promotion, int fill))
// clang-format on

} // namespace mpc::rt::cuda
