//===- Kernels.h - Vector code of the generic library -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inner loops of the generic library provider, compiled once per instruction set
// (`Kernels.inc`) and chosen once per process (`Kernels.cpp`). Everything above this
// interface is plain C++ built for the baseline processor.
//
// T is the accumulator's type: float for f16, bf16 and f32 storage, double for f64.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_HOST_GENERIC_KERNELS_H
#define MPC_RUNTIME_HOST_GENERIC_KERNELS_H

#include "mpc/kernel.h"

namespace mpc::generic {

/// The start of a run of consecutive reduction indices, in elements from `a` and `b`.
struct Run {
  int64_t a, b;
};

/// Computes, for m and n of at least 1, c[m,n] (+)= sum over runs r and indices i < length of A[m, r, i] * B[r, i, n].
///
/// A is read at a[runs[r].a + row * lda + i] (row-major) or a[runs[r].a + i * lda + row] (column-major).
/// B comes in panels of `panelColumns` columns: b[p * panelStride + runs[r].b + i * ldb + column]; the
/// columns of a panel up to the next multiple of the vector length must be readable.
template <class T>
struct Product {
  int64_t m, n;
  const T *a;
  int64_t lda;
  bool columnMajorA;
  const T *b;
  int64_t ldb, panelStride;
  const Run *runs;
  int64_t runCount, length;
  T *c; // [m, ldc]; it also writes columns up to the next multiple of the vector length
  int64_t ldc;
  bool accumulate;
};

/// Computes acc[p * ld + c] = sum over taps t of source[taps[t].a + p * step + c] * weights[taps[t].b + c] for
/// p < positions and c < channels, a multiple of the vector length.
template <class T>
struct DepthwiseRow {
  int64_t positions, channels;
  const T *source;
  int64_t step;
  const T *weights;
  const Run *taps;
  int64_t count; // the number of taps
  T *acc;
  int64_t ld;
};

/// Computes sums[taps[t].b + c] += sum over p < positions of source[taps[t].a + p * step + c] * dy[p * ld + c] for each
/// tap t and c < channels, a multiple of the vector length.
template <class T>
struct DepthwiseSums {
  int64_t positions, channels;
  const T *source;
  int64_t step;
  const T *dy;
  int64_t ld;
  const Run *taps;
  int64_t count; // the number of taps
  T *sums;
};

/// A run of `length` consecutive elements to widen, or of zeros if `source` is null.
struct Segment {
  const void *source;
  int64_t length;
};

/// Computes out[row, column] = round(activation(acc + bias[column] + addend[row, column])).
template <class T>
struct Store {
  const T *acc; // [rows, ldacc]
  int64_t ldacc, rows, columns;
  void *out;
  int64_t outStride; // elements between rows of out and addend
  int32_t type;      // mpc_dtype of out and addend
  const T *bias;     // [columns] or null
  const void *addend;
  bool relu;
};

/// Copies dst[row * ld + column] = src[row * stride + column] for column < columns, and writes zeros from
/// there to `padded`.
template <class T>
struct Rows {
  T *dst;
  int64_t ld;
  const void *src;
  int32_t type;
  int64_t stride, rows, columns, padded;
};

/// Copies dst[(row * positions + p) * ld + i] = src[row * rowWidth + p * step + i] for i < 8.
template <class T>
struct Windows {
  T *dst;
  int64_t ld;
  const T *src;
  int64_t rowWidth, rows, positions, step;
};

/// Copies dst[rowOffset[q] + column] = src[column * stride + q] for q < length and column < padded, a multiple of
/// the vector length; columns from `columns` on become zero, and rows with a negative offset are left out.
template <class T>
struct Transposition {
  T *dst;
  const int64_t *rowOffset; // null means q * rowStride
  int64_t rowStride;
  const void *src;
  int32_t type;
  int64_t stride, columns, padded, length;
  int64_t readable; // number of elements from src on that may be read
};

template <class T>
struct Kernels {
  const char *name;
  int panelColumns; // number of columns of a packed panel: two vectors
  int tileRows;     // number of rows of a full register tile

  void (*multiply)(const Product<T> &);
  /// These two are null in f64, which only serves checks.
  void (*depthwise)(const DepthwiseRow<T> &);
  void (*depthwiseSums)(const DepthwiseSums<T> &);
  /// Writes the segments one after the other to dst.
  void (*gather)(T *dst, int32_t type, const Segment *segments, int64_t count);
  void (*packTransposed)(const Transposition<T> &);
  void (*packRows)(const Rows<T> &);
  void (*packWindows)(const Windows<T> &);
  /// Writes dst[i * stride] = round(src[i]).
  void (*narrowStrided)(void *dst, int32_t type, int64_t stride, const T *src, int64_t count);
  void (*store)(const Store<T> &);
  /// Does the same with acc transposed: acc[column * ldacc + row]; it reads rows up to the next multiple of
  /// the vector length.
  void (*storeTransposed)(const Store<T> &);
};

/// Returns the best table that this processor can run. T: float, double.
template <class T>
const Kernels<T> &kernels();

/// For tests and measurements: makes primitives created from now on use the kernels "baseline", "v3" or "v4". Returns
/// false, and changes nothing, when this processor cannot run them. Primitives created before must be gone.
bool useKernels(const char *name);

/// Returns the bytes of one stored element of an mpc_dtype that the library supports.
inline int64_t elementBytes(int32_t type) { return type == MPC_F64 ? 8 : type == MPC_F32 ? 4 : 2; }

} // namespace mpc::generic

#endif
