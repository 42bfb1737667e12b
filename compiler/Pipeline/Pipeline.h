//===- Pipeline.h - the order of the passes -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the only place that orders passes. Above the line in docs/architecture.md the module knows no target.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PIPELINE_PIPELINE_H
#define MPC_PIPELINE_PIPELINE_H
#include "compiler/Codegen/HostCodegen.h"
#include "compiler/Codegen/NvptxCodegen.h"
#include "compiler/Package/Manifest.h"
#include "compiler/Pipeline/LibraryScratch.h"
#include "compiler/Report/StepReport.h"
#include "dialects/Train/IR/Recomputed.h"
#include "passes/Lowering/Schedule/Tuning.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// The options of training, as the passes take them (passes/Training, passes/Precision). TrainingFlags.h has what
/// a user can write.
struct TrainingOptions {
  std::string loss, parameters = ".*", optimizer = "sgd,lr=0.01";
  std::vector<std::string> steps, groups, outputs, metrics, carries;
  double clipNorm = 0, clipValue = 0;
  bool gradNorm = false; ///< whether steps return the norm of their gradients; clipNorm implies it
  double ema = 0;        ///< decay of the moving averages of the parameters; 0: there are none
  int64_t accumulate = 1;

  std::string precision = "fp32"; ///< fp32, fp16, bf16
  std::string optLevel = "O1";    ///< O0 to O3; fp32 is O0
  std::optional<bool> keepBatchnormFp32, masterWeights;
  bool castCache = true;
  std::vector<std::string> allow, deny, infer;
  /// none, static,init_scale=..., or dynamic,...; empty: the precision and the opt level decide.
  std::string scaler;
  /// Whether each step gets a trace form, which returns its gradients.
  bool keepGradients = true;
};

/// The scaler for the precision and the opt level when the user names none.
std::string defaultScaler(const TrainingOptions &options);

/// Is called with the module after a stage.
using StageObserver = std::function<void(llvm::StringRef stage, mlir::ModuleOp)>;
/// The observers of a compilation.
struct Watch {
  StageObserver stage = {};
  mlir::TimingScope *timing = nullptr; ///< gets the times of passes and of code generation
};
/// Called where a stage of a pipeline ends.
using StageMark = llvm::function_ref<void(mlir::OpPassManager &, llvm::StringRef stage)>;

/// The form of the compiled kernels: shared objects for a program; or, for inspection, relocatable objects or
/// LLVM IR as text.
enum class KernelForm { Shared, Relocatable, LlvmIR };

/// Which values of a forward pass are computed again for the backward pass (mpc-recompute).
struct RecomputeOptions {
  enum class Mode { None, Auto, Within };
  Mode mode = Mode::None;
  /// With Within, a plan may need so much at its peak; products are computed again only as far as that takes.
  int64_t bytes = 0;
};

struct HostOptions {
  KernelForm kernels = KernelForm::Shared;
  std::vector<HostCpu> cpus = HostCpu::levels();
  unsigned threads = 2;                          ///< of the compiler
  LibraryScratchPassOptions scratch = {};        ///< without threads no library call gets scratch
  mpc_library_entry_fn builtInLibrary = nullptr; ///< is asked for scratch too
  std::optional<int64_t> recompute = {};         ///< `products` of mpc-recompute; nullopt: the pass does not run
};

/// The form of a GPU's compiled kernels: modules for a program, or one file for inspection.
enum class GpuKernelForm { Program, Ptx, Cubin };

struct GpuOptions {
  const GpuArch *arch = nullptr;
  GpuKernelForm kernels = GpuKernelForm::Program; ///< Cubin needs a ptxas that knows the architecture
  std::string ptxas;                              ///< the path of ptxas; empty: only PTX is made
  bool emulator = false;                          ///< also compiles the kernels for the CPU (runtime/emulator)
  std::string tune = {}; ///< a tuning file, which decides about the schedules of problems that it knows; empty: none
  unsigned threads = 2;  ///< of the compiler
  std::optional<int64_t> recompute = {}; ///< as of HostOptions
};

/// The targets of one program; there is at least one.
struct TargetOptions {
  std::optional<HostOptions> host;
  std::vector<GpuOptions> gpus = {};
  RecomputeOptions recompute = {}; ///< decides `recompute` of each of them
};

