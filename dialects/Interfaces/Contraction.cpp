// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Interfaces/Contraction.h"

using namespace mlir;
using namespace mpc;

double MatrixProduct::flopsOf(const AxisDigits &digits) {
  double flops = 2;
  for (const Digits &axis : digits)
    for (int64_t extent : axis)
      flops *= double(extent);
  return flops;
}

int64_t MatrixProduct::elementsAt(const Coordinates &at) const {
  int64_t elements = 1;
  for (const Coordinate &position : at) {
    int64_t reached = 1;
    for (const Term &term : position.terms)
      reached *= digits[unsigned(term.axis)][term.digit];
    elements *= std::min(reached, position.extent);
  }
  return elements;
}

#include "dialects/Interfaces/Contraction.cpp.inc"
