//===- Manifest.cpp - writes the manifest described in runtime/abi/README.md ------------===//
#include "compiler/Package/Manifest.h"
#include "compiler/Package/Elements.h"
#include "compiler/Package/LibraryCalls.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/Ranges.h"
#include "dialects/Train/IR/Train.h"
#include "dialects/Train/Optimizers/Registry.h"
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace mpc;
using nlohmann::json;

namespace {
class ManifestBuilder {
public:
  explicit ManifestBuilder(ModuleOp module) : module(module) {}
  FailureOr<json> plan(const TargetPlan &plan);
  json variables();
  json steps();
  std::string data;

private:
  json initOf(train::VariableOp variable);
  FailureOr<json> entry(FunctionOpInterface op, const TargetPlan &plan);
  json kernelLaunch(kernel::DispatchOp dispatch, kernel::LaunchAttr launch, const TargetPlan &plan);
  FailureOr<json> libraryLaunch(kernel::DispatchOp dispatch);
  FailureOr<json> launchesOf(kernel::DispatchOp dispatch, const TargetPlan &plan);
  LogicalResult addLaunches(Block &block, const TargetPlan &plan, json &list);
  /// Appends to the data section at an aligned offset; returns the offset.
  int64_t append(const std::string &bytes);

  ModuleOp module;
};
} // namespace

static int64_t offsetAttr(Operation *op) { return op->getAttrOfType<IntegerAttr>(kernel::kOffsetAttr).getInt(); }
static json tensorJson(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return {{"dtype", dtypeName(tensor.getElementType()).str()},
          {"shape", tensor.getShape().vec()},
          {"bytes", graph::bytesOf(type)}};
}

int64_t ManifestBuilder::append(const std::string &bytes) {
  data.resize((data.size() + 63) / 64 * 64);
  int64_t offset = data.size();
  data += bytes;
  return offset;
}

json ManifestBuilder::initOf(train::VariableOp variable) {
  Attribute init = variable.getInit();
  if (auto fill = dyn_cast<train::FillAttr>(init)) {
    if (variable.getRole() == train::Role::rng)
      return {{"kind", "seed"}};
    return {{"kind", "fill"}, {"value", fill.getValue().getValueAsDouble()}};
  }
  if (auto normal = dyn_cast<train::NormalAttr>(init))
    return {{"kind", "normal"},
            {"mean", normal.getMean().getValueAsDouble()},
            {"stddev", normal.getStddev().getValueAsDouble()}};
  if (auto uniform = dyn_cast<train::UniformAttr>(init))
    return {{"kind", "uniform"},
            {"low", uniform.getLow().getValueAsDouble()},
            {"high", uniform.getHigh().getValueAsDouble()}};
  if (isa<train::CopyOfAttr>(init))
    return {{"kind", "copy"}};
  auto elements = cast<ElementsAttr>(init);
  if (variable.getRole() == train::Role::rng)
    return {{"kind", "seed"}};
  std::string bytes = bytesOfElements(elements);
  int64_t size = bytes.size();
  return {{"kind", "data"}, {"offset", append(bytes)}, {"bytes", size}};
}

json ManifestBuilder::variables() {
  json result = json::array();
  for (auto variable : module.getOps<train::VariableOp>()) {
    json v = tensorJson(variable.getType());
    v.erase("bytes");
    v["name"] = variable.getSymName().str();
    v["role"] = train::stringifyRole(variable.getRole()).str();
    v["init"] = initOf(variable);
    if (auto of = variable.getOf())
      v["of"] = of->str();
    else if (auto copy = dyn_cast<train::CopyOfAttr>(variable.getInit()))
      v["of"] = copy.getSource().getValue().str();
    if (auto step = variable.getStep())
      v["step"] = step->str();
    if (auto name = variable->getAttrOfType<StringAttr>(train::kNameAttr)) {
      v["onnx"] = {{"name", name.str()}};
      if (auto input = variable->getAttrOfType<IntegerAttr>(train::kInputAttr))
        v["onnx"].update(
            {{"node", variable->getAttrOfType<StringAttr>(train::kNodeAttr).str()}, {"input", input.getInt()}});
    }
    result.push_back(std::move(v));
  }
  return result;
}

