//===- HostPipeline.cpp - from target-free entries to a host program --------------------===//
#include "compiler/Codegen/NativeCpu.h"
#include "compiler/Package/LibraryCalls.h"
#include "compiler/Package/Manifest.h"
#include "compiler/Pipeline/Pipeline.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Fusion/Passes.h"
#include "passes/Layout/Passes.h"
#include "passes/Lowering/Decompose/Passes.h"
#include "passes/Lowering/LoopPlan/LoopForm.h"
#include "passes/Memory/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

/// Records on every library dispatch how much scratch its primitive needs: the memory plan has to know.
static LogicalResult annotateScratch(ModuleOp module, const HostOptions &options) {
  WalkResult result = module.walk([&](kernel::DispatchOp dispatch) {
    if (!dispatch.getLibrary())
      return WalkResult::advance();
    FailureOr<LibraryCall> call = describeLibraryCall(dispatch);
    if (failed(call))
      return WalkResult::interrupt();
    int64_t bytes = 0;
    std::string error;
    if (options.libraryScratch && !options.libraryScratch(call->desc, bytes, error)) {
      dispatch.emitError("no library provider computes this: ") << error;
      return WalkResult::interrupt();
    }
    if (bytes)
      dispatch->setAttr("scratch_bytes", Builder(module.getContext()).getI64IntegerAttr(bytes));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult addKernels(HostCodegen &codegen, const HostOptions &options, CompiledProgram &program) {
  if (options.kernels == KernelForm::LlvmIR) {
    for (const HostCpu &cpu : options.cpus) {
      FailureOr<std::string> text = codegen.llvmIR(cpu);
      if (failed(text))
        return failure();
      program.kernelFiles[cpu.name] = std::move(*text);
    }
    return success();
  }
  bool relocatable = options.kernels == KernelForm::Relocatable;
  FailureOr<std::vector<HostObject>> objects = codegen.emit(options.cpus, options.threads, relocatable);
  if (failed(objects))
    return failure();
  for (HostObject &object : *objects)
    (relocatable ? program.kernelFiles[object.cpu.name] : program.sections["host." + object.cpu.name + ".so"]) = std::move(object.bytes);
  // What the CPU must have, so that the program can refuse another one.
  if (std::string native = HostCpu::native().name; program.sections.count("host." + native + ".so"))
    program.sections["host." + native + ".cpu"] = llvm::join(nativeFeatures(), " ");
  return success();
}

LogicalResult mpc::planForHost(ModuleOp module, const HostOptions &options, const StageObserver &observe) {
  auto run = [&](StringRef stage, auto &&...passes) {
    PassManager manager(module.getContext());
    (manager.addPass(std::move(passes)), ...);
    LogicalResult result = manager.run(module);
    if (succeeded(result) && observe)
      observe(stage, module);
    return result;
  };
  // Layout first: it speaks of whole ops (convolutions, batch norms), which decomposition takes apart.
  return success(succeeded(run("layout", layout::createChannelsLastPass(), createCanonicalizerPass(), createCSEPass())) &&
                 succeeded(run("decompose", createDecomposePass(), createCanonicalizerPass(), createCSEPass())) &&
                 succeeded(run("fusion", fusion::createFormDispatchesPass())) && succeeded(annotateScratch(module, options)) &&
                 succeeded(run("memory", memory::createSinkDispatchesPass(), memory::createPlanArenaPass(mayShareBuffer))));
}

FailureOr<CompiledProgram> mpc::compileForHost(ModuleOp module, const HostOptions &options, StringRef modelName,
                                               const TrainingOptions *training, const StageObserver &observe) {
  if (failed(planForHost(module, options, observe)))
    return failure();
  CompiledProgram program;
  HostCodegen codegen(module.getContext(), options.kernels == KernelForm::LlvmIR ? 1 : HostCodegen::defaultModules);
  llvm::DenseMap<Operation *, KernelLaunch> kernels;
  WalkResult added = module.walk([&](kernel::DispatchOp dispatch) {
    // Nothing is launched to compute tensors without elements.
    if (llvm::all_of(dispatch.getResultTypes(), [](Type t) { return cast<RankedTensorType>(t).getNumElements() == 0; }))
      return WalkResult::advance();
    ++program.launches;
    if (dispatch.getLibrary())
      return WalkResult::advance();
    FailureOr<HostKernel> kernel = codegen.add(dispatch);
    if (failed(kernel))
      return WalkResult::interrupt();
    kernels[dispatch] = {kernel->symbol, kernel->grid, kernel->grain};
    return WalkResult::advance();
  });
  if (added.wasInterrupted())
    return failure();
  program.kernels = codegen.size();

  ProgramInfo info;
  info.model = modelName.str();
  if (training) {
    info.precision = training->precision;
    info.optLevel = training->precision == "fp32" ? "O0" : training->optLevel;
  }
  for (auto entry : module.getOps<FunctionOpInterface>())
    for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
      if (entry.getArgAttr(i, train::kBatchedAttr) && info.batch == 0)
        info.batch = cast<RankedTensorType>(entry.getArgumentTypes()[i]).getDimSize(0);
  FailureOr<Manifest> manifest = buildManifest(module, info, kernels);
  if (failed(manifest))
    return failure();
  // A network of library calls alone has no kernels.
  if (codegen.size() > 0 && failed(addKernels(codegen, options, program)))
    return failure();
  program.sections["manifest.json"] = std::move(manifest->json);
  program.sections["data"] = std::move(manifest->data);

  auto plan = module->getAttrOfType<DictionaryAttr>(memory::kPlanAttr);
  for (auto [name, field] : {std::pair("peak_bytes", &program.peakBytes), std::pair("state_bytes", &program.stateBytes),
                             std::pair("saved_bytes", &program.savedBytes), std::pair("temporary_bytes", &program.temporaryBytes),
                             std::pair("constant_bytes", &program.constantBytes)})
    *field = plan.getAs<IntegerAttr>(name).getInt();
  return program;
}
