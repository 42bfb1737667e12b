//===- DropoutForms.h - dropout that is written with random numbers ----------------===//
//
// Exporters write F.dropout(training=True) as Dropout, but what a module writes itself, stochastic depth above all, as
//
//   u = RandomUniformLike(...)           or Bernoulli(keep)
//   mask = Cast(Less(u, keep))           or Floor(u + keep), Where(u < keep, 1, 0), their negations
//   y = x * (mask / keep)                or x / keep * mask, x * mask / keep, Where(u < keep, x / keep, 0)
//
// A factor whose mean is one is dropout: evaluation leaves it out. Masks with another mean (noise, masked inputs) are not: they stay random.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_IMPORT_ONNX_DROPOUTFORMS_H
#define MPC_IMPORT_ONNX_DROPOUTFORMS_H
#include "compiler/Import/Onnx/OnnxProto.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace mpc::onnx_import {

/// y = x where an element of the mask is kept, divided by `keep`, and 0 elsewhere.
struct DropoutForm {
  const onnx::NodeProto *last; ///< makes y, its only output
  std::string x;
  std::string mask;  ///< a value with an element for each number drawn, which broadcasts to x
  std::string draws; ///< what the random node makes; forms that share it share the mask
  double keep;       ///< the probability, in (0, 1]
};

/// The forms among the nodes of one graph or of one function's body.
std::vector<DropoutForm> findDropouts(llvm::ArrayRef<const onnx::NodeProto *> nodes,
                                      llvm::ArrayRef<const onnx::TensorProto *> initializers);

} // namespace mpc::onnx_import
#endif