json ManifestBuilder::steps() {
  json result = json::array();
  auto has = [&](const std::string &name) { return bool(module.lookupSymbol<train::VariableOp>(name)); };
  for (auto step : module.getOps<train::StepOp>()) {
    if (step->hasAttr("trace"))
      continue;
    std::string name = step.getSymName().str();
    json s = {{"name", name}, {"entry", name}, {"accumulate", int64_t(step.getAccumulate())}};
    if (module.lookupSymbol(name + ".trace"))
      s["trace"] = name + ".trace";
    s["optimizer"] = step.getOptimizer().getRule()->name.str();
    if (auto rate = module.lookupSymbol<train::VariableOp>(name + "/lr")) {
      // The variable starts with the user's rate, or with the optimizer's own default.
      double standard = cast<train::FillAttr>(rate.getInit()).getValue().getValueAsDouble();
      s["hyper"]["lr"] = {{"variable", name + "/lr"}, {"default", standard}};
    } else {
      s["hyper"] = json::object();
    }
    if (has(name + "/nan_guard"))
      s["nan_guard"] = name + "/nan_guard";
    if (has(name + "/skipped")) {
      json &scaler = s["scaler"];
      const train::Scaler &options = step.getScaler().getOptions();
      scaler["kind"] = nameOf(options.kind).str();
      for (auto [key, variable] :
           {std::pair("scale", "/scale"), std::pair("tracker", "/growth_tracker"), std::pair("skipped", "/skipped")})
        if (has(name + variable))
          scaler[key] = name + variable;
      // The rule that a bounded scale follows is included, so that the runtime can report when a bound takes effect.
      if (options.kind == train::ScalerKind::Dynamic) {
        if (options.hysteresis > 1)
          scaler["hysteresis"] = options.hysteresis;
        if (options.minScale)
          scaler["lower"] = {{"bound", *options.minScale}, {"factor", options.backoffFactor}};
        if (options.maxScale)
          scaler["upper"] = {{"bound", *options.maxScale}, {"factor", options.growthFactor}};
      }
      if (!options.varies())
        scaler["value"] = options.initScale;
    }
    result.push_back(std::move(s));
  }
  return result;
}

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

/// The description of a tensor map from which the runtime makes the driver's.
static json tensorMap(kernel::TensorMapAttr map) {
  json j = {{"arg", map.getParameter()},
            {"dtype", dtypeName(map.getElement()).str()},
            {"sizes", map.getSizes().vec()},
            {"strides", map.getStrides().vec()},
            {"box", map.getBox().vec()},
            {"steps", map.getSteps().vec()},
            {"swizzle", map.getSwizzle() == kernel::Swizzle::None ? 0 : 16 << int(map.getSwizzle())}};
  if (map.getPixels() > 0)
    j.update({{"pixels", map.getPixels()}, {"lower", map.getLower().vec()}, {"upper", map.getUpper().vec()}});
  return j;
}

