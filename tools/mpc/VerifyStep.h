//===- VerifyStep.h - runs one step of a program on a reference's inputs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_VERIFYSTEP_H
#define MPC_TOOLS_MPC_VERIFYSTEP_H
#include "compiler/Import/Onnx/Importer.h"
#include "compiler/Pipeline/Pipeline.h"
#include "runtime/core/Session.h"
#include "tools/mpc/VerifyReference.h"

namespace mpc::tool {

/// The numbers of one step, whose update has a learning rate of 0, so that it leaves the parameters as they are.
struct StepNumbers {
  std::string device;                          ///< "host, 2 threads"
  double loss = 0;                             ///< unscaled
  std::map<std::string, rt::Tensor> gradients; ///< unscaled; by the parameter's name in the model
  std::map<std::string, rt::Tensor> buffers;   ///< after the step, as far as the reference has `buffer/NAME`
  std::map<std::string, rt::Tensor>
      evaluated;                    ///< outputs of `predict` before the step, as far as the reference has `eval/NAME`
  std::optional<double> secondLoss; ///< of a second step, where the reference has `loss/2`
  std::optional<double> scale;      ///< the loss scale, where there is a scaler
  int overflows = 0;                ///< steps before this one, which a dynamic scale skipped
  double multiplyAdds = 0;          ///< those of the forward pass, estimated; 0 where it is not known
};

/// Takes dropout out of a module that the import made; returns how many there were. `imported`, if given, is the report
/// of the import, whose values are kept right.
int replaceDropout(mlir::ModuleOp module, ImportReport *imported = nullptr);
/// Emits an error and fails where results of @forward depend on random numbers.
mlir::LogicalResult refuseRandomNumbers(mlir::ModuleOp module);
/// Returns, for each running mean of a batch norm that trains in @forward, its running variance, by their names in the
/// model.
std::map<std::string, std::string> runningVariances(mlir::ModuleOp module);
/// Runs the step. Throws rt::Error, also for inputs that the reference lacks or that do not fit the program.
StepNumbers runStep(CompiledProgram &&program, const Reference &reference, const rt::SessionOptions &options);

} // namespace mpc::tool
#endif
