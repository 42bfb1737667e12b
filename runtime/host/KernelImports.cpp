// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that LLVM's code generator calls for 16-bit floats and integer powers, and that neither libc nor
// libm exports. The runtime's link options export them from every program that contains the runtime.
//
// On x86-64 half and bfloat arguments and results are passed in the low 16 bits of an SSE register, which is how
// the compiler passes _Float16; these functions use only its bits.

#include "runtime/support/DType.h"

#include <bit>
#include <cstdint>

using mpc::rt::bfloatToFloat;
using mpc::rt::doubleToBfloat;
using mpc::rt::doubleToHalf;
using mpc::rt::floatToBfloat;
using mpc::rt::floatToHalf;
using mpc::rt::halfToFloat;

using Bits = _Float16;
static uint16_t bits(Bits value) { return std::bit_cast<uint16_t>(value); }
static Bits wrap(uint16_t value) { return std::bit_cast<Bits>(value); }

// NOLINTBEGIN(bugprone-reserved-identifier): LLVM chooses the names.
extern "C" {
void mpc_kernel_imports_anchor() {}

float __extendhfsf2(Bits value) { return halfToFloat(bits(value)); }
Bits __truncsfhf2(float value) { return wrap(floatToHalf(value)); }
Bits __truncdfhf2(double value) { return wrap(doubleToHalf(value)); }
float __extendbfsf2(Bits value) { return bfloatToFloat(bits(value)); }
Bits __truncsfbf2(float value) { return wrap(floatToBfloat(value)); }
Bits __truncdfbf2(double value) { return wrap(doubleToBfloat(value)); }

// Computes x^n by squaring, as compiler-rt does.
double __powidf2(double x, int n) {
  double result = 1;
  for (int64_t left = n < 0 ? -int64_t(n) : n; left; left >>= 1, x *= x)
    if (left & 1)
      result *= x;
  return n < 0 ? 1 / result : result;
}
float __powisf2(float x, int n) {
  float result = 1;
  for (int64_t left = n < 0 ? -int64_t(n) : n; left; left >>= 1, x *= x)
    if (left & 1)
      result *= x;
  return n < 0 ? 1 / result : result;
}
}
// NOLINTEND(bugprone-reserved-identifier)
