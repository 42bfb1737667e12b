//===- FirstDifference.h - where along the graph a network differs from PyTorch's --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_FIRSTDIFFERENCE_H
#define MPC_TOOLS_MPC_FIRSTDIFFERENCE_H
#include "compiler/Import/Onnx/Importer.h"
#include "tools/mpc/VerifyReference.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>

namespace mpc::tool {

/// What tells tensors apart: sum |x|, the root of the sum of x², and the sum of x_i cos(i), over row-major elements.
using Fingerprint = std::array<double, 3>;

/// The forward pass, value by value.
struct ForwardComparison {
  int compared = 0;    ///< values that both sides have
  std::string skipped; ///< why values were not compared; "" where they were
  struct Value {
    std::string name, node, op;  ///< `op` is ONNX's
    double norm = 0, norm64 = 0; ///< ours and PyTorch's
  };
  std::optional<Value> first; ///< the first value that differs
  /// Of the parameters that were asked about: the one that is read last, that is nearest to the loss, and its reader.
  struct Reader {
    std::string parameter, node, op;
  };
  std::optional<Reader> nearest;
};

/// The most multiply-adds of a forward pass that the reference evaluator is asked for; it takes minutes for so many.
inline constexpr double kMostMultiplyAdds = 1e10;

/// Imports the model again, evaluates its forward pass in float64 on the reference's inputs, and compares each value
/// with the reference's `value/NAME`. Of `parameters` it finds the one nearest to the loss.
ForwardComparison compareForward(const std::string &model, const ImportOptions &options, const Reference &reference,
                                 llvm::ArrayRef<std::string> parameters, double multiplyAdds);

} // namespace mpc::tool
#endif
