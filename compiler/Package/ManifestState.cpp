//===- ManifestState.cpp - the variables and steps of a manifest ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/Elements.h"
#include "compiler/Package/ManifestParts.h"
#include "dialects/Train/IR/Alternation.h"
#include "dialects/Train/IR/Averages.h"
#include "dialects/Train/IR/Carried.h"
#include "dialects/Train/IR/Groups.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/Train.h"
#include "dialects/Train/Optimizers/Registry.h"

using namespace mlir;
using namespace mpc;
using nlohmann::json;

static json initOf(train::VariableOp variable, DataSection &data) {
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
  return {{"kind", "data"}, {"offset", data.append(bytes)}, {"bytes", size}};
}

json mpc::variablesJson(ModuleOp module, DataSection &data) {
  json result = json::array();
  for (auto variable : module.getOps<train::VariableOp>()) {
    json v = tensorJson(variable.getType());
    v.erase("bytes");
    v["name"] = variable.getSymName().str();
    v["role"] = train::roleName(variable).str();
    v["init"] = initOf(variable, data);
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

/// The parameter groups of a step.
static json groupsJson(train::StepOp step) {
  json result = json::array();
  for (const train::GroupMembers &members : train::groupMembers(step)) {
    json group = {{"match", members.group ? members.group.getMatch().str() : ""}};
    if (members.group) {
      group["lr"] = members.group.getLr().getValueAsDouble();
      if (FloatAttr decay = members.group.getWeightDecay())
        group["weight_decay"] = decay.getValueAsDouble();
    }
    for (StringRef parameter : members.parameters)
      group["parameters"].push_back(parameter.str());
    result.push_back(std::move(group));
  }
  return result;
}

json mpc::stepsJson(ModuleOp module) {
  json result = json::array();
  auto has = [&](const std::string &name) { return bool(module.lookupSymbol<train::VariableOp>(name)); };
  for (auto step : module.getOps<train::StepOp>()) {
    if (step->hasAttr("trace"))
      continue;
    std::string name = step.getSymName().str();
    json s = {{"name", name}, {"entry", name}, {"accumulate", int64_t(step.getAccumulate())}};
    if (int64_t every = train::batchesPerRun(step); every > 1)
      s["every"] = every;
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
    optimizers::Hyperparameters numbers = step.getOptimizer().getHyperparameters();
    s["fixed"] = json::object();
    for (const optimizers::Hyperparameter *hyper : step.getOptimizer().getRule()->hyperparameters)
      if (!s["hyper"].contains(hyper->name.str()))
        s["fixed"][hyper->name.str()] = numbers[*hyper];
    for (auto variable : module.getOps<train::VariableOp>())
      if (FloatAttr decay = train::averageDecay(variable); decay && variable.getStep() == StringRef(name))
        s["fixed"]["ema"] = decay.getValueAsDouble();
    if (step.getGroupsAttr())
      s["groups"] = groupsJson(step);
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
