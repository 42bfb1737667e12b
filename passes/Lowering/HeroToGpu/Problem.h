//===- Problem.h - a hero as an implicit matrix product ------------------------------===//
//
//   C(z, m, n) = sum over k of A(z, m, k) B(z, k, n)
//
// Each axis is a row-major product of digits; a tensor's coordinate is an affine form of digits:
//
//                      z        m                  n             k
//   matmul             batch    m                  n             k
//   conv               group    n, out position    o             kernel position, c
//   conv_input_grad    group    n, in position     c             kernel position, o
//   conv_weight_grad   group    o                  kernel pos, c n, out position
//
//===----------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_PROBLEM_H
#define MPC_LOWERING_HEROTOGPU_PROBLEM_H
#include "dialects/Kernel/IR/Kernel.h"
#include <array>
#include <optional>

namespace mpc::hero {

enum class Axis : unsigned { M, N, K, Z };
inline constexpr unsigned axisCount = 4;

/// coefficient * digit
struct Term {
  Axis axis;
  unsigned digit; ///< outer to inner
  int64_t coefficient;
};

/// One dimension of a tensor: position = (sum of terms + constant) / divisor. Where that is no integer in [0,
/// extent) the element counts as zero.
struct Coordinate {
  llvm::SmallVector<Term, 3> terms;
  int64_t constant = 0;
  int64_t divisor = 1;
  int64_t extent = 1;
  int64_t stride = 1;   ///< elements from one position to the next
  bool checked = false; ///< some digits lead outside, or do not divide
};

using Digits = llvm::SmallVector<int64_t, 4>; ///< extents, outer to inner

/// A or B. Digits that always move together are one digit here.
struct Operand {
  mlir::Value tensor; ///< an argument of the dispatch's body
  Axis outer;         ///< M for A, N for B: what is not summed over
  std::array<Digits, axisCount> digits;
  llvm::SmallVector<Coordinate, 5> coordinates;
  Axis contiguous; ///< whose last digit walks through neighbours in memory
  int vector; ///< elements: so many, from a multiple of it along `contiguous`, are aligned neighbours, inside
              ///< or outside together
};

/// The number of elements that each step of a digit moves by, of coordinates that are not checked; nullopt
/// where a checked one depends on it.
std::optional<int64_t> linearStride(const Operand &operand, Axis axis, unsigned digit);

struct Problem {
  kernel::DispatchOp dispatch;
  mlir::Operation *hero;
  std::array<Digits, axisCount> digits; ///< C's
  Operand a, b;
  /// By dimension of the hero's result. Checked ones, which do not depend on n, have positions that C does
  /// not have.
  llvm::SmallVector<Coordinate, 5> c;
  int64_t extent(Axis axis) const; ///< product of digits
  int64_t m() const { return extent(Axis::M); }
  int64_t n() const { return extent(Axis::N); }
  int64_t k() const { return extent(Axis::K); }
  int64_t z() const { return extent(Axis::Z); }
  /// C as it lies in memory, contiguous along n where it can be said so.
  Operand result() const;
  mlir::Type element() const;     ///< of C, and of A and B but for 8-bit floats
  mlir::Type accumulator() const; ///< f32, or f64 for f64
  /// Elements of C that one thread stores together: neighbours of n.
  int storeVector(int most) const;
};

/// Describes the hero of a library dispatch. Fails with a diagnostic where it has none, or one of operands
/// that are no inputs of the dispatch.
mlir::FailureOr<Problem> describeHero(kernel::DispatchOp dispatch);

} // namespace mpc::hero
#endif
