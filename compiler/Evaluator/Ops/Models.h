//===- Models.h - what the models of all families share --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EVALUATOR_OPS_MODELS_H
#define MPC_EVALUATOR_OPS_MODELS_H
#include "compiler/Evaluator/Evaluable.h"
#include "dialects/Graph/IR/Shapes.h"

namespace mpc {

template <typename Derived, typename OpT>
using EvalModel = EvaluableOpInterface::ExternalModel<Derived, OpT>;

/// Each file of this folder defines one of these.
void attachMathModels(mlir::MLIRContext &context);
void attachRandomModels(mlir::MLIRContext &context);
void attachBinaryModels(mlir::MLIRContext &context);
void attachReduceModels(mlir::MLIRContext &context);
void attachTensorModels(mlir::MLIRContext &context);
void attachScanModels(mlir::MLIRContext &context);
void attachGatherModels(mlir::MLIRContext &context);
void attachMatmulModels(mlir::MLIRContext &context);
void attachAttentionModels(mlir::MLIRContext &context);
void attachPoolingModels(mlir::MLIRContext &context);
void attachNormalizationModels(mlir::MLIRContext &context);
void attachLossModels(mlir::MLIRContext &context);

/// Calls fn(i, offset + sum of index[d]*strides[d]) for each index of `shape`; i counts in row-major order.
template <typename Fn>
void walkStrided(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, int64_t offset, Fn &&fn) {
  int64_t rank = shape.size(), total = 1;
  for (int64_t extent : shape)
    total *= extent;
  if (total == 0)
    return;
  int64_t inner = rank ? shape[rank - 1] : 1, innerStride = rank ? strides[rank - 1] : 0;
  llvm::SmallVector<int64_t> index(rank);
  for (int64_t i = 0;;) {
    for (int64_t k = 0; k < inner; ++k)
      fn(i++, offset + k * innerStride);
    int64_t d = rank - 2;
    for (; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < shape[d])
        break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/// x's elements, broadcast to `shape`: x.values itself where it has the shape already, else `storage`.
const std::vector<double> &broadcastValues(const HostTensor &x, llvm::ArrayRef<int64_t> shape,
                                           std::vector<double> &storage);

/// Return the smallest and the largest number of a type, which are infinities for floats.
double lowest(mlir::Type element);
double highest(mlir::Type element);
/// Return the larger and the smaller number. A NaN is larger and smaller than every number.
double larger(double a, double b);
double smaller(double a, double b);

/// A tensor, viewed as [outer, axis, inner] around one dimension.
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
  AxisView(llvm::ArrayRef<int64_t> shape, int64_t axis) {
    for (int64_t i = 0, e = shape.size(); i < e; ++i)
      (i < axis ? outer : i == axis ? extent : inner) *= shape[i];
  }
  int64_t at(int64_t o, int64_t k, int64_t i) const { return (o * extent + k) * inner + i; }
};

/// c[i,j] += sum over k of a[i,k]*b[k,j], row-major, in float64. The order of the sum depends only on the sizes.
void gemmAdd(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b, int64_t ldb, double *c,
             int64_t ldc);

/// Swaps the rows and columns of a row-major matrix.
std::vector<double> transposed(const double *x, int64_t rows, int64_t columns);

} // namespace mpc
#endif
