//===- RegisterPipelines.cpp - passes and pipelines by name -----------------------===//
#include "compiler/Package/TuningFile.h"
#include "compiler/Pipeline/LibraryScratch.h"
#include "compiler/Pipeline/Pipeline.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Decompose/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Layout/Passes.h"
#include "passes/Lowering/DeviceToEmulator/Passes.h"
#include "passes/Lowering/DeviceToNvvm/Passes.h"
#include "passes/Lowering/EmitKernels/Passes.h"
#include "passes/Lowering/HeroToGpu/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Optimizers/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Target/Passes.h"
#include "passes/Training/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

namespace {
/// The options of `mpc compile`, by the same names. An option that may be given more than once is a list
/// here.
struct TrainingPipelineOptions : PassPipelineOptions<TrainingPipelineOptions> {
  Option<std::string> loss{*this, "loss", llvm::cl::desc("the loss; as --loss of mpc compile")};
  ListOption<std::string> steps{*this, "step", llvm::cl::desc("steps with losses and parameters of their own")};
  Option<std::string> trainable{*this, "trainable", llvm::cl::desc("a regular expression for the parameters that are trained"), llvm::cl::init(".*")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("the optimizer and its numbers"), llvm::cl::init("sgd,lr=0.01")};
  ListOption<std::string> groups{*this, "param-group", llvm::cl::desc("parameters with other numbers")};
  ListOption<std::string> outputs{*this, "outputs", llvm::cl::desc("outputs that predict returns")};
  ListOption<std::string> metrics{*this, "metric", llvm::cl::desc("metrics that eval computes")};
  Option<double> clipNorm{*this, "clip-norm", llvm::cl::desc("the largest norm of all gradients; 0: any"), llvm::cl::init(0)};
  Option<double> clipValue{*this, "clip-value", llvm::cl::desc("the largest element of a gradient; 0: any"), llvm::cl::init(0)};
  Option<int64_t> accumulate{*this, "accumulate", llvm::cl::desc("batches whose gradients make one step"), llvm::cl::init(1)};
  Option<std::string> precision{*this, "precision", llvm::cl::desc("fp32, fp16 or bf16"), llvm::cl::init("fp32")};
  Option<std::string> optLevel{*this, "opt-level", llvm::cl::desc("O0 to O3"), llvm::cl::init("O1")};
  Option<std::string> scaler{*this, "loss-scale", llvm::cl::desc("none, or static or dynamic with its numbers; empty: what precision and opt level ask for")};
  ListOption<std::string> allow{*this, "allow", llvm::cl::desc("ops that compute in the low precision")};
  ListOption<std::string> deny{*this, "deny", llvm::cl::desc("ops that compute in fp32")};
  ListOption<std::string> infer{*this, "infer", llvm::cl::desc("ops that compute in the precision of their operands")};

  TrainingOptions options() const {
    TrainingOptions result;
    result.loss = loss, result.parameters = trainable, result.optimizer = optimizer;
    auto list = [](const ListOption<std::string> &option) { return std::vector<std::string>(option.begin(), option.end()); };
    result.steps = list(steps), result.groups = list(groups), result.outputs = list(outputs), result.metrics = list(metrics);
    result.clipNorm = clipNorm, result.clipValue = clipValue, result.accumulate = accumulate;
    result.precision = precision, result.optLevel = optLevel, result.scaler = scaler;
    result.allow = list(allow), result.deny = list(deny), result.infer = list(infer);
    return result;
  }
};

struct HostPipelineOptions : PassPipelineOptions<HostPipelineOptions> {
  Option<bool> oneModule{*this, "one-module", llvm::cl::desc("put all kernels into one module, as --emit=llvm does"), llvm::cl::init(false)};
};

struct GpuPipelineOptions : PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc("the architecture, as sm_90a")};
  Option<std::string> tune{*this, "tune", llvm::cl::desc("measured schedules, as a tuner wrote them")};
};
} // namespace

static void noMark(OpPassManager &, StringRef) {}

static LogicalResult addGpuPipeline(OpPassManager &manager, StringRef text, llvm::function_ref<LogicalResult(const Twine &)> fail) {
  GpuPipelineOptions options;
  if (failed(options.parseFromString(text)))
    return failure();
  GpuOptions gpu;
  gpu.arch = findGpuArch(options.arch);
  if (!gpu.arch)
    return fail("mpc-gpu: unknown architecture '" + options.arch + "'; write arch= and one of " + gpuArchNames());
  if (!options.tune.empty()) {
    MLIRContext context; // serves the diagnostics of the file
    FailureOr<hero::Tuning> tuning = readTuningFile(&context, options.tune);
    if (failed(tuning))
      return failure();
    gpu.tuning = std::make_shared<const hero::Tuning>(std::move(*tuning));
  }
  buildGpuPipeline(manager, gpu, noMark);
  return success();
}

static void registerPasses() {
  registerCanonicalizerPass();
  registerCSEPass();
  registerTrainingPasses();
  registerPrecisionPasses();
  registerAutodiffPasses();
  registerOptimizersPasses();
  registerSimplifyPasses();
  registerMpcTargetPasses();
  layout::registerMpcLayoutPasses();
  registerMpcDecomposePasses();
  fusion::registerMpcFusionPasses();
  registerMpcHeroToGpuPasses();
  memory::registerMpcMemoryPasses();
  registerMpcEmitKernelsPasses();
  registerMpcDeviceToEmulatorPasses();
  registerMpcDeviceToNvvmPasses();
}

void mpc::registerAllPasses(LibraryScratchFn libraryScratch) {
  registerPasses();
  PassPipelineRegistration<TrainingPipelineOptions>(
      "mpc-training", "From @forward of an imported network to train.steps, @eval and @predict, which know no target",
      [](OpPassManager &manager, const TrainingPipelineOptions &options) { buildTrainingPipeline(manager, options.options(), noMark); });
  PassPipelineRegistration<HostPipelineOptions>("mpc-host", "From entries that know no target to planned dispatches and kernels of the host",
                                                [libraryScratch](OpPassManager &manager, const HostPipelineOptions &options) {
                                                  HostOptions host;
                                                  host.kernels = options.oneModule ? KernelForm::LlvmIR : KernelForm::Shared;
                                                  host.libraryScratch = libraryScratch;
                                                  buildHostPipeline(manager, host, noMark);
                                                });
  registerPassPipeline("mpc-gpu", "From entries that know no target to planned dispatches and kernels of a GPU", addGpuPipeline,
                       [](llvm::function_ref<void(const mlir::detail::PassOptions &)> show) { show(GpuPipelineOptions()); });
  registerPass([libraryScratch] { return createLibraryScratchPass(libraryScratch); });
}
