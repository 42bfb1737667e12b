//===- PrecisionPolicy.h - opt levels and user lists -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_PRECISION_PRECISIONPOLICY_H
#define MPC_PASSES_PRECISION_PRECISIONPOLICY_H
#include "dialects/Interfaces/Precision.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Regex.h"

namespace mpc::precision {

/// These are the options' strings as the user wrote them.
struct PolicyOptions {
  llvm::StringRef type, optLevel, keepBatchnormFp32, masterWeights;
  llvm::ArrayRef<std::string> allow, deny, infer;
};

/// A decision is the class of an op and whether a user's list decided it.
struct Decision {
  PrecisionClass precision;
  bool listed = false;
  bool unknown = false;
};

class PrecisionPolicy {
public:
  /// Errors are reported at the module.
  static mlir::FailureOr<PrecisionPolicy> create(mlir::ModuleOp module, const PolicyOptions &options);

  Decision classify(mlir::Operation *op);

  /// Warns of every pattern that matches no op. Users keep one list for several models, so this is no error.
  void warnOfUnmatched(mlir::ModuleOp module) const;

  /// The type is f16 or bf16, or null when nothing is to be done (O0, fp32).
  mlir::FloatType low;
  /// True at O2 and O3, which cast the model and not single ops.
  bool castsModel = false;
  /// True if the parameters of batch norms are not rounded.
  bool keepsBatchNorm = true;
  /// True if parameters are variables of the low type.
  bool storesLow = false;
  std::string level;

private:
  struct UserList {
    llvm::Regex regex;
    PrecisionClass precision;
    llvm::StringRef option, text; ///< "--deny" and the pattern

    bool matches(mlir::Operation *op, llvm::StringRef nodeName) const;
  };
  llvm::SmallVector<UserList> lists;
};

} // namespace mpc::precision
#endif
