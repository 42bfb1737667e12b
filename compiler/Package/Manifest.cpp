//===- Manifest.cpp - writes the manifest described in runtime/abi/README.md ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/Manifest.h"
#include "compiler/Package/Elements.h"
#include "compiler/Package/ManifestParts.h"
#include "compiler/Package/Version.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/Ranges.h"
#include "dialects/Train/IR/Train.h"

using namespace mlir;
using namespace mpc;
using nlohmann::json;

int64_t DataSection::append(const std::string &added) {
  bytes.resize((bytes.size() + 63) / 64 * 64);
  int64_t offset = bytes.size();
  bytes += added;
  return offset;
}

json mpc::tensorJson(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return {{"dtype", dtypeName(tensor.getElementType()).str()},
          {"shape", tensor.getShape().vec()},
          {"bytes", graph::bytesOf(type)}};
}

static int64_t offsetAttr(Operation *op) { return op->getAttrOfType<IntegerAttr>(kernel::kOffsetAttr).getInt(); }

/// Adds the integers that the attributes of an argument allow.
static void addRanges(json &object, DictionaryAttr attributes) {
  if (auto below = attributes.getAs<IntegerAttr>(train::kLabelsBelowAttr))
    object["labels_below"] = below.getInt();
  if (auto ignored = attributes.getAs<IntegerAttr>(train::kLabelsIgnoreAttr))
    object["labels_ignore"] = ignored.getInt();
  if (auto below = attributes.getAs<IntegerAttr>(train::kIndicesBelowAttr))
    object["indices_below"] = below.getInt();
  if (auto most = attributes.getAs<IntegerAttr>(train::kLengthsUpToAttr))
    object["lengths_up_to"] = most.getInt();
}

static FailureOr<json> entryJson(FunctionOpInterface op, const TargetPlan &plan) {
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
    if (auto of = op.getArgAttrOfType<DictionaryAttr>(i, train::kSequencesAttr)) {
      json &sequences = input["sequences"];
      for (StringRef key : {"lengths", "input_lengths"})
        if (auto name = of.getAs<StringAttr>(key))
          sequences[key.str()] = name.str();
      for (StringRef key : {"blank", "classes", "frames"})
        sequences[key.str()] = of.getAs<IntegerAttr>(key).getInt();
      if (of.contains("zero_infinity"))
        sequences["zero_infinity"] = true;
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

static FailureOr<json> planJson(const TargetPlan &plan, DataSection &data) {
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
    j["constants"].push_back({{"offset", offsetAttr(constant)}, {"bytes", size}, {"data_offset", data.append(bytes)}});
  });
  for (auto op : module.getOps<FunctionOpInterface>()) {
    FailureOr<json> e = entryJson(op, plan);
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
  DataSection data;
  json j = {{"format", 1},
            {"producer", producer()},
            {"model", info.model},
            {"precision", {{"type", info.precision}, {"opt_level", info.optLevel}}},
            {"batch", info.batch}};
  if (!info.loss.empty())
    j["loss"] = info.loss;
  j["variables"] = variablesJson(module, data);
  j["steps"] = stepsJson(module);
  j["metrics"] = json::array();
  if (auto metrics = module->getAttrOfType<ArrayAttr>("train.metrics"))
    for (auto metric : metrics.getAsRange<DictionaryAttr>()) {
      json m;
      for (NamedAttribute field : metric)
        if (auto text = dyn_cast<StringAttr>(field.getValue()))
          m[field.getName().str()] = text.str();
        else if (auto number = dyn_cast<IntegerAttr>(field.getValue()))
          m[field.getName().str()] = number.getInt();
        else if (auto number = dyn_cast<FloatAttr>(field.getValue()))
          m[field.getName().str()] = number.getValueAsDouble();
      j["metrics"].push_back(std::move(m));
    }
  // The runtime, which builds without the compiler's table, chooses plans by it and says what else to compile for.
  if (llvm::any_of(plans, [](const TargetPlan &plan) { return findGpuArch(plan.target); }))
    for (const GpuArch &arch : gpuArchs())
      j["architectures"].push_back({{"name", arch.name.str()}, {"compute", arch.compute}, {"exact", arch.isExact()}});
  j["plans"] = json::array();
  for (const TargetPlan &target : plans) {
    FailureOr<json> plan = planJson(target, data);
    if (failed(plan))
      return failure();
    j["plans"].push_back(std::move(*plan));
  }
  try {
    return Manifest{j.dump(), std::move(data.bytes)};
  } catch (const json::exception &error) {
    // Only names that are not UTF-8 cannot be written.
    return emitErrorWithHint(module.getLoc(), Twine("cannot write the manifest: ") + error.what(),
                             "rename what is not UTF-8 in the model");
  }
}
