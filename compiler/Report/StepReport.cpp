//===- StepReport.cpp - what each launch of a training step moves, multiplies and takes --===//
#include "compiler/Report/StepReport.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Interfaces/Contraction.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Lowering/Schedule/Model.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc;

namespace {
template <typename T, typename F>
T total(const StepReport &report, F of) {
  T sum = 0;
  for (const StepLaunch &launch : report.launches)
    sum += T(launch.times) * of(launch);
  return sum;
}

/// Collects the launches of one entry.
class EntryReport {
public:
  EntryReport(StringRef name, StepReport &report) : name(name), report(report) {}
  LogicalResult add(Block &block, int64_t times);

private:
  LogicalResult add(kernel::DispatchOp dispatch, int64_t times);

  StringRef name;
  StepReport &report;
};
} // namespace

int64_t StepReport::count() const {
  return total<int64_t>(*this, [](const StepLaunch &) { return 1; });
}
int64_t StepReport::bytes() const {
  return total<int64_t>(*this,
                        [](const StepLaunch &launch) { return launch.cost.readBytes + launch.cost.writtenBytes; });
}
double StepReport::flops() const {
  return total<double>(*this, [](const StepLaunch &launch) { return launch.cost.flops; });
}

LogicalResult EntryReport::add(kernel::DispatchOp dispatch, int64_t times) {
  double productSeconds = 0;
  if (dispatch.isContraction()) {
    auto contraction = *dispatch.getBody().front().getOps<ContractionOpInterface>().begin();
    for (Value operand : contraction->getOperands())
      report.idealBytes += times * graph::bytesOf(operand.getType());
    report.idealBytes += times * graph::bytesOf(contraction->getResult(0).getType());
    if (report.arch) {
      FailureOr<hero::Problem> problem = hero::describeHero(dispatch);
      if (failed(problem))
        return failure();
      productSeconds = hero::rooflineOf(*problem, *report.arch).mathSeconds;
    }
  }
  SmallVector<kernel::LaunchCost> costs = kernel::launchCostsOf(dispatch);
  size_t kernels = dispatch.getLaunches() ? dispatch.getLaunches()->size() : 0, calls = costs.size() - kernels;
  for (auto [i, cost] : llvm::enumerate(costs)) {
    StepLaunch launch{.entry = name.str(),
                      .dispatch = dispatch.getName().str(),
                      .node = locationName(dispatch.getLoc()),
                      .kernel = {},
                      .cost = std::move(cost),
                      .times = times};
    if (i >= calls) {
      auto attribute = cast<kernel::LaunchAttr>((*dispatch.getLaunches())[i - calls]);
      launch.kernel = attribute.getKernel().getLeafReference().str();
      launch.blocks = 1;
      for (int64_t extent : attribute.getGrid())
        launch.blocks *= extent;
    }
    if (launch.cost.flops > 0)
      launch.productSeconds = productSeconds;
    report.launches.push_back(std::move(launch));
  }
  return success();
}

LogicalResult EntryReport::add(Block &block, int64_t times) {
  for (Operation &op : block) {
    LogicalResult added = success();
    if (auto scan = dyn_cast<graph::ScanOp>(op))
      added = add(scan.getBlock(), times * int64_t(scan.getTrips()));
    else if (auto dispatch = dyn_cast<kernel::DispatchOp>(op); dispatch && !dispatch.computesNothing())
      added = add(dispatch, times);
    if (failed(added))
      return failure();
  }
  return success();
}

FailureOr<StepReport> mpc::reportStep(ModuleOp module) {
  StepReport report;
  report.arch = kernel::gpuOf(module);
  bool trains = llvm::any_of(module.getOps<train::StepOp>(), [](Operation *op) { return !op->hasAttr("trace"); });
  for (auto entry : module.getOps<FunctionOpInterface>()) {
    bool isStep = isa<train::StepOp>(entry) && !entry->hasAttr("trace");
    if (entry.isExternal() || (trains && !isStep))
      continue;
    if (failed(EntryReport(entry.getName(), report).add(entry.getFunctionBody().front(), /*times=*/1)))
      return failure();
  }
  for (auto variable : module.getOps<train::VariableOp>())
    report.idealBytes += (trains ? 2 : 1) * graph::bytesOf(variable.getType());
  return report;
}

double mpc::expectedSeconds(const StepLaunch &launch, const GpuArch &arch, const GpuPart &part) {
  AchievedShares shares;
  double moving =
      double(launch.cost.readBytes + launch.cost.writtenBytes) / (shares.memory * double(part.globalGBs) * 1e9);
  return shares.launchSeconds + std::max(moving, launch.productSeconds / (part.speedup(arch) * shares.math));
}

std::optional<double> mpc::wavesOf(const StepLaunch &launch, const NvptxKernel &kernel, const GpuArch &arch) {
  if (!kernel.report || kernel.report->registers == 0)
    return std::nullopt;
  int64_t threads = kernel.entry.getThreads();
  // Registers are handed out to warps in units of 256. Source: CUDA C++ Programming Guide, "Hardware Multithreading".
  int64_t warpRegisters = (int64_t(kernel.report->registers) * 32 + 255) / 256 * 256;
  int64_t blocks = std::min<int64_t>(arch.blocksPerSm, arch.threadsPerSm / threads);
  blocks = std::min(blocks, arch.registersPerSm / (warpRegisters * (threads / 32)));
  if (kernel.sharedBytes > 0)
    blocks = std::min(blocks, arch.sharedBytesPerSm / kernel.sharedBytes);
  return double(launch.blocks) / (double(std::max<int64_t>(1, blocks)) * arch.multiprocessors);
}
