// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of a logistic regression with f16 weights, f32 masters, momentum and a dynamic loss scale,
// written by hand. They are compiled into the tests and, without any library, into the kernel object of a
// packaged test program. In that form they import libm and the f16 conversions from the program.
//
// x is stored as [N,2,3] (logical [N,3,2], permutation 0 2 1) and w as [2,3] (logical [3,2], permutation 1 0).

#include "LogisticKernels.h"

#include <cmath>

static constexpr int64_t kFeatures = 6, kBatch = 4;

extern "C" {

// buffers: w16 [6], x [N,6], target [N] i64, logits [N,2], sample_loss [N], sample_weight [N]; grid: N
void logistic_forward(void *const *buffers, int64_t begin, int64_t end) {
  auto w = static_cast<const _Float16 *>(buffers[0]);
  auto x = static_cast<const float *>(buffers[1]);
  auto target = static_cast<const int64_t *>(buffers[2]);
  auto logits = static_cast<float *>(buffers[3]), loss = static_cast<float *>(buffers[4]),
       weight = static_cast<float *>(buffers[5]);
  for (int64_t n = begin; n < end; ++n) {
    float p = 0;
    for (int64_t i = 0; i < kFeatures; ++i)
      p += float(w[i]) * x[n * kFeatures + i];
    logits[2 * n] = -p;
    logits[2 * n + 1] = p;
    float margin = target[n] ? p : -p;
    loss[n] = log1pf(expf(-margin));
    weight[n] = 1;
  }
}

// buffers: logits [N,2], x, target, scale [1], scaled gradient [6], unscaled gradient [6]; grid: 6
void logistic_gradient(void *const *buffers, int64_t begin, int64_t end) {
  auto logits = static_cast<const float *>(buffers[0]), x = static_cast<const float *>(buffers[1]);
  auto target = static_cast<const int64_t *>(buffers[2]);
  float scale = *static_cast<const float *>(buffers[3]);
  auto scaled = static_cast<float *>(buffers[4]), gradient = static_cast<float *>(buffers[5]);
  for (int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int64_t n = 0; n < kBatch; ++n) {
      float sign = target[n] ? 1.f : -1.f, margin = sign * logits[2 * n + 1];
      sum += scale * (-sign / (1 + expf(margin)) / kBatch) * x[n * kFeatures + i];
    }
    scaled[i] = sum;
    gradient[i] = sum / scale;
  }
}

// buffers: w [6], momentum [6], w16 [6], scaled gradient [6], lr, momentum factor, scale, tracker i32,
// skipped i32
void logistic_update(void *const *buffers, int64_t, int64_t) {
  auto w = static_cast<float *>(buffers[0]), slot = static_cast<float *>(buffers[1]);
  auto copy = static_cast<_Float16 *>(buffers[2]);
  auto scaled = static_cast<const float *>(buffers[3]);
  float lr = *static_cast<const float *>(buffers[4]), factor = *static_cast<const float *>(buffers[5]);
  auto scale = static_cast<float *>(buffers[6]);
  auto tracker = static_cast<int32_t *>(buffers[7]), skipped = static_cast<int32_t *>(buffers[8]);
  bool finite = true;
  for (int64_t i = 0; i < kFeatures; ++i)
    finite &= std::fabs(scaled[i]) <= 3.4e38f;
  if (!finite) {
    *scale = *scale * 0.5f < 1 ? 1 : *scale * 0.5f;
    *tracker = 0;
    ++*skipped;
    return;
  }
  for (int64_t i = 0; i < kFeatures; ++i) {
    slot[i] = factor * slot[i] + scaled[i] / *scale;
    w[i] -= lr * slot[i];
    copy[i] = _Float16(w[i]);
  }
  if (++*tracker >= 20) {
    *scale = *scale <= 0x1p126f ? *scale * 2 : *scale; // stays finite, as torch.amp's scale does
    *tracker = 0;
  }
}

// buffers: sample_loss [N], loss []
void logistic_loss(void *const *buffers, int64_t, int64_t) {
  auto samples = static_cast<const float *>(buffers[0]);
  float sum = 0;
  for (int64_t n = 0; n < kBatch; ++n)
    sum += samples[n];
  *static_cast<float *>(buffers[1]) = sum / kBatch;
}
}
