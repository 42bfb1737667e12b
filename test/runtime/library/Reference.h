//===- Reference.h - Naive library operations in double ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the oracle of the library tests. It describes operations with the sizes of their buffers, has
// number formats that are written independently of the library, and computes every operation as nested loops
// in double precision.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_RUNTIME_LIBRARY_REFERENCE_H
#define MPC_TEST_RUNTIME_LIBRARY_REFERENCE_H

#include "mpc/library.h"

#include <string>
#include <vector>

namespace mpc::test {

using Desc = mpc_library_desc;

int64_t elementBytes(int32_t type);
/// Rounds to the type, to nearest even. Overflow gives infinity.
double roundTo(int32_t type, double value);
double decode(int32_t type, const void *data, int64_t index);
/// Stores `value`, which must be representable.
void encode(int32_t type, void *data, int64_t index, double value);
/// Returns half the distance between neighbours of numbers near `value`, which is what one rounding may change.
double halfUlp(int32_t type, double value);

/// The numbers of elements of the first operand, the second, and the result.
struct Sizes {
  int64_t a, b, out;
};
Sizes sizes(const Desc &);
/// Returns the length of the bias, which is the number of columns or of result channels.
int64_t biasLength(const Desc &);

/// Describes a padded 3x3 convolution, or one of its gradients, of n maps.
Desc convolution(int32_t op, int32_t type, int64_t n, int64_t c, int64_t o, int64_t height, int64_t width);

struct Expected {
  std::vector<double> value;     // before the last rounding
  std::vector<double> magnitude; // sum of the absolute values of all terms
  std::vector<int64_t> terms;    // the number of terms
};
/// Computes the results from decoded operands; bias and addend may be empty.
Expected reference(const Desc &, const std::vector<double> &a, const std::vector<double> &b,
                   const std::vector<double> &bias, const std::vector<double> &addend);

std::string describe(const Desc &);

} // namespace mpc::test

#endif
