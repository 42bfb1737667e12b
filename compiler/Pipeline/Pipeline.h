//===- Pipeline.h - the order of the passes -------------------------------------------===//
//
// The only place that orders passes. Above the line of docs/architecture.md the module knows no target.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PIPELINE_PIPELINE_H
#define MPC_PIPELINE_PIPELINE_H
#include "compiler/Codegen/HostCodegen.h"
#include "compiler/Codegen/NvptxCodegen.h"
#include "compiler/Package/Manifest.h"
#include "passes/Lowering/HeroToGpu/Tuning.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mpc/library.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// What training is: the strings are the options of the passes that take them (passes/Training, passes/Precision).
struct TrainingOptions {
  std::string loss, parameters = ".*", optimizer = "sgd,lr=0.01";
  std::vector<std::string> steps, groups, outputs, metrics;
  double clipNorm = 0, clipValue = 0;
  int64_t accumulate = 1;

  std::string precision = "fp32"; ///< fp32, fp16, bf16
  std::string optLevel = "O1";    ///< O0 to O3; fp32 is O0
  std::optional<bool> keepBatchnormFp32, masterWeights;
  bool castCache = true;
  std::vector<std::string> allow, deny, infer;
  /// none, static,init_scale=..., dynamic,...; empty: what precision and opt level say.
  std::string scaler;
  /// Adds the trace form of each step, which returns its gradients.
  bool keepGradients = true;
};

/// Apex caps the dynamic scale of its opt levels (here O2) at 2^24; torch's autocast (O1) has no cap.
inline constexpr const char *kApexCap = ",max_scale=16777216";
/// The scaler that the precision and opt level ask for when the user names none.
std::string defaultScaler(const TrainingOptions &options);

/// Scratch bytes that the providers need for a library call, or failure with a sentence.
using LibraryScratchFn = std::function<bool(const mpc_library_desc &, int64_t &bytes, std::string &error)>;
/// Sees the module after a stage.
using StageObserver = std::function<void(llvm::StringRef stage, mlir::ModuleOp)>;
/// Watches a compilation.
struct Watch {
  StageObserver stage = {};
  mlir::TimingScope *timing = nullptr; ///< gets the times of passes and of code generation
};
/// Called where a stage of a pipeline ends.
using StageMark = llvm::function_ref<void(mlir::OpPassManager &, llvm::StringRef stage)>;

/// What is made of the kernels: shared objects for a program, or, to look at them, relocatable objects or LLVM IR as text.
enum class KernelForm { Shared, Relocatable, LlvmIR };

struct HostOptions {
  KernelForm kernels = KernelForm::Shared;
  std::vector<HostCpu> cpus = {HostCpu::v3(), HostCpu::v4()};
  unsigned threads = 2;
  LibraryScratchFn libraryScratch;
};

/// What is made of a GPU's kernels: modules for a program, or one file to look at.
enum class GpuKernelForm { Program, Ptx, Cubin };

struct GpuOptions {
  const GpuArch *arch = nullptr;
  GpuKernelForm kernels = GpuKernelForm::Program; ///< Cubin needs a ptxas that knows the architecture
  std::string ptxas;     ///< path; empty: PTX only
  bool emulator = false; ///< adds the kernels for the CPU (runtime/emulator)
  std::shared_ptr<const hero::Tuning> tuning = {}; ///< may be null; decides about schedules where it knows the problem
  unsigned threads = 2;
};

/// The targets of one program; at least one.
struct TargetOptions {
  std::optional<HostOptions> host;
  std::vector<GpuOptions> gpus = {};
};

/// One target's plan in figures.
struct TargetSummary {
  std::string target;
  int64_t peakBytes = 0, stateBytes = 0, savedBytes = 0, temporaryBytes = 0, constantBytes = 0;
  int64_t launches = 0; ///< of all entries
  int64_t kernels = 0;  ///< distinct ones
  /// A kernel of a GPU: what the compiler and, where it was found, ptxas say of it.
  struct KernelReport {
    NvptxKernel kernel;
    std::string dispatch; ///< the first that it computes
    int64_t launches = 0; ///< in all entries
    std::string schedule = {}; ///< of a hero
  };
  std::vector<KernelReport> kernelReports = {}; ///< in the order of first launches
  /// A GPU's matrix product or convolution: problems of one key share one.
  struct HeroReport {
    hero::PlannedHero plan;
    std::string dispatch; ///< the first
    int64_t dispatches = 0; ///< in all entries
    double seconds = 0;   ///< expected
  };
  std::vector<HeroReport> heroReports = {};
};

/// A program without its runner: the sections of runtime/abi/README.md, manifest included.
struct CompiledProgram {
  std::map<std::string, std::string> sections;
  std::map<std::string, std::string> kernelFiles; ///< by CPU or GPU, where another form was asked for than a program's
  std::vector<TargetSummary> targets;             ///< the host first
};

/// Dialects, interfaces and external models of everything below.
void registerAllDialects(mlir::DialectRegistry &registry);

/// @forward of the importer becomes train.steps, @eval and @predict: loss, casts, backward pass, scaler, optimizer, copies.
mlir::LogicalResult buildTraining(mlir::ModuleOp module, const TrainingOptions &options, const Watch &watch = {});

/// @forward becomes the only entry, of kind predict.
mlir::LogicalResult buildInference(mlir::ModuleOp module, const Watch &watch = {});

// The passes of each pipeline, in their order. mpc-opt has them as mpc-training, mpc-host and mpc-gpu; `mpc compile` runs the same.
void buildTrainingPipeline(mlir::OpPassManager &manager, const TrainingOptions &options, StageMark mark);
/// From a target-free module to dispatches with a place in the arena for every tensor.
void buildHostPlanPipeline(mlir::OpPassManager &manager, const HostOptions &options, StageMark mark);
void buildGpuPlanPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// The same, then the kernels.
void buildHostPipeline(mlir::OpPassManager &manager, const HostOptions &options, StageMark mark);
void buildGpuPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// Registers all passes and these pipelines with MLIR, which then finds them by name. `libraryScratch`: what mpc-host asks.
void registerAllPasses(LibraryScratchFn libraryScratch);

/// Brings the entries of a target-free module into the form that host code is made of: dispatches, and a place in the arena for every tensor.
mlir::LogicalResult planForHost(mlir::ModuleOp module, const HostOptions &options, const Watch &watch = {});

/// The same for a GPU.
mlir::LogicalResult planForGpu(mlir::ModuleOp module, const GpuOptions &options, const Watch &watch = {});

/// Lowers the entries of a target-free module, which stays as it is, to every target and packages them. The stages of targets behind the first are
/// observed as "sm_80.layout" and so on.
mlir::FailureOr<CompiledProgram> compileProgram(mlir::ModuleOp module, const TargetOptions &targets, llvm::StringRef modelName,
                                                const TrainingOptions *training, const Watch &watch = {});

/// The sections of a tuner: a program that measures the schedules of the module's products and convolutions on these GPUs, at least one.
mlir::FailureOr<CompiledProgram> compileTuner(mlir::ModuleOp module, llvm::ArrayRef<GpuOptions> gpus, llvm::StringRef modelName);

} // namespace mpc
#endif
