//===- ManifestLaunches.cpp - the launches of a manifest -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/Elements.h"
#include "compiler/Package/LibraryCalls.h"
#include "compiler/Package/ManifestParts.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/LaunchCosts.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/Schedule/Model.h"

using namespace mlir;
using namespace mpc;
using nlohmann::json;

/// The fields of a description that its op uses.
static json libraryJson(const mpc_library_desc &d) {
  json j = {{"op", d.op},
            {"type_a", d.type_a},
            {"type_b", d.type_b},
            {"type_out", d.type_out},
            {"type_bias", d.type_bias},
            {"has_bias", d.has_bias},
            {"has_addend", d.has_addend},
            {"activation", d.activation}};
  if (d.op == MPC_MATMUL) {
    j.update({{"batch", d.batch},
              {"m", d.m},
              {"n", d.n},
              {"k", d.k},
              {"transpose_a", d.transpose_a},
              {"transpose_b", d.transpose_b},
              {"broadcast_a", d.broadcast_a},
              {"broadcast_b", d.broadcast_b}});
    return j;
  }
  auto spatial = [&](const int64_t *values) { return std::vector<int64_t>(values, values + d.spatial); };
  j.update({{"spatial", d.spatial},
            {"N", d.N},
            {"C", d.C},
            {"O", d.O},
            {"groups", d.groups},
            {"in", spatial(d.in)},
            {"out", spatial(d.out)},
            {"kernel", spatial(d.kernel)},
            {"stride", spatial(d.stride)},
            {"dilation", spatial(d.dilation)},
            {"pad_low", spatial(d.pad_low)},
            {"pad_high", spatial(d.pad_high)}});
  return j;
}

static json launchHead(kernel::DispatchOp dispatch) {
  return {{"name", dispatch.getName().str()}, {"loc", locationName(dispatch.getLoc())}};
}

/// Adds the names of all ONNX nodes in a location.
static void addNodes(Location loc, llvm::SetVector<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(loc))
    names.insert(name.getName().strref());
  else if (auto call = dyn_cast<CallSiteLoc>(loc))
    addNodes(call.getCallee(), names);
  else if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location inner : fused.getLocations())
      addNodes(inner, names);
}

/// Adds [offset, type, elements] of a tensor of floats, which the runtime may scan for numbers that are not
/// finite, and in a loop by how many bytes it moves.
static void addFloats(json &list, int64_t offset, int64_t step, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(tensor.getElementType()) ||
      tensor.getNumElements() == 0)
    return;
  json floats = {offset, dtypeName(tensor.getElementType()).str(), tensor.getNumElements()};
  if (step != 0)
    floats.push_back(step);
  if (!llvm::is_contained(list, floats))
    list.push_back(std::move(floats));
}

/// By how many bytes each argument moves from one iteration of a loop to the next.
static SmallVector<int64_t> stepsOf(kernel::DispatchOp dispatch) {
  return dispatch.getArgSteps() ? SmallVector<int64_t>(*dispatch.getArgSteps())
                                : SmallVector<int64_t>(dispatch.getNumOperands() + dispatch.getNumResults(), 0);
}

/// Adds what the runtime needs to name a dispatch whose result is not finite: the float operands go to its first
/// launch; the float results go to its last launch, and so do the nodes where there are more than `loc` names.
static void describeFloats(kernel::DispatchOp dispatch, json &first, json &last) {
  ArrayRef<int64_t> offsets = *dispatch.getArgs();
  json operands = json::array(), results = json::array();
  SmallVector<int64_t> steps = stepsOf(dispatch);
  size_t inputs = dispatch.getInputs().size();
  for (auto [i, offset] : llvm::enumerate(offsets))
    addFloats(i < inputs ? operands : results, offset, steps[i],
              i < inputs ? dispatch.getInputs()[i].getType() : dispatch.getResultTypes()[i - inputs]);
  if (results.empty())
    return;
  if (!operands.empty())
    first["operands"] = std::move(operands);
  last["results"] = std::move(results);
  llvm::SetVector<StringRef> nodes;
  dispatch.getBody().walk([&](Operation *op) { addNodes(op->getLoc(), nodes); });
  addNodes(dispatch.getLoc(), nodes);
  if (nodes.size() > 1 || (nodes.size() == 1 && nodes[0] != locationName(dispatch.getLoc())))
    for (StringRef node : nodes)
      last["nodes"].push_back(node.str());
}

