// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An operator new that fails once.
#pragma once

#include <cstdint>

/// Makes the n-th call of operator new from now on, of any thread, throw std::bad_alloc; 0 makes none throw. Returns
/// whether the call chosen before has not come yet.
bool failNew(int64_t n);
