// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fake driver finds what it is made to find: each misuse ends the process and is named, and the same
// calls without the misuse succeed.

#include "runtime/cuda/Api.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mpc::rt::cuda;

#define MPC_CUDA_DECLARE(name, symbol, parameters) extern "C" Result symbol parameters;
MPC_CUDA_FUNCTIONS(MPC_CUDA_DECLARE)
MPC_CUDA_OPTIONAL_FUNCTIONS(MPC_CUDA_DECLARE)

namespace {

constexpr size_t bytes = 64;

/// A context with two streams, an event, and device and pinned memory. Every test runs in a process of its
/// own, because the state at exit counts.
struct Holder {
  ContextHandle context = nullptr;
  StreamHandle one = nullptr, two = nullptr;
  EventHandle event = nullptr;
  Address device = 0;
  void *pinned = nullptr;
  Holder() {
    EXPECT_EQ(cuInit(0) + cuDevicePrimaryCtxRetain(&context, 0) + cuCtxSetCurrent(context) +
                  cuStreamCreate(&one, kStreamNonBlocking) + cuStreamCreate(&two, kStreamNonBlocking) +
                  cuEventCreate(&event, kEventUntimed) + cuMemAlloc_v2(&device, bytes) +
                  cuMemAllocHost_v2(&pinned, bytes),
              0);
    std::memset(pinned, 1, bytes);
  }
  ~Holder() {
    cuStreamSynchronize(one);
    cuStreamSynchronize(two);
    cuEventDestroy_v2(event);
    cuStreamDestroy_v2(one);
    cuStreamDestroy_v2(two);
    cuMemFree_v2(device);
    cuMemFreeHost(pinned);
    cuDevicePrimaryCtxRelease_v2(0);
  }
};

} // namespace

/// Runs the body in another process and checks its exit status and what it printed.
#define EXPECT_END(body, status, text)                                                                                 \
  EXPECT_EXIT(                                                                                                         \
      {                                                                                                                \
        {                                                                                                              \
          Holder s;                                                                                                    \
          body;                                                                                                        \
        }                                                                                                              \
        std::exit(0);                                                                                                  \
      },                                                                                                               \
      testing::ExitedWithCode(status), text)
#define EXPECT_CLEAN(body) EXPECT_END(body, 0, "")
#define EXPECT_MISUSE(body, text) EXPECT_END(body, 86, text)

TEST(FakeDriver, WorkIsDoneInOrderAndNoEarlierThanItIsAwaited) {
  Holder s;
  unsigned char back[bytes] = {};
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(s.device, s.pinned, bytes, s.one), 0);
  EXPECT_EQ(cuMemsetD32Async(s.device, 0x02020202, 4, s.one), 0);
  EXPECT_EQ(cuStreamSynchronize(s.one), 0);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(s.pinned, s.device, bytes, s.one), 0);
  std::memcpy(back, s.pinned, bytes);
  EXPECT_EQ(back[0], 0xA5); // read too early
  EXPECT_EQ(cuStreamSynchronize(s.one), 0);
  std::memcpy(back, s.pinned, bytes);
  EXPECT_EQ(back[15], 2);
  EXPECT_EQ(back[16], 1);
}

TEST(FakeDriver, WorkIsDoneWhenItIsAskedForTwice) {
  Holder s;
  EXPECT_EQ(cuStreamQuery(s.one), 0); // there is none
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(s.device, s.pinned, bytes, s.one), 0);
  EXPECT_EQ(cuStreamQuery(s.one), kNotReady);
  EXPECT_EQ(cuStreamQuery(s.one), 0);
  std::memset(s.pinned, 7, bytes); // no misuse, since the copy is done
}

TEST(FakeDriver, TensorMapsAreThoseThatTheAcceleratorTakes) {
  Holder s;
  TensorMapBytes map;
  auto encode = [&](Address address, uint64_t stride, unsigned box) {
    uint64_t sizes[] = {64, 2};
    unsigned boxes[] = {box, 2}, steps[] = {1, 1};
    return cuTensorMapEncodeTiled(&map, kMapF16, 2, reinterpret_cast<void *>(address), sizes, &stride, boxes, steps, 0,
                                  3, 0, 0);
  };
  EXPECT_EQ(encode(s.device, 128, 64), kSuccess);
  EXPECT_NE(encode(s.device + 8, 128, 64), kSuccess); // not aligned to 16 bytes
  EXPECT_NE(encode(s.device, 136, 64), kSuccess);
  EXPECT_NE(encode(s.device, 128, 72), kSuccess); // the box is wider than its swizzle
}

