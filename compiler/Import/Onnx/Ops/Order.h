//===- Order.h - the largest elements, in order --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_IMPORT_ONNX_OPS_ORDER_H
#define MPC_IMPORT_ONNX_OPS_ORDER_H
#include "compiler/Import/Onnx/Node.h"

namespace mpc::onnx_import {

/// Returns the indices, i64 [outer, k, inner], of the k largest (or smallest) elements of rows [outer, length, inner],
/// in their order. Equal elements are in the order of their indices, NaN is larger than all numbers.
mlir::Value firstIndices(Node &, mlir::Value rows, int64_t k, bool largest);

} // namespace mpc::onnx_import
#endif
