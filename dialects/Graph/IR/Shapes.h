//===- Shapes.h - shape arithmetic and small builders -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers, gradients, the importer and decompositions all need these functions. Shapes are static.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_IR_SHAPES_H
#define MPC_GRAPH_IR_SHAPES_H
#include "dialects/Graph/IR/Graph.h"

namespace mpc::graph {

using Shape = llvm::SmallVector<int64_t>;

/// These return the shape, the element type and the type of a value that is a ranked tensor.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value v);
mlir::Type elementOf(mlir::Value v);
mlir::RankedTensorType typeOf(mlir::Value v);

/// Broadcasts two shapes as numpy does; the result is nullopt when they clash.
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
/// Returns x with the dimensions `axes` removed, or set to 1 with keepdims.
Shape reducedShape(llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> axes, bool keepdims);
/// Succeeds if the axes are strictly increasing and within the rank; otherwise writes the message to `error`.
llvm::LogicalResult verifyAxes(llvm::ArrayRef<int64_t> axes, int64_t rank,
                               llvm::function_ref<mlir::InFlightDiagnostic()> error);
/// Returns how many elements a pooling or convolution output has along one dimension; it is negative when the
/// window does not fit.
int64_t windowCount(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t padLow, int64_t padHigh,
                    bool ceil = false);
/// These return which dimension of an activation of `rank` dimensions holds the channels, and which is its first
/// spatial dimension.
int64_t channelAxis(Layout layout, int64_t rank);
int64_t spatialAxis(Layout layout);

/// Returns whether the op swaps the last two dimensions of a tensor and no others: it transposes each of the
/// tensor's matrices.
bool transposesMatrices(mlir::Operation *op);

bool isFloat(mlir::Type element);
inline bool isFloat(mlir::Value v) { return isFloat(elementOf(v)); }
/// Returns whether the type is f16 or bf16.
bool isLowPrecision(mlir::Type element);
/// Returns whether the type is f8E4M3FN or f8E5M2.
bool isFloat8(mlir::Type element);
/// Rounds to nearest, ties to even; for 8-bit floats, a value beyond the largest finite number becomes that number
/// (as in graph.cast).
llvm::APFloat rounded(llvm::APFloat value, mlir::FloatType type);
/// Returns the type that arithmetic is carried out in: f32 for floats of 8 and 16 bits, else the type itself.
mlir::Type computeType(mlir::Type element);

/// Returns the one number that a float constant holds everywhere, looking through reshapes, transposes and broadcasts
/// of the constant.
std::optional<double> splatNumber(mlir::Value v);

/// Returns `value` as an attribute of the element type, rounded to it; a truncated integer for integers.
mlir::TypedAttr numberAttr(mlir::Type element, double value);
/// Makes a constant filled with `value`, rounded to the type's element type.
mlir::Value splat(mlir::OpBuilder &b, mlir::Location loc, mlir::RankedTensorType type, double value);
/// Makes a rank-0 constant of the element type.
mlir::Value scalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Type element, double value);
/// Makes a graph.cast, or returns x itself if it has the element type.
mlir::Value castTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Type element);
/// Makes a graph.reshape, or returns x itself if it has the shape.
mlir::Value reshapeTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> shape);
/// Makes a graph.broadcast, or returns x itself if it has the shape.
mlir::Value broadcastTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> shape);
/// Sums over the dimensions in which `shape` broadcasts to x's shape: the transpose of broadcastTo.
mlir::Value sumTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> shape);
/// This is the VjpContext::AdaptFn of this dialect: it applies sumTo in at least fp32, then castTo.
mlir::Value adaptContribution(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::RankedTensorType type);

} // namespace mpc::graph
#endif
