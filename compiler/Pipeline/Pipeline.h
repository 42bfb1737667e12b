//===- Pipeline.h - the order of the passes -------------------------------------------===//
//
// This is the only place that orders passes. Above the line in docs/architecture.md the module knows no
// target.
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

/// The options of training. The strings are options of the passes that take them (passes/Training,
/// passes/Precision).
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
  /// none, static,init_scale=..., or dynamic,...; empty: the precision and the opt level decide.
  std::string scaler;
  /// Whether each step gets a trace form, which returns its gradients.
  bool keepGradients = true;
};

/// Apex caps the dynamic scale of its opt levels (here O2) at 2^24; torch's autocast (O1) has no cap.
inline constexpr const char *kApexCap = ",max_scale=16777216";
/// The scaler for the precision and the opt level when the user names none.
std::string defaultScaler(const TrainingOptions &options);

/// Finds the scratch bytes that the providers need for a library call; on failure returns false and sets
/// `error` to a sentence.
using LibraryScratchFn = std::function<bool(const mpc_library_desc &, int64_t &bytes, std::string &error)>;
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

struct HostOptions {
  KernelForm kernels = KernelForm::Shared;
  std::vector<HostCpu> cpus = {HostCpu::v3(), HostCpu::v4()};
  unsigned threads = 2;
  LibraryScratchFn libraryScratch;
};

/// The form of a GPU's compiled kernels: modules for a program, or one file for inspection.
enum class GpuKernelForm { Program, Ptx, Cubin };

struct GpuOptions {
  const GpuArch *arch = nullptr;
  GpuKernelForm kernels = GpuKernelForm::Program; ///< Cubin needs a ptxas that knows the architecture
  std::string ptxas;     ///< the path of ptxas; empty: only PTX is made
  bool emulator = false; ///< also compiles the kernels for the CPU (runtime/emulator)
  std::shared_ptr<const hero::Tuning> tuning = {}; ///< may be null; decides about the schedules of problems that it knows
  unsigned threads = 2;
};

/// The targets of one program; there is at least one.
struct TargetOptions {
  std::optional<HostOptions> host;
  std::vector<GpuOptions> gpus = {};
};

/// The numbers of one target's plan.
struct TargetSummary {
  std::string target;
  int64_t peakBytes = 0, stateBytes = 0, savedBytes = 0, temporaryBytes = 0, constantBytes = 0;
  int64_t launches = 0; ///< in all entries
  int64_t kernels = 0;  ///< the number of distinct kernels
  /// What the compiler and, where there is one, ptxas report about a GPU's kernel.
  struct KernelReport {
    NvptxKernel kernel;
    std::string dispatch; ///< the first dispatch that it computes
    int64_t launches = 0; ///< in all entries
    std::string schedule = {}; ///< that of a hero
  };
  std::vector<KernelReport> kernelReports = {}; ///< in the order of their first launches
  /// A GPU's matrix products or convolutions that have one problem key.
  struct HeroReport {
    hero::PlannedHero plan;
    std::string dispatch; ///< the first of them
    int64_t dispatches = 0; ///< in all entries
    double seconds = 0;   ///< the expected time
  };
  std::vector<HeroReport> heroReports = {};
};

/// A program without its runner: the sections that runtime/abi/README.md describes, including the manifest.
struct CompiledProgram {
  std::map<std::string, std::string> sections;
  std::map<std::string, std::string> kernelFiles; ///< by CPU or GPU, where another form than a program's was requested
  std::vector<TargetSummary> targets;             ///< the host comes first
};

/// Registers the dialects, interfaces and external models of everything below.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Turns @forward of the importer into train.steps, @eval and @predict: loss, casts, backward pass, scaler,
/// optimizer, copies.
mlir::LogicalResult buildTraining(mlir::ModuleOp module, const TrainingOptions &options, const Watch &watch = {});

/// Makes @forward the only entry, of kind predict.
mlir::LogicalResult buildInference(mlir::ModuleOp module, const Watch &watch = {});

// The passes of each pipeline, in their order. mpc-opt has them as mpc-training, mpc-host and mpc-gpu; `mpc
// compile` runs the same passes.
void buildTrainingPipeline(mlir::OpPassManager &manager, const TrainingOptions &options, StageMark mark);
/// These lead from a target-free module to dispatches, with a place in the arena for every tensor.
void buildHostPlanPipeline(mlir::OpPassManager &manager, const HostOptions &options, StageMark mark);
void buildGpuPlanPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// These also emit the kernels.
void buildHostPipeline(mlir::OpPassManager &manager, const HostOptions &options, StageMark mark);
void buildGpuPipeline(mlir::OpPassManager &manager, const GpuOptions &options, StageMark mark);
/// Registers all passes and these pipelines with MLIR, which then finds them by name. mpc-host uses
/// `libraryScratch`.
void registerAllPasses(LibraryScratchFn libraryScratch);

/// Brings the entries of a target-free module into the form that host code is made from: dispatches, and a
/// place in the arena for every tensor.
mlir::LogicalResult planForHost(mlir::ModuleOp module, const HostOptions &options, const Watch &watch = {});

/// Does the same for a GPU.
mlir::LogicalResult planForGpu(mlir::ModuleOp module, const GpuOptions &options, const Watch &watch = {});

/// Lowers the entries of a target-free module, which does not change, to every target and packages them. The
/// stages of targets after the first are observed as "sm_80.layout" and so on.
mlir::FailureOr<CompiledProgram> compileProgram(mlir::ModuleOp module, const TargetOptions &targets, llvm::StringRef modelName,
                                                const TrainingOptions *training, const Watch &watch = {});

/// Returns the sections of a tuner, a program that measures the schedules of the module's products and
/// convolutions on these GPUs; there must be at least one.
mlir::FailureOr<CompiledProgram> compileTuner(mlir::ModuleOp module, llvm::ArrayRef<GpuOptions> gpus, llvm::StringRef modelName);

} // namespace mpc
#endif