TEST(FakeDriver, EventsOrderStreams) {
  auto copies = [](Holder &s, bool ordered) {
    cuMemcpyHtoDAsync_v2(s.device, s.pinned, bytes, s.one);
    if (ordered) {
      cuEventRecord(s.event, s.one);
      cuStreamWaitEvent(s.two, s.event, 0);
    }
    cuMemsetD8Async(s.device, 0, bytes, s.two);
  };
  EXPECT_CLEAN(copies(s, true));
  EXPECT_MISUSE(copies(s, false), "nothing orders 'cuMemsetD8Async' behind 'cuMemcpyHtoDAsync' of another stream");
  // The process may also order two streams by waiting.
  EXPECT_CLEAN(cuMemsetD8Async(s.device, 0, 8, s.one); cuStreamSynchronize(s.one);
               cuMemsetD8Async(s.device, 0, 8, s.two));
}

TEST(FakeDriver, Copies) {
  auto early = [](Holder &s, bool wait) {
    cuMemcpyHtoDAsync_v2(s.device, s.pinned, bytes, s.one);
    if (wait)
      cuStreamSynchronize(s.one);
    std::memset(s.pinned, 7, bytes);
  };
  EXPECT_CLEAN(early(s, true));
  EXPECT_MISUSE(early(s, false), "the process changed its memory before the copy was awaited");
  char unpinned[bytes] = {};
  EXPECT_MISUSE(cuMemcpyHtoDAsync_v2(s.device, unpinned, bytes, s.one), "outside every allocation");
  EXPECT_MISUSE(cuMemcpyHtoDAsync_v2(s.device, s.pinned, bytes + 1, s.one), "65 bytes outside every allocation");
  EXPECT_MISUSE(cuMemcpyDtoHAsync_v2(s.pinned, uint64_t(s.pinned), 8, s.one), "pinned memory where it takes device");
}

TEST(FakeDriver, Capture) {
  GraphHandle graph = nullptr;
  EXPECT_CLEAN(cuStreamBeginCapture_v2(s.one, kCaptureThreadLocal); cuStreamEndCapture(s.one, &graph);
               cuGraphDestroy(graph));
  EXPECT_MISUSE(cuStreamBeginCapture_v2(s.one, kCaptureThreadLocal);
                cuStreamSynchronize(s.one), "waited for while it is captured");
  EXPECT_MISUSE(cuStreamBeginCapture_v2(s.one, kCaptureThreadLocal);
                cuMemcpyHtoDAsync_v2(s.device, s.pinned, 8, s.one), "while its stream is captured");
  EXPECT_MISUSE(cuStreamEndCapture(s.one, &graph), "that never began");
}

TEST(FakeDriver, WhatIsHeldIsGivenBackOnce) {
  Address other = 0;
  EXPECT_CLEAN(cuMemAlloc_v2(&other, 8); cuMemFree_v2(other));
  EXPECT_MISUSE(cuMemAlloc_v2(&other, 8), "8 bytes of device memory were never freed");
  EXPECT_MISUSE(cuMemAlloc_v2(&other, 8); cuMemFree_v2(other);
                cuMemFree_v2(other), "freed that is none, or for the second time");
  EXPECT_MISUSE(cuMemAlloc_v2(&other, 8); cuMemsetD8Async(other, 0, 8, s.one);
                cuMemFree_v2(other), "freed before 'cuMemsetD8Async' is done");
  EXPECT_MISUSE(static_cast<char *>(s.pinned)[bytes] = 1, "memory around an allocation of 64 bytes was written");
  EXPECT_MISUSE(cuDevicePrimaryCtxRetain(&s.context, 0), "the context 1 times");
  EventHandle event = nullptr;
  EXPECT_MISUSE(cuEventCreate(&event, kEventUntimed), "1 events");
  EXPECT_MISUSE(cuEventDestroy_v2(s.event), "an? event that is none");
}
