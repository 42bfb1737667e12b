//===- StepReport.h - what each launch of a training step moves, multiplies and takes ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_REPORT_STEPREPORT_H
#define MPC_REPORT_STEPREPORT_H
#include "compiler/Codegen/NvptxCodegen.h"
#include "dialects/Kernel/Analysis/LaunchCosts.h"
#include "dialects/Kernel/Target/GpuPart.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// One launch of a step.
struct StepLaunch {
  std::string entry;    ///< "step" or the name of one of several
  std::string dispatch; ///< "/conv1/Conv:conv+add"
  std::string node;     ///< the first ONNX node
  std::string kernel;   ///< its symbol; empty for a library's call
  kernel::LaunchCost cost;
  int64_t blocks = 0;   ///< of the grid
  int64_t elements = 0; ///< of the largest tensor of the dispatch
  int64_t times = 1;    ///< a launch in a loop runs so many times
  /// For each of partsOf(arch), what the product takes by the estimate of its schedule, besides the bytes that it moves
  /// (Schedule/Model.h, productClocks), in seconds; empty for loops, for kernels that add up partial sums, and on the
  /// host.
  std::vector<double> productSeconds;
};

/// The launches of one run of each step of a program, or of each other entry where it trains nothing.
struct StepReport {
  const GpuArch *arch = nullptr; ///< null for the host
  bool trains = false;
  std::vector<std::string> entries; ///< whose launches these are
  std::vector<StepLaunch> launches;
  /// The bytes that would move if products alone touched memory, and whoever reads or assigns a variable: each product
  /// reads what it needs of its operands and writes its result; each entry reads its variables once, as far as one of
  /// its launches does, unless products read them already, and writes those that it assigns once. `bytes` is never
  /// less.
  int64_t idealBytes = 0;

  /// Returns the launches, the bytes that they move and their products' operations, each as often as it runs.
  int64_t count() const;
  int64_t bytes() const;
  double flops() const;
};

/// Reports on a module whose kernels are emitted. Fails with a located error where a product is none that the target's
/// schedules know.
mlir::FailureOr<StepReport> reportStep(mlir::ModuleOp module);

/// Returns what one run of a launch takes on the `part`-th of partsOf(arch), in seconds: starting it, and then the
/// longest one of moving its bytes (at the share of the bandwidth that AchievedShares says, or at that of as many
/// multiprocessors as it has blocks), of its product and of issuing the instructions of its kernel, which may be null.
double expectedSeconds(const StepLaunch &launch, const NvptxKernel *kernel, const GpuArch &arch, size_t part);

/// Returns the PTX instructions that the threads of a launch execute for an element of its largest tensor; nullopt for
/// a kernel with loops, whose iterations PTX does not tell, and for a batch.
std::optional<double> instructionsOf(const StepLaunch &launch, const NvptxKernel &kernel);

/// Returns how many times all multiprocessors are full of a kernel's blocks while one launch runs; nullopt where ptxas
/// has not told its registers.
std::optional<double> wavesOf(const StepLaunch &launch, const NvptxKernel &kernel, const GpuArch &arch);

} // namespace mpc
#endif
