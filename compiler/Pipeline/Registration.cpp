//===- Registration.cpp - dialects, and passes and pipelines by name -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/TrainingFlags.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Decompose/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Layout/Passes.h"
#include "passes/Lowering/DeviceToEmulator/Passes.h"
#include "passes/Lowering/DeviceToNvvm/Passes.h"
#include "passes/Lowering/EmitKernels/Passes.h"
#include "passes/Lowering/LoopPlan/Passes.h"
#include "passes/Lowering/Schedule/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Optimizers/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Simplify/Passes.h"
#include "passes/Target/Passes.h"
#include "passes/Training/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

namespace {
/// The options of `mpc compile` about training, by the same names (TrainingFlags.h).
class TrainingPipelineOptions : public PassPipelineOptions<TrainingPipelineOptions> {
public:
  TrainingPipelineOptions() {
    for (const TrainingFlag &flag : trainingFlags())
      std::visit([&](auto member) { add(flag, member); }, flag.member);
  }

  TrainingRequest request() const {
    TrainingRequest result;
    for (const Reader &read : readers)
      read(result);
    return result;
  }

private:
  using Reader = std::function<void(TrainingRequest &)>;
  /// Each occurrence is one word, commas included.
  struct Words : ListOption<std::string> {
    using ListOption::ListOption;
    bool handleOccurrence(unsigned, StringRef, StringRef word) override {
      addValue(word.str());
      return false;
    }
  };

  /// Makes the option, which `read` takes into a request where it was written.
  template <class OptionT, class Read>
  void add(const char *name, const TrainingFlag &flag, Read read) {
    auto option = std::make_shared<OptionT>(*this, name, llvm::cl::desc(flag.doc));
    readers.push_back([option, read](TrainingRequest &request) {
      if (option->getNumOccurrences() > 0)
        read(request, *option);
    });
  }
  template <class T>
  void add(const TrainingFlag &flag, std::optional<T> TrainingRequest::*member) {
    add<Option<T>>(flag.name, flag, [member](TrainingRequest &request, const Option<T> &option) {
      request.*member = option.getValue();
    });
  }
  void add(const TrainingFlag &flag, bool TrainingRequest::*member) {
    add<Option<bool>>(flag.name, flag,
                      [member](TrainingRequest &request, const Option<bool> &option) { request.*member = option; });
    if (*flag.values.negation)
      add<Option<bool>>(flag.values.negation, flag,
                        [member](TrainingRequest &request, const Option<bool> &option) { request.*member = !option; });
  }
  template <class T>
  void add(const TrainingFlag &flag, std::vector<T> TrainingRequest::*member) {
    auto read = [member](TrainingRequest &request, const ListOption<T> &option) {
      (request.*member).assign(option.begin(), option.end());
    };
    if constexpr (std::is_same_v<T, std::string>)
      if (!flag.values.commas)
        return add<Words>(flag.name, flag, read);
    add<ListOption<T>>(flag.name, flag, read);
  }

  std::vector<Reader> readers;
};

struct HostPipelineOptions : PassPipelineOptions<HostPipelineOptions> {
  Option<bool> oneModule{*this, "one-module", llvm::cl::desc("put all kernels into one module, as --emit=llvm does"),
                         llvm::cl::init(false)};
  Option<unsigned> threads{*this, "threads", llvm::cl::desc("as of mpc-library-scratch"), llvm::cl::init(0)};
  Option<std::string> library{*this, "library", llvm::cl::desc("as of mpc-library-scratch")};
};

struct GpuPipelineOptions : PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc("the architecture, as sm_90a")};
  Option<std::string> tune{*this, "tune", llvm::cl::desc("as of mpc-schedule")};
};

struct TunerPipelineOptions : PassPipelineOptions<TunerPipelineOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc("the architecture, as sm_90a")};
};
} // namespace

static void noMark(OpPassManager &, StringRef) {}

