//===- DropoutForms.h - dropout that is written with random numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters write F.dropout(training=True) as Dropout. But what a module computes itself, above all stochastic
// depth, they write as
//
//   u = RandomUniformLike(...)           or Bernoulli(keep)
//   mask = Cast(Less(u, keep))           or Floor(u + keep), Where(u < keep, 1, 0), their negations
//   y = x * (mask / keep)                or x / keep * mask, x * mask / keep, Where(u < keep, x / keep, 0)
//
// A factor whose mean is one is dropout, and evaluation leaves it out. Masks with another mean (noise, masked
// inputs) are not dropout: they stay random.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_DROPOUTFORMS_H
#define MPC_IMPORT_ONNX_DROPOUTFORMS_H
#include "compiler/Import/Onnx/OnnxProto.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace mpc::onnx_import {

/// y is x divided by `keep` where the mask keeps the element, and 0 elsewhere.
struct DropoutForm {
  const onnx::NodeProto *last; ///< makes y, its only output
  std::string x;
  std::string mask;  ///< a value with an element for each number drawn, which broadcasts to x
  std::string draws; ///< the random node's output; forms that share it share the mask
  double keep;       ///< the probability that an element is kept, in (0, 1]
};

/// Finds the forms among the nodes of one graph or of one function's body.
std::vector<DropoutForm> findDropouts(llvm::ArrayRef<const onnx::NodeProto *> nodes,
                                      llvm::ArrayRef<const onnx::TensorProto *> initializers);

} // namespace mpc::onnx_import
#endif
