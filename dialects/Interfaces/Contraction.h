//===- Contraction.h - matrix products and convolutions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_INTERFACES_CONTRACTION_H
#define MPC_INTERFACES_CONTRACTION_H
#include "mlir/IR/OpDefinition.h"
#include <array>
#include <optional>

namespace mpc {

/// A contraction as an implicit matrix product:
///
///   C(z, m, n) = sum over k of A(z, m, k) B(z, k, n)
///
/// An axis (m, n, k or z) may stand for several dimensions of a tensor: its index is a mixed-radix number whose
/// digits, outer to inner, are the indices of those dimensions. A position along a dimension of a tensor is an
/// affine form of digits. The digits of the axes are:
///
///                      z        m                  n             k
///   matmul             batch    m                  n             k
///   conv               group    n, out position    o             kernel position, c
///   conv_input_grad    group    n, in position     c             kernel position, o
///   conv_weight_grad   group    o                  kernel pos, c n, out position
struct MatrixProduct {
  enum class Axis : unsigned { M, N, K, Z };
  static constexpr unsigned axisCount = 4;
  using Digits = llvm::SmallVector<int64_t, 4>; ///< the extents of an axis's digits, outer to inner

  /// coefficient * digit
  struct Term {
    Axis axis;
    unsigned digit; ///< the number of the digit within its axis, outer to inner
    int64_t coefficient;
  };
  /// One dimension of a tensor: position = (sum of terms + constant) / divisor. Where that is not an integer in
  /// [0, extent), the element counts as zero; where C has no such element, nothing is stored.
  struct Coordinate {
    llvm::SmallVector<Term, 3> terms;
    int64_t constant = 0;
    int64_t divisor = 1;
    int64_t extent = 1;
  };
  using Coordinates = llvm::SmallVector<Coordinate, 5>; ///< one for each dimension of a tensor

  /// The digits of all axes, by the number of the axis.
  using AxisDigits = std::array<Digits, axisCount>;

  mlir::Value a, b; ///< C is the op's result
  AxisDigits digits{};
  Coordinates atA{}, atB{}, atC{};

  /// Returns the operations of a product with these digits, two for each multiply-add. Taps that fall on padding count.
  static double flopsOf(const AxisDigits &digits);
  /// Returns at most how many elements of a tensor the positions `at` name: no dimension has more of them than digits
  /// lead to. Windows that lie apart, as those of a 1x1 kernel with stride 2 do, leave elements between them unread.
  int64_t elementsAt(const Coordinates &at) const;
};

} // namespace mpc

#include "dialects/Interfaces/Contraction.h.inc"
#endif
