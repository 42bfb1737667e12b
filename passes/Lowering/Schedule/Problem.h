//===- Problem.h - a hero as an implicit matrix product ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hero of a dispatch is its matrix product or convolution. All heroes are matrix products C(z, m, n) = sum over
// k of A(z, m, k) B(z, k, n), whose axes have digits (dialects/Interfaces/Contraction.h). A problem adds what
// memory makes of them.
//
//===----------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_SCHEDULE_PROBLEM_H
#define MPC_LOWERING_SCHEDULE_PROBLEM_H
#include "dialects/Interfaces/Contraction.h"
#include "dialects/Kernel/Analysis/ProductResults.h"
#include <array>
#include <optional>

namespace mpc::hero {

using Axis = MatrixProduct::Axis;
using Digits = MatrixProduct::Digits;
using Term = MatrixProduct::Term;
inline constexpr unsigned axisCount = MatrixProduct::axisCount;

/// One dimension of a tensor in memory.
struct Coordinate : MatrixProduct::Coordinate {
  int64_t stride; ///< elements from one position to the next
  bool checked;   ///< whether some digits lead outside of the tensor, or leave a remainder of the division
};

/// A or B. Digits that memory walks through in one stride are merged into one digit here.
struct Operand {
  mlir::Value tensor; ///< an argument of the dispatch's body
  Axis outer;         ///< M for A, N for B: the operand's axis that is not summed over
  std::array<Digits, axisCount> digits;
  llvm::SmallVector<Coordinate, 5> coordinates;
  Axis contiguous; ///< the axis whose last digit steps from one element to its neighbour in memory
  /// Elements that are read together: a group of so many that starts at a multiple of `vector` along `contiguous`
  /// is aligned and consecutive in memory, and is wholly inside or wholly outside of the tensor.
  int vector;
};

/// The number of elements that one step of a digit moves by in memory; nullopt where a coordinate that is
/// checked or divided depends on the digit.
std::optional<int64_t> linearStride(const Operand &operand, Axis axis, unsigned digit);

struct Problem {
  kernel::DispatchOp dispatch;
  mlir::Operation *hero;
  std::array<Digits, axisCount> digits; ///< those of C
  Operand a, b;
  /// One coordinate for each dimension of the hero's result. A checked coordinate, which never depends on n,
  /// can lie outside of the result; nothing is stored there.
  llvm::SmallVector<Coordinate, 5> c;
  llvm::SmallVector<unsigned> fullResults;         ///< the numbers of the results that have C's elements
  llvm::SmallVector<kernel::ColumnSum> columnSums; ///< the other results
  int64_t extent(Axis axis) const;                 ///< product of digits
  int64_t m() const { return extent(Axis::M); }
  int64_t n() const { return extent(Axis::N); }
  int64_t k() const { return extent(Axis::K); }
  int64_t z() const { return extent(Axis::Z); }
  /// C as it lies in memory, with merged digits; `contiguous` is n.
  Operand result() const;
  mlir::Type element() const;     ///< of C; A and B have the same element type, unless they hold 8-bit floats
  mlir::Type factor() const;      ///< the element type of A
  bool hasFloat8() const;         ///< whether A and B hold 8-bit floats
  mlir::Type accumulator() const; ///< f32, or f64 for f64
  /// The number of neighbours along n that one thread stores together: `most`, or less where that does not
  /// divide the last digit of n.
  int storeVector(int most) const;
};

/// Describes the hero of a contraction. Fails with a diagnostic where an axis is too long for 32-bit counters, or where
/// a result is none that a GPU computes (kernel::ProductResults).
mlir::FailureOr<Problem> describeHero(kernel::DispatchOp dispatch);

} // namespace mpc::hero
#endif