json ManifestBuilder::kernelLaunch(kernel::DispatchOp dispatch, kernel::LaunchAttr launch, const TargetPlan &plan) {
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

FailureOr<json> ManifestBuilder::libraryLaunch(kernel::DispatchOp dispatch) {
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
FailureOr<json> ManifestBuilder::launchesOf(kernel::DispatchOp dispatch, const TargetPlan &plan) {
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

/// Adds the launches of a block's dispatches and scans.
LogicalResult ManifestBuilder::addLaunches(Block &block, const TargetPlan &plan, json &list) {
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
    if (failed(launches))
      return failure();
    if (!launches->empty())
      describeFloats(dispatch, launches->front(), launches->back());
    for (json &launch : *launches)
      list.push_back(std::move(launch));
  }
  return success();
}

/// Adds the integers that the attributes of an argument allow.
static void addRanges(json &object, DictionaryAttr attributes) {
  if (auto below = attributes.getAs<IntegerAttr>(train::kLabelsBelowAttr))
    object["labels_below"] = below.getInt();
  if (auto ignored = attributes.getAs<IntegerAttr>(train::kLabelsIgnoreAttr))
    object["labels_ignore"] = ignored.getInt();
  if (auto below = attributes.getAs<IntegerAttr>(train::kIndicesBelowAttr))
    object["indices_below"] = below.getInt();
}

FailureOr<json> ManifestBuilder::entry(FunctionOpInterface op, const TargetPlan &plan) {
  json j = {
      {"name", op.getName().str()}, {"inputs", json::array()}, {"outputs", json::array()}, {"launches", json::array()}};
  auto kind = op->getAttrOfType<StringAttr>("train.kind");
  j["kind"] = op->hasAttr("trace")     ? "trace"
              : isa<train::StepOp>(op) ? "train"
              : kind                   ? kind.str()
                                       : op.getName().str();
  for (unsigned i = 0, e = op.getNumArguments(); i < e; ++i) {
    Type type = op.getArgumentTypes()[i];
    json input = tensorJson(type);
    auto name = op.getArgAttrOfType<StringAttr>(i, train::kNameAttr);
    input["name"] = name ? name.str() : "input" + std::to_string(i);
    input["offset"] = op.getArgAttrOfType<IntegerAttr>(i, kernel::kOffsetAttr).getInt();
    input["batched"] = bool(op.getArgAttr(i, train::kBatchedAttr)) && graph::bytesOf(type) > 0;
    if (DictionaryAttr attributes = op.getArgAttrDict(i))
      addRanges(input, attributes);
    if (auto of = op.getArgAttrOfType<DictionaryAttr>(i, train::kLabelsOfAttr)) {
      input["labels_of"] = {{"name", of.getAs<StringAttr>("name").str()},
                            {"shape", of.getAs<DenseI64ArrayAttr>("shape").asArrayRef().vec()},
                            {"axis", of.getAs<IntegerAttr>("axis").getInt()}};
      if (of.contains("assumed"))
        input["labels_of"]["assumed"] = true;
    }
    if (auto parts = op.getArgAttrOfType<ArrayAttr>(i, train::kPartsAttr))
      for (auto part : parts.getAsRange<DictionaryAttr>()) {
        json &of = input["parts"].emplace_back(json::object());
        for (StringRef end : {"from", "to"})
          of[end.str()] = part.getAs<DenseI64ArrayAttr>(end).asArrayRef().vec();
        addRanges(of, part);
      }
    if (auto permutation = op.getArgAttrOfType<DenseI64ArrayAttr>(i, train::kPermutationAttr)) {
      // The argument's type is the stored one, but the manifest has the logical shape.
      std::vector<int64_t> logical(permutation.size());
      for (auto [stored, dim] : llvm::enumerate(permutation.asArrayRef()))
        logical[dim] = cast<RankedTensorType>(type).getDimSize(stored);
      input["shape"] = logical;
      input["permutation"] = permutation.asArrayRef().vec();
    }
    j["inputs"].push_back(std::move(input));
  }
  for (unsigned i = 0, e = op.getNumResults(); i < e; ++i) {
    json output = tensorJson(op.getResultTypes()[i]);
    auto name = op.getResultAttrOfType<StringAttr>(i, train::kNameAttr);
    auto role = op.getResultAttrOfType<StringAttr>(i, train::kRoleAttr);
    output["name"] = name ? name.str() : "output" + std::to_string(i);
    output["role"] = role ? role.str() : "output";
    if (auto of = op.getResultAttrOfType<StringAttr>(i, "train.of"))
      output["of"] = of.str();
    if (op.getResultAttr(i, train::kBatchedAttr))
      output["batched"] = true;
    if (op.getResultAttr(i, train::kFixedAttr))
      output["fixed"] = true;
    output["offset"] = op.getResultAttrOfType<IntegerAttr>(i, kernel::kOffsetAttr).getInt();
    j["outputs"].push_back(std::move(output));
  }
  if (failed(addLaunches(op.getFunctionBody().front(), plan, j["launches"])))
    return failure();
  return j;
}

FailureOr<json> ManifestBuilder::plan(const TargetPlan &plan) {
  ModuleOp module = *plan.module;
  FailureOr<kernel::PlanAttr> memory = kernel::verifyPlanned(module);
  if (failed(memory))
    return failure();
  json j = {{"target", plan.target},
            {"arena_bytes", memory->getArenaBytes()},
            {"state_bytes", memory->getStateBytes()},
            {"saved_bytes", memory->getSavedBytes()},
            {"peak_bytes", memory->getPeakBytes()},
            {"storage", json::array()},
            {"constants", json::array()},
            {"entries", json::array()}};
  for (auto variable : module.getOps<train::VariableOp>()) {
    json storage = {{"variable", variable.getSymName().str()},
                    {"offset", offsetAttr(variable)},
                    {"bytes", graph::bytesOf(variable.getType())}};
    if (auto permutation = variable->getAttrOfType<DenseI64ArrayAttr>(train::kPermutationAttr))
      storage["permutation"] = permutation.asArrayRef().vec();
    j["storage"].push_back(std::move(storage));
  }
  llvm::DenseSet<int64_t> written;
  module.walk([&](graph::ConstantOp constant) {
    if (!constant->hasAttr(kernel::kOffsetAttr) || !written.insert(offsetAttr(constant)).second)
      return;
    std::string bytes = bytesOfElements(constant.getValue());
    int64_t size = bytes.size();
    j["constants"].push_back({{"offset", offsetAttr(constant)}, {"bytes", size}, {"data_offset", append(bytes)}});
  });
  for (auto op : module.getOps<FunctionOpInterface>()) {
    FailureOr<json> e = entry(op, plan);
    if (failed(e))
      return failure();
    j["entries"].push_back(std::move(*e));
  }
  for (const PlannedKernel &kernel : plan.kernels) {
    j["kernels"].push_back({{"symbol", kernel.symbol},
                            {"module", kernel.module},
                            {"threads", kernel.entry.getThreads()},
                            {"shared", kernel.sharedBytes}});
    if (kernel.entry.getResident() > 0)
      j["kernels"].back().update({{"resident", kernel.entry.getResident()}, {"cluster", kernel.entry.getCluster()}});
    for (kernel::TensorMapAttr map : kernel.entry.getMaps())
      j["kernels"].back()["tensor_maps"].push_back(tensorMap(map));
  }
  for (const TargetPlan::Module &m : plan.modules) {
    j["modules"].push_back({{"ptx", m.ptx}});
    if (!m.cubin.empty())
      j["modules"].back()["cubin"] = m.cubin;
  }
  return j;
}

FailureOr<Manifest> mpc::buildManifest(ModuleOp module, const ProgramInfo &info, ArrayRef<TargetPlan> plans) {
  ManifestBuilder builder(module);
  json j = {{"format", 1},
            {"producer", "mpc 0.1.0"},
            {"model", info.model},
            {"precision", {{"type", info.precision}, {"opt_level", info.optLevel}}},
            {"batch", info.batch}};
  j["variables"] = builder.variables();
  j["steps"] = builder.steps();
  j["metrics"] = json::array();
  if (auto metrics = module->getAttrOfType<ArrayAttr>("train.metrics"))
    for (auto metric : metrics.getAsRange<DictionaryAttr>()) {
      json m;
      for (NamedAttribute field : metric)
        if (auto text = dyn_cast<StringAttr>(field.getValue()))
          m[field.getName().str()] = text.str();
        else if (auto number = dyn_cast<IntegerAttr>(field.getValue()))
          m[field.getName().str()] = number.getInt();
      j["metrics"].push_back(std::move(m));
    }
  j["plans"] = json::array();
  for (const TargetPlan &target : plans) {
    FailureOr<json> plan = builder.plan(target);
    if (failed(plan))
      return failure();
    j["plans"].push_back(std::move(*plan));
  }
  try {
    return Manifest{j.dump(), std::move(builder.data)};
  } catch (const json::exception &error) {
    // Only names that are not UTF-8 cannot be written.
    return emitErrorWithHint(module.getLoc(), Twine("cannot write the manifest: ") + error.what(),
                             "rename what is not UTF-8 in the model");
  }
}
