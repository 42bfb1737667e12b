//===- Numbers.h - numbers as text ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_SUPPORT_NUMBERS_H
#define MPC_SUPPORT_NUMBERS_H
#include <string>

namespace mpc {

/// Returns the shortest decimal number that is read back as `value`: 0.1, 1e-10. Whole numbers below 10^15 have all
/// their digits: 16777216.
std::string shortestText(double value);

} // namespace mpc
#endif