using PipelineError = llvm::function_ref<LogicalResult(const Twine &)>;

/// Registers a pipeline whose options can be wrong in ways that their types do not tell. `build` reports them.
template <class Options, class Build>
static void registerPipeline(StringRef name, StringRef description, Build build) {
  registerPassPipeline(
      name, description,
      [build](OpPassManager &manager, StringRef text, PipelineError fail) {
        Options options;
        return success(succeeded(options.parseFromString(text)) && succeeded(build(manager, options, fail)));
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> show) { show(Options()); });
}

static FailureOr<const GpuArch *> archOf(StringRef name, PipelineError fail) {
  if (const GpuArch *arch = findGpuArch(name))
    return arch;
  return fail("unknown architecture '" + name + "'; write arch= and one of " + gpuArchNames());
}

static void registerPipelines(const RuntimeHooks &hooks) {
  registerPipeline<TrainingPipelineOptions>(
      "mpc-training", "From @forward of an imported network to train.steps, @eval and @predict, which know no target",
      [hooks](OpPassManager &manager, const TrainingPipelineOptions &options, PipelineError fail) -> LogicalResult {
        auto error = [&](StringRef where, const Twine &what, const Twine &hint) {
          (void)fail(where + ": " + what + "; " + hint);
        };
        FailureOr<TrainingOptions> training = resolveTraining(options.request(), hooks, error);
        if (failed(training))
          return failure();
        buildTrainingPipeline(manager, *training, noMark);
        return success();
      });
  PassPipelineRegistration<>("mpc-inference", "From @forward of an imported network to @predict, which knows no target",
                             [](OpPassManager &manager) { buildInferencePipeline(manager, noMark); });
  PassPipelineRegistration<HostPipelineOptions>(
      "mpc-host", "From entries that know no target to planned dispatches and kernels of the host",
      [hooks](OpPassManager &manager, const HostPipelineOptions &options) {
        HostOptions host;
        host.kernels = options.oneModule ? KernelForm::LlvmIR : KernelForm::Shared;
        host.scratch = {.threads = options.threads, .library = options.library};
        host.builtInLibrary = hooks.builtInLibrary;
        buildHostPipeline(manager, host, noMark);
      });
  registerPipeline<GpuPipelineOptions>(
      "mpc-gpu", "From entries that know no target to planned dispatches and kernels of a GPU",
      [](OpPassManager &manager, const GpuPipelineOptions &options, PipelineError fail) -> LogicalResult {
        FailureOr<const GpuArch *> arch = archOf(options.arch, fail);
        if (succeeded(arch))
          buildGpuPipeline(manager, {.arch = *arch, .ptxas = {}, .tune = options.tune}, noMark);
        return arch;
      });
  registerPipeline<TunerPipelineOptions>(
      "mpc-tuner",
      "From entries that know no target to the candidates of their matrix products and convolutions on a GPU, with "
      "kernels",
      [](OpPassManager &manager, const TunerPipelineOptions &options, PipelineError fail) -> LogicalResult {
        FailureOr<const GpuArch *> arch = archOf(options.arch, fail);
        if (succeeded(arch))
          buildTunerPipeline(manager, {.arch = *arch, .ptxas = {}}, noMark);
        return arch;
      });
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
  registerMpcSchedulePasses();
  registerMpcLoopPlanPasses();
  memory::registerMpcMemoryPasses();
  registerMpcEmitKernelsPasses();
  registerMpcDeviceToEmulatorPasses();
  registerMpcDeviceToNvvmPasses();
}

void mpc::registerAllPasses(const RuntimeHooks &hooks) {
  registerPasses();
  registerPass([hooks] { return createLibraryScratchPass({}, hooks.builtInLibrary); });
  registerPipelines(hooks);
}

void mpc::registerAllDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, graph::GraphDialect, train::TrainDialect, kernel::KernelDialect>();
  registerHostDialects(registry);
  registerNvptxDialects(registry);
}