static json kernelLaunch(kernel::DispatchOp dispatch, kernel::LaunchAttr launch, const TargetPlan &plan) {
  json j = launchHead(dispatch);
  j["kernel"] = launch.getKernel().getLeafReference().str();
  ArrayRef<int64_t> offsets = *dispatch.getArgs();
  if (plan.kernels.empty()) {
    j.update({{"grid", launch.getGrid()[0]}, {"grain", launch.getGrain()}});
    SmallVector<int64_t> args = launch.getArgs().empty()
                                    ? llvm::to_vector(llvm::seq<int64_t>(0, int64_t(offsets.size())))
                                    : SmallVector<int64_t>(launch.getArgs());
    for (int64_t i : args) {
      j["args"].push_back(offsets[i]);
      if (dispatch.getArgSteps())
        j["steps"].push_back((*dispatch.getArgSteps())[i]);
    }
    return j;
  }
  SmallVector<int64_t> steps = stepsOf(dispatch);
  // For GPUs the size of each argument, and which arguments are written, let the emulator check every access.
  j["grid"] = launch.getGrid().vec();
  j["writes"] = json::array();
  int64_t inputs = dispatch.getInputs().size();
  std::optional<ArrayRef<int64_t>> inPlace = dispatch.getInPlace();
  for (auto [position, arg] : llvm::enumerate(launch.getArgs())) {
    bool isScratch = arg < 0;
    bool written = isScratch || arg >= inputs || (inPlace && llvm::is_contained(*inPlace, arg));
    if (written)
      j["writes"].push_back(position);
    if (isScratch) {
      j["args"].push_back(*dispatch.getScratchOffset());
      j["arg_bytes"].push_back(*dispatch.getScratchBytes());
      if (dispatch.getArgSteps())
        j["steps"].push_back(0);
      continue;
    }
    Type type = arg < inputs ? dispatch.getInputs()[arg].getType() : dispatch.getResultTypes()[arg - inputs];
    j["args"].push_back(offsets[arg]);
    if (dispatch.getArgSteps())
      j["steps"].push_back(steps[arg]);
    j["arg_bytes"].push_back(graph::bytesOf(type));
  }
  return j;
}

static FailureOr<json> libraryLaunch(kernel::DispatchOp dispatch) {
  json j = launchHead(dispatch);
  FailureOr<LibraryCall> call = describeLibraryCall(dispatch);
  if (failed(call))
    return failure();
  json args = json::array();
  for (unsigned i : call->args) {
    args.push_back((*dispatch.getArgs())[i]);
    if (dispatch.getArgSteps())
      j["steps"].push_back((*dispatch.getArgSteps())[i]);
  }
  j["args"] = std::move(args);
  j["library"] = libraryJson(call->desc);
  bool placed = dispatch.getScratchOffset().has_value();
  j.update({{"scratch", placed ? *dispatch.getScratchOffset() : 0},
            {"scratch_bytes", placed ? *dispatch.getScratchBytes() : 0}});
  return j;
}

/// The launches of a dispatch, in order.
static FailureOr<json> launchesOf(kernel::DispatchOp dispatch, const TargetPlan &plan) {
  json launches = json::array();
  if (dispatch.isContraction() && !kernel::gpuOf(dispatch)) {
    FailureOr<json> call = libraryLaunch(dispatch);
    if (failed(call))
      return failure();
    launches.push_back(std::move(*call));
  }
  if (dispatch.getLaunches())
    for (auto launch : dispatch.getLaunches()->getAsRange<kernel::LaunchAttr>())
      launches.push_back(kernelLaunch(dispatch, launch, plan));
  return launches;
}

/// Returns what the launches of a dispatch move, in order.
static FailureOr<SmallVector<kernel::LaunchCost>> costsOf(kernel::DispatchOp dispatch) {
  const GpuArch *gpu = kernel::gpuOf(dispatch);
  if (!gpu || !dispatch.isContraction())
    return kernel::launchCostsOf(dispatch);
  FailureOr<hero::Problem> problem = hero::describeHero(dispatch);
  if (failed(problem))
    return failure();
  FailureOr<hero::Schedule> schedule = hero::scheduleOf(*problem, *gpu);
  if (failed(schedule))
    return failure();
  return hero::launchCostsOf(*problem, *schedule);
}

LogicalResult mpc::addLaunches(Block &block, const TargetPlan &plan, json &list) {
  for (Operation &op : block) {
    if (auto scan = dyn_cast<graph::ScanOp>(op)) {
      json loop = {{"loop", int64_t(scan.getTrips())}, {"launches", json::array()}};
      if (failed(addLaunches(scan.getBlock(), plan, loop["launches"])))
        return failure();
      if (!loop["launches"].empty())
        list.push_back(std::move(loop));
    }
    auto dispatch = dyn_cast<kernel::DispatchOp>(op);
    if (!dispatch || dispatch.computesNothing())
      continue;
    FailureOr<json> launches = launchesOf(dispatch, plan);
    FailureOr<SmallVector<kernel::LaunchCost>> costs = costsOf(dispatch);
    if (failed(launches) || failed(costs))
      return failure();
    if (!launches->empty())
      describeFloats(dispatch, launches->front(), launches->back());
    for (auto [launch, cost] : llvm::zip_equal(*launches, *costs)) {
      launch.update({{"kind", cost.kind}, {"read_bytes", cost.readBytes}, {"written_bytes", cost.writtenBytes}});
      if (cost.flops > 0)
        launch["flops"] = cost.flops;
      list.push_back(std::move(launch));
    }
  }
  return success();
}
