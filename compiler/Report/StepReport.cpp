//===- StepReport.cpp - what each launch of a training step moves, multiplies and takes --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Report/StepReport.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Lowering/Schedule/AttentionSchedule.h"
#include "passes/Lowering/Schedule/Model.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

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

/// What an entry reads of one of its variables.
struct VariableRead {
  int64_t bytes = 0; ///< the most that one launch reads
  bool byProduct = false;
};

/// Collects the launches of one entry, and the bytes that it moves at least.
class EntryReport {
public:
  EntryReport(StringRef name, StepReport &report) : name(name), report(report) {}
  LogicalResult add(Block &body);

private:
  LogicalResult add(Block &block, int64_t times);
  LogicalResult add(kernel::DispatchOp dispatch, int64_t times);
  void addVariables(kernel::DispatchOp dispatch);

  StringRef name;
  StepReport &report;
  llvm::MapVector<StringAttr, VariableRead> variables;
};
} // namespace

/// Returns the read of the variable that holds a value, or holds what an iteration of a scan reads of it; null where
/// the value is computed.
static train::ReadOp readBehind(Value v) {
  v = graph::storageOf(v);
  if (auto argument = dyn_cast<BlockArgument>(v))
    if (auto scan = dyn_cast<graph::ScanOp>(argument.getOwner()->getParentOp()))
      return scan.isCarried(argument.getArgNumber()) ? nullptr : readBehind(scan->getOperand(argument.getArgNumber()));
  return v.getDefiningOp<train::ReadOp>();
}

/// Returns whether loops compute the value in a launch of their own. (What a product's launch writes counts with it.)
static bool isFromLoops(Value v) {
  auto dispatch = graph::storageOf(v).getDefiningOp<kernel::DispatchOp>();
  return dispatch && !dispatch.isContraction() && !dispatch.isAttention();
}

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
  addVariables(dispatch);
  SmallVector<kernel::LaunchCost> costs = kernel::launchCostsOf(dispatch);
  std::vector<double> productSeconds;
  std::vector<SmallVector<double>> attentionSeconds; // for each part, those of the launches
  if (dispatch.isAttention())                        // its operands and results are moved at least once
    for (Type type : llvm::concat<const Type>(dispatch.getOperandTypes(), dispatch.getResultTypes()))
      report.idealBytes += times * graph::bytesOf(type);
  if (dispatch.isAttention() && report.arch)
    for (const GpuPart &part : partsOf(*report.arch))
      attentionSeconds.push_back(attention::expectedSeconds(dispatch, part.of(*report.arch)));
  if (dispatch.isContraction()) {
    kernel::LaunchCost product = kernel::costOfProduct(dispatch.getContraction());
    int64_t stored = 0; // what follows the product in its launch may make less of it
    for (Type result : dispatch.getResultTypes())
      stored += graph::bytesOf(result);
    report.idealBytes += times * (product.readBytes + std::min(product.writtenBytes, stored));
    if (report.arch) {
      FailureOr<hero::Problem> problem = hero::describeHero(dispatch);
      if (failed(problem))
        return failure();
      FailureOr<hero::Schedule> schedule = hero::scheduleOf(*problem, *report.arch);
      if (failed(schedule))
        return failure();
      costs = hero::launchCostsOf(*problem, *schedule);
      for (const GpuPart &part : partsOf(*report.arch))
        productSeconds.push_back(hero::estimate(*problem, *schedule, part.of(*report.arch)).productClocks() /
                                 (part.clockMHz * 1e6));
    }
  }
  size_t kernels = dispatch.getLaunches() ? dispatch.getLaunches()->size() : 0, calls = costs.size() - kernels;
  for (auto [i, cost] : llvm::enumerate(costs)) {
    StepLaunch launch{.entry = name.str(),
                      .dispatch = dispatch.getName().str(),
                      .node = locationName(dispatch.getLoc()),
                      .kernel = {},
                      .cost = std::move(cost),
                      .times = times,
                      .productSeconds = {}};
    for (Type type : llvm::concat<const Type>(dispatch.getOperandTypes(), dispatch.getResultTypes()))
      launch.elements = std::max(launch.elements, cast<RankedTensorType>(type).getNumElements());
    if (i >= calls) {
      auto attribute = cast<kernel::LaunchAttr>((*dispatch.getLaunches())[i - calls]);
      launch.kernel = attribute.getKernel().getLeafReference().str();
      launch.blocks = 1;
      for (int64_t extent : attribute.getGrid())
        launch.blocks *= extent;
    }
    if (dispatch.isAttention())
      for (ArrayRef<double> seconds : attentionSeconds)
        launch.productSeconds.push_back(seconds[i]);
    else if (launch.cost.flops > 0)
      launch.productSeconds = productSeconds;
    report.launches.push_back(std::move(launch));
  }
  return success();
}

