//===- VerifyReport.h - compares a step with PyTorch's, number by number ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_VERIFYREPORT_H
#define MPC_TOOLS_MPC_VERIFYREPORT_H
#include "compiler/Import/Onnx/Importer.h"
#include "tools/mpc/VerifyStep.h"
#include <nlohmann/json.hpp>

namespace mpc::tool {

/// How far the numbers of one compute precision may be from those of float64. The bounds of float32 are those of
/// test/torch/reference.py. A unit is the unit roundoff of the type, the largest relative error of one rounding.
struct Tolerance {
  const char *precision;  ///< as --precision says it
  const char *numpy;      ///< the type's name in the reference's `error/TYPE/NAME`; null for float32
  double loss;            ///< relative
  double gradient;        ///< relative to the norm of the parameter's gradient
  double unknownGradient; ///< the same where the reference does not say how far PyTorch's own type is from float64
  // These two are relative to the norm of all gradients: an error that is smaller counts as none,
  double zero;     ///< in any gradient,
  double onlyZero; ///< in a gradient that is zero in float64 but for its rounding.
};
/// A difference may be so many times as large as PyTorch's own in the same type.
inline constexpr double kOfTorch = 3;
const Tolerance &toleranceOf(llvm::StringRef precision);
/// Returns the rules as text for --help.
std::string describeTolerances();

/// One number or tensor that both sides have, or that one of them lacks.
struct VerifyRow {
  enum class Kind { Loss, Gradient, Buffer, SecondLoss, Evaluation } kind;
  std::string name;
  std::optional<double> error, bound; ///< relative; absent where one side lacks it
  bool ok = false;
  bool saysLittle = false; ///< whether the bound is so large that it hardly tells right from wrong
  std::string note;        ///< follows the verdict
  /// Why it differs, if that is more than numbers.
  enum class Cause { Numbers, NotTrained, OnlyTrainedHere, Absent, Shape } cause = Cause::Numbers;
};

/// Compares every number of the reference. The rows are: the loss; the gradients in the order of the file, and
/// those that the reference lacks; buffers; the second loss; the outputs of eval mode. `variances`: see
/// runningVariances.
std::vector<VerifyRow> compareStep(const StepNumbers &numbers, const Reference &reference, const ImportReport &imported,
                                   const std::map<std::string, std::string> &variances, const Tolerance &tolerance);

/// Prints the rows as a table.
void printRows(llvm::ArrayRef<VerifyRow> rows);
nlohmann::json rowsAsJson(llvm::ArrayRef<VerifyRow> rows);

} // namespace mpc::tool
#endif
