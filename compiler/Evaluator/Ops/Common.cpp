// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Evaluator.h"
#include "compiler/Evaluator/Ops/Models.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "runtime/abi/mpc/cpu.h"

using namespace mlir;
using namespace mpc;

const std::vector<double> &mpc::broadcastValues(const HostTensor &x, ArrayRef<int64_t> shape,
                                                std::vector<double> &storage) {
  if (ArrayRef<int64_t>(x.shape) == shape)
    return x.values;
  int64_t total = 1;
  for (int64_t extent : shape)
    total *= extent;
  storage.resize(total);
  SmallVector<int64_t> own = stridesOf(x.shape), strides(shape.size(), 0);
  size_t offset = shape.size() - x.shape.size();
  for (size_t i = 0; i < x.shape.size(); ++i)
    strides[offset + i] = x.shape[i] == 1 ? 0 : own[i];
  walkStrided(shape, strides, 0, [&](int64_t i, int64_t at) { storage[i] = x.values[at]; });
  return storage;
}

std::vector<double> mpc::transposed(const double *x, int64_t rows, int64_t columns) {
  std::vector<double> y(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      y[j * rows + i] = x[i * columns + j];
  return y;
}

/// Computes rows i..i+R-1 of columns j..j+W-1, with R*W accumulators that the compiler keeps in registers.
template <int R, int W>
[[gnu::always_inline]] static inline void tile(int64_t k, const double *a, int64_t lda, const double *b, int64_t ldb,
                                               double *c, int64_t ldc) {
  double acc[R][W] = {};
  for (int64_t p = 0; p < k; ++p)
    for (int r = 0; r < R; ++r)
      for (int w = 0; w < W; ++w)
        acc[r][w] += a[r * lda + p] * b[p * ldb + w];
  for (int r = 0; r < R; ++r)
    for (int w = 0; w < W; ++w)
      c[r * ldc + w] += acc[r][w];
}

template <int R>
[[gnu::always_inline]] static inline void rows(int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                                               int64_t ldb, double *c, int64_t ldc) {
  int64_t j = 0;
  for (; j + 16 <= n; j += 16)
    tile<R, 16>(k, a, lda, b + j, ldb, c + j, ldc);
  for (; j < n; ++j)
    tile<R, 1>(k, a, lda, b + j, ldb, c + j, ldc);
}

MPC_CPU_CLONES void mpc::gemmAdd(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                                 int64_t ldb, double *c, int64_t ldc) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4)
    rows<4>(n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  for (; i < m; ++i)
    rows<1>(n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
}

namespace {
struct DispatchModel : EvalModel<DispatchModel, kernel::DispatchOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    SmallVector<HostTensor> results;
    if (failed(Evaluator::evaluateBlock(cast<kernel::DispatchOp>(op).getBody().front(), e.operands, results, e.mode)))
      return failure();
    std::move(results.begin(), results.end(), e.results.begin());
    return success();
  }
};
} // namespace

void mpc::registerEvaluatorModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    attachMathModels(*context);
    attachRandomModels(*context);
    attachBinaryModels(*context);
    attachReduceModels(*context);
    attachTensorModels(*context);
    attachScanModels(*context);
    attachAttentionModels(*context);
    attachGatherModels(*context);
    attachMatmulModels(*context);
    attachPoolingModels(*context);
    attachNormalizationModels(*context);
    attachLossModels(*context);
  });
  registry.addExtension(+[](MLIRContext *context, kernel::KernelDialect *) {
    kernel::DispatchOp::attachInterface<DispatchModel>(*context);
  });
}
