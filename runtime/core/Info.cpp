// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Info.h"

#include "runtime/core/Device.h"
#include "runtime/support/Error.h"
#include "runtime/support/Json.h"

namespace mpc::rt {

static json portJson(const Port &port) {
  json out = {{"name", port.name}, {"dtype", nameOf(port.dtype)}, {"shape", port.shape}};
  if (!port.role.empty())
    out["role"] = port.role;
  if (!port.of.empty())
    out["of"] = port.of;
  for (const Range &range : port.ranges)
    appendTo(out, "values", concat(range.what, range.part(), " in ", range.text()));
  return out;
}

static json programJson(const Program &program) {
  const Manifest &manifest = program.manifest();
  int64_t parameters = 0, values = 0, stateBytes = 0;
  for (const Variable &v : manifest.variables) {
    if (v.role == "parameter") {
      ++parameters;
      values += elementsOf(v.shape);
    }
    stateBytes += elementsOf(v.shape) * int64_t(sizeOf(v.dtype));
  }
  json out = {{"model", manifest.model},
              {"producer", manifest.producer},
              {"precision", {{"type", manifest.precisionType}, {"opt_level", manifest.optLevel}}},
              {"batch", manifest.batch},
              {"parameters", {{"tensors", parameters}, {"values", values}}},
              {"state_bytes", stateBytes}};
  for (const Step &step : manifest.steps) {
    json hyper = json::object(), fixed = json::object(), groups = json::array();
    for (const Hyper &h : step.hyper)
      hyper[h.name] = h.standard;
    for (const auto &[name, value] : step.fixed)
      fixed[name] = value;
    for (const ParameterGroup &group : step.groups) {
      json described = {{"match", group.match}, {"lr", group.rate}, {"parameters", group.parameters}};
      if (group.weightDecay)
        described["weight_decay"] = *group.weightDecay;
      groups.push_back(std::move(described));
    }
    appendTo(out, "steps",
             {{"name", step.name},
              {"optimizer", step.optimizer},
              {"hyper", hyper},
              {"fixed", fixed},
              {"groups", groups},
              {"loss_scaling", step.scaler ? json(step.scaler->kind) : json(nullptr)},
              {"accumulate", step.accumulate},
              {"every", step.every}});
  }
  for (const Plan &plan : manifest.plans) {
    json entries = json::array();
    for (const Entry &entry : plan.entries) {
      int64_t kernels = 0, calls = 0;
      for (const Launch &launch : entry.launches)
        ++(launch.library ? calls : kernels);
      json inputs = json::array(), outputs = json::array();
      for (const Port &port : entry.inputs)
        inputs.push_back(portJson(port));
      for (const Port &port : entry.outputs)
        outputs.push_back(portJson(port));
      entries.push_back({{"name", entry.name},
                         {"kind", entry.kind},
                         {"inputs", inputs},
                         {"outputs", outputs},
                         {"kernel_launches", kernels},
                         {"library_calls", calls}});
    }
    appendTo(out, "plans",
             {{"target", plan.target},
              {"arena_bytes", plan.arenaBytes},
              {"peak_bytes", plan.peakBytes},
              {"state_bytes", plan.stateBytes},
              {"saved_bytes", plan.savedBytes},
              {"entries", entries}});
  }
  if (std::string gpu = describeGpu(program); !gpu.empty())
    out["gpu"] = gpu;
  out["sections"] = json::object();
  for (const auto &[name, bytes] : program.sections())
    out["sections"][name] = bytes.size();
  return out;
}

/// Returns the line of a parameter group: "group       'bias$' (lr x 2, weight_decay 0): conv1.bias, fc.bias".
static std::string groupText(const ParameterGroup &group) {
  std::string text =
      group.match.empty() ? "group       none" : concat("group       '", group.match, "' (lr x ", group.rate);
  if (group.weightDecay)
    text += concat(", weight_decay ", *group.weightDecay);
  text += group.match.empty() ? ":" : "):";
  for (const std::string &name : group.parameters)
    text += concat(&name == group.parameters.data() ? " " : ", ", name);
  return text + '\n';
}

static std::string portText(const Port &port) {
  std::string text = concat(port.name, " ", nameOf(port.dtype), toString(port.shape));
  for (const Range &range : port.ranges)
    text += concat(" ", range.part(), range.part().empty() ? "" : " ", "in ", range.text());
  return text;
}

std::string describeTraining(const Manifest &manifest) {
  std::string out = concat("precision   ", manifest.precisionType, " ", manifest.optLevel, "\n");
  if (!manifest.loss.empty())
    out += concat("loss        ", manifest.loss, "\n");
  for (const Step &step : manifest.steps) {
    out += concat("step        ", step.name, ": ", step.optimizer);
    for (const Hyper &h : step.hyper)
      out += concat(", ", h.name, " ", h.standard);
    for (const auto &[name, value] : step.fixed)
      out += concat(", ", name, " ", value);
    if (step.scaler && step.scaler->kind == "static")
      out += concat(", loss scale ", step.scaler->value);
    else if (step.scaler)
      out += concat(", ", step.scaler->kind == "calibrate" ? "calibrated" : "dynamic", " loss scale");
    if (step.every > 1)
      out += concat(", runs on 1 of ", step.every, " batches");
    out += '\n';
    for (const ParameterGroup &group : step.groups)
      out += groupText(group);
  }
  return out;
}

std::string describeProgram(const Program &program, bool asJson) {
  json info = programJson(program);
  if (asJson)
    return info.dump(2) + "\n";
  const Manifest &manifest = program.manifest();
  std::string out = concat("model       ", manifest.model, "  (", manifest.producer, ")\n");
  out += concat("batch       ", manifest.batch, "\nparameters  ", info["parameters"]["values"].get<int64_t>(), " in ",
                info["parameters"]["tensors"].get<int64_t>(), " tensors\nstate       ", bytesText(info["state_bytes"]),
                "\n", describeTraining(manifest));
  for (const Plan &plan : manifest.plans) {
    out += concat("target      ", plan.target, ": arena ", bytesText(plan.arenaBytes), ", peak ",
                  bytesText(plan.peakBytes), "\n");
    for (const Entry &entry : plan.entries) {
      int64_t calls = 0;
      for (const Launch &launch : entry.launches)
        calls += launch.library.has_value();
      out += concat("  ", entry.kind, " '", entry.name, "': ", int64_t(entry.launches.size()) - calls,
                    " kernel launches, ", calls, " library calls\n");
      for (const Port &port : entry.inputs)
        out += concat("    in   ", portText(port), "\n");
      for (const Port &port : entry.outputs)
        if (port.role != "grad")
          out += concat("    out  ", portText(port), "\n");
    }
  }
  if (info.contains("gpu"))
    out += concat("gpu         ", info["gpu"].get_ref<const std::string &>(), "\n");
  return out;
}

} // namespace mpc::rt