void EntryReport::addVariables(kernel::DispatchOp dispatch) {
  OperandRange inputs = dispatch.getInputs();
  for (auto [i, elements] : llvm::enumerate(kernel::elementsRead(dispatch))) {
    train::ReadOp read = readBehind(inputs[i]);
    if (!read)
      continue;
    VariableRead &variable = variables[read.getVariableAttr().getAttr()];
    variable.bytes = std::max(variable.bytes, kernel::bytesOfElements(inputs[i], elements));
    variable.byProduct |= dispatch.isContraction() && llvm::is_contained(dispatch.getContraction()->getOperands(),
                                                                         dispatch.getBody().getArgument(unsigned(i)));
  }
}

LogicalResult EntryReport::add(Block &body) {
  report.entries.push_back(name.str());
  if (failed(add(body, /*times=*/1)))
    return failure();
  for (const auto &[variable, read] : variables)
    if (!read.byProduct)
      report.idealBytes += read.bytes;
  for (auto assign : body.getOps<train::AssignOp>())
    if (isFromLoops(assign.getValue()))
      report.idealBytes += graph::bytesOf(assign.getValue().getType());
  return success();
}

LogicalResult EntryReport::add(Block &block, int64_t times) {
  for (Operation &op : block) {
    LogicalResult added = success();
    if (auto scan = dyn_cast<graph::ScanOp>(op); scan && scan.getTrips() > 0)
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
  report.trains = llvm::any_of(module.getOps<train::StepOp>(), [](Operation *op) { return !op->hasAttr("trace"); });
  for (auto entry : module.getOps<FunctionOpInterface>()) {
    bool isStep = isa<train::StepOp>(entry) && !entry->hasAttr("trace");
    if (entry.isExternal() || (report.trains && !isStep))
      continue;
    if (failed(EntryReport(entry.getName(), report).add(entry.getFunctionBody().front())))
      return failure();
  }
  return report;
}

std::optional<double> mpc::instructionsOf(const StepLaunch &launch, const NvptxKernel &kernel) {
  // A thread of a batch executes the code of one member.
  if (kernel.instructions.loops || launch.elements == 0 ||
      launch.cost.kind == kernel::stringifyForm(kernel::Form::Batch))
    return std::nullopt;
  return double(kernel.instructions.all) * double(kernel.entry.getThreads() * launch.blocks) / double(launch.elements);
}

/// The warp instructions that a multiprocessor issues in a clock: one for each of its four schedulers (CUDA C++
/// Programming Guide, "Multiprocessor Level").
static constexpr double issuePerClock = 4;

double mpc::expectedSeconds(const StepLaunch &launch, const NvptxKernel *kernel, const GpuArch &arch, size_t part) {
  AchievedShares shares;
  GpuArch own = partsOf(arch)[part].of(arch);
  std::optional<double> instructions = kernel ? instructionsOf(launch, *kernel) : std::nullopt;
  double issuing = instructions.value_or(0) * double(launch.elements) / warpThreads /
                   (issuePerClock * shares.issue * own.multiprocessors * own.clockMHz * 1e6);
  double bytes = double(launch.cost.readBytes + launch.cost.writtenBytes);
  double moving = bytes / (shares.memory * double(partsOf(arch)[part].globalGBs) * 1e9);
  if (launch.blocks > 0) // few blocks do not use all of the bandwidth
    moving = std::max(moving, bytes / (double(std::min<int64_t>(launch.blocks, own.multiprocessors)) *
                                       hero::l2BytesPerClock * own.clockMHz * 1e6));
  double product = launch.productSeconds.empty() ? 0 : launch.productSeconds[part];
  return shares.launchSeconds + std::max({moving, product, issuing});
}

std::optional<double> mpc::wavesOf(const StepLaunch &launch, const NvptxKernel &kernel, const GpuArch &arch) {
  if (!kernel.report || kernel.report->registers == 0)
    return std::nullopt;
  int64_t threads = kernel.entry.getThreads();
  int64_t warpRegisters = llvm::alignTo(kernel.report->registers * warpThreads, warpRegisterUnit);
  int64_t blocks = std::min<int64_t>(arch.blocksPerSm, arch.threadsPerSm / threads);
  blocks = std::min(blocks, arch.registersPerSm / (warpRegisters * (threads / warpThreads)));
  if (kernel.sharedBytes > 0)
    blocks = std::min(blocks, arch.sharedBytesPerSm / kernel.sharedBytes);
  return double(launch.blocks) / (double(std::max<int64_t>(1, blocks)) * arch.multiprocessors);
}
