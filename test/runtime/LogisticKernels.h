// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of the test program, with the signatures that the compiler would emit. See LogisticKernels.cpp.
#pragma once

#include <cstdint>

extern "C" {
void logistic_forward(void *const *buffers, int64_t begin, int64_t end);
void logistic_gradient(void *const *buffers, int64_t begin, int64_t end);
void logistic_update(void *const *buffers, int64_t begin, int64_t end);
void logistic_loss(void *const *buffers, int64_t begin, int64_t end);
}
