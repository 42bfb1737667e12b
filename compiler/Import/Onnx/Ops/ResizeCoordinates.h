//===- ResizeCoordinates.h - the coordinates that Resize reads, as exact fractions --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The quotients of ONNX's formulas are integers or ties for common sizes, and there an error of one unit in the last
// place makes a nearest Resize read the neighbour. So they are computed with fractions, and only the finished
// coordinate becomes the floats of graph.resize.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_ONNX_OPS_RESIZECOORDINATES_H
#define MPC_COMPILER_IMPORT_ONNX_OPS_RESIZECOORDINATES_H
#include "mlir/Analysis/Presburger/Fraction.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mpc::onnx_import {
using mlir::presburger::Fraction;

/// Result element i along a dimension reads the operand at scale*i + offset, in elements of the operand.
struct Coordinates {
  Fraction scale, offset;
};

/// How graph.resize makes an index of a coordinate: ceil(coordinate + bias) or floor(coordinate + bias).
struct Rounding {
  Fraction bias;
  bool ceil = false;
};

/// Returns the fraction that a scale stands for, out / in. ONNX stores scales as f32, where 1/3 or 0.7 are no exact
/// numbers; it is the simplest fraction that rounds to the scale. `scale`: positive and finite.
Fraction fractionOf(float scale);

/// Returns the coordinates of a dimension (ONNX Resize, coordinate_transformation_mode), or nothing for a mode that is
/// not supported. `scale`: out / in before rounding down, positive. `in`, `out`: the lengths.
std::optional<Coordinates> coordinatesOf(llvm::StringRef mode, const Fraction &scale, int64_t in, int64_t out);

/// Returns the rounding of a nearest_mode, or nothing for an unknown one.
std::optional<Rounding> roundingOf(llvm::StringRef nearestMode);

/// Moves coordinates so that an index that is computed from them in f64 is that of exact arithmetic.
Coordinates awayFromTies(const Coordinates &, const Rounding &);

/// Returns the f64 next to a fraction, or one beside that.
double toDouble(Fraction);
} // namespace mpc::onnx_import
#endif