/// The numbers of one target's plan.
struct TargetSummary {
  std::string target;
  int64_t peakBytes = 0, stateBytes = 0, savedBytes = 0, temporaryBytes = 0, constantBytes = 0;
  int64_t launches = 0; ///< in all entries
  int64_t kernels = 0;  ///< the number of distinct kernels
  /// This tells what is computed again to save memory.
  struct Recompute {
    std::optional<train::Recomputed> what; ///< nullopt: nothing is, for the plan fits or would not shrink
    int64_t peakBytesWithout = 0;
    double movedBytes = 1; ///< of the launches of steps, as a multiple of those without
  };
  std::optional<Recompute> recompute = {};
  /// What the compiler and, where there is one, ptxas report about a GPU's kernel.
  struct KernelReport {
    NvptxKernel kernel;
    std::string dispatch;      ///< the first dispatch that it computes
    int64_t launches = 0;      ///< in all entries
    std::string schedule = {}; ///< that of a hero
  };
  std::vector<KernelReport> kernelReports = {}; ///< in the order of their first launches
  /// A GPU's matrix products or convolutions that have one problem key.
  struct HeroReport {
    hero::PlannedHero plan;
    std::string dispatch;   ///< the first of them
    int64_t dispatches = 0; ///< in all entries
    double seconds = 0;     ///< the expected time
  };
  std::vector<HeroReport> heroReports = {};
  StepReport step = {};
};

/// A program without its runner: the sections that runtime/abi/README.md describes, including the manifest.
struct CompiledProgram {
  std::map<std::string, std::string> sections;
  std::map<std::string, std::string> kernelFiles; ///< by CPU or GPU, where another form than a program's was requested
  std::vector<TargetSummary> targets;             ///< the host comes first
};

/// What the tools lend of the runtime, which this folder does not include.
struct RuntimeHooks {
  mpc_library_entry_fn builtInLibrary = nullptr;
  /// Writes the numbers of `weight=FILE.npy` into the text of a loss or step. Returns false after a message.
  bool (*expandLossWeights)(std::string &text) = nullptr;
};

/// Registers the dialects, interfaces and external models of everything below.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Turns @forward of the importer into train.steps, @eval and @predict: loss, casts, backward pass, scaler,
/// optimizer, copies.
mlir::LogicalResult buildTraining(mlir::ModuleOp module, const TrainingOptions &options, const Watch &watch = {});

/// Makes @forward the only entry, of kind predict.
mlir::LogicalResult buildInference(mlir::ModuleOp module, const Watch &watch = {});

// The passes of each pipeline, in their order. mpc-opt has them as mpc-training, mpc-inference, mpc-host, mpc-gpu and
// mpc-tuner; `mpc compile` runs the same passes.
void buildTrainingPipeline(mlir::OpPassManager &manager, const TrainingOptions &options, StageMark mark);
void buildInferencePipeline(mlir::OpPassManager &manager, StageMark mark);
/// These lead from a target-free module to dispatches, with a place in the arena for every tensor.
void buildHostPlanPipeline(mlir::OpPassManager &manager, const HostOptions &options, StageMark mark);
void buildGpuPlanPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// These also emit the kernels.
void buildHostPipeline(mlir::OpPassManager &manager, const HostOptions &options, StageMark mark);
void buildGpuPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// The candidates of a tuner instead of the model's entries, with their kernels.
void buildTunerPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// Registers all passes and these pipelines with MLIR, which then finds them by name.
void registerAllPasses(const RuntimeHooks &hooks);

/// Brings the entries of a target-free module into the form that host code is made from: dispatches, and a
/// place in the arena for every tensor.
mlir::LogicalResult planForHost(mlir::ModuleOp module, const HostOptions &options, const Watch &watch = {});

/// Does the same for a GPU.
mlir::LogicalResult planForGpu(mlir::ModuleOp module, const GpuOptions &options, const Watch &watch = {});

/// Lowers the entries of a target-free module, which does not change, to every target and packages them. The
/// stages of targets after the first are observed as "sm_80.layout" and so on.
mlir::FailureOr<CompiledProgram> compileProgram(mlir::ModuleOp module, const TargetOptions &targets,
                                                llvm::StringRef modelName, const TrainingOptions *training,
                                                const Watch &watch = {});

/// Returns the sections of a tuner, a program that measures the schedules of the module's products and
/// convolutions on these GPUs; there must be at least one. Stages are observed as above.
mlir::FailureOr<CompiledProgram> compileTuner(mlir::ModuleOp module, llvm::ArrayRef<GpuOptions> gpus,
                                              llvm::StringRef modelName, const Watch &watch = {});

} // namespace mpc
#endif
