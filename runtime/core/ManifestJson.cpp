// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/ManifestJson.h"

#include "runtime/support/Error.h"
#include "runtime/support/Json.h"

namespace mpc::rt {

namespace {
constexpr char kAgain[] = "compile the model again";

std::string text(const json &object, const char *key) { return object.value(key, std::string()); }
int64_t integer(const json &object, const char *key, int64_t standard = 0) { return object.value(key, standard); }
double number(const json &object, const char *key) { return object.at(key).get<double>(); }

std::vector<int64_t> integers(const json &object, const char *key) {
  return object.contains(key) ? object.at(key).get<std::vector<int64_t>>() : std::vector<int64_t>();
}

mpc_dtype dtype(const json &object) { return dtypeOf(object.at("dtype").get<std::string>(), "dtype"); }

Init parseInit(const json &object) {
  Init init;
  std::string kind = object.at("kind");
  if (kind == "data") {
    init.kind = Init::Data;
    init.offset = object.at("offset");
    init.bytes = object.at("bytes");
  } else if (kind == "fill") {
    init.first = number(object, "value");
  } else if (kind == "copy") {
    init.kind = Init::Copy;
  } else if (kind == "normal") {
    init = {Init::Normal, 0, 0, number(object, "mean"), number(object, "stddev")};
  } else if (kind == "uniform") {
    init = {Init::Uniform, 0, 0, number(object, "low"), number(object, "high")};
  } else if (kind == "seed") {
    init.kind = Init::Seed;
  } else {
    fail("init", concat("unknown kind '", kind, "'"), kAgain);
  }
  return init;
}

Variable parseVariable(const json &object) {
  Variable v;
  v.name = object.at("name");
  v.role = object.at("role");
  v.of = text(object, "of");
  v.step = text(object, "step");
  v.dtype = dtype(object);
  v.shape = object.at("shape").get<Shape>();
  v.init = parseInit(object.at("init"));
  v.origin.name = v.name;
  if (object.contains("onnx")) {
    const json &onnx = object.at("onnx");
    v.origin = {onnx.at("name"), text(onnx, "node"), integer(onnx, "input", -1)};
  }
  return v;
}

Step parseStep(const json &object) {
  Step step;
  step.name = object.at("name");
  step.optimizer = text(object, "optimizer");
  step.entry = object.at("entry");
  step.accumulate = integer(object, "accumulate", 1);
  step.every = integer(object, "every", 1);
  step.nanGuard = {"nan_guard", text(object, "nan_guard"), 1};
  if (object.contains("trace"))
    step.traceEntry = object.at("trace");
  if (object.contains("hyper"))
    for (const auto &[name, hyper] : object.at("hyper").items())
      step.hyper.push_back({name, hyper.at("variable"), number(hyper, "default")});
  if (object.contains("fixed"))
    for (const auto &[name, value] : object.at("fixed").items())
      step.fixed.push_back({name, value.get<double>()});
  if (object.contains("groups"))
    for (const json &group : object.at("groups")) {
      ParameterGroup &added = step.groups.emplace_back();
      added.match = text(group, "match");
      added.rate = group.contains("lr") ? number(group, "lr") : 1;
      if (group.contains("weight_decay"))
        added.weightDecay = number(group, "weight_decay");
      added.parameters = group.at("parameters").get<std::vector<std::string>>();
    }
  if (object.contains("scaler") && !object.at("scaler").is_null()) {
    const json &scaler = object.at("scaler");
    step.scaler = Scaler{text(scaler, "kind"),
                         text(scaler, "scale"),
                         text(scaler, "tracker"),
                         text(scaler, "skipped"),
                         scaler.contains("value") ? number(scaler, "value") : 1,
                         {},
                         {},
                         integer(scaler, "hysteresis", 1)};
    for (auto [key, bound] : {std::pair("lower", &Scaler::lower), std::pair("upper", &Scaler::upper)})
      if (scaler.contains(key))
        (*step.scaler).*bound = Scaler::Bound{number(scaler.at(key), "bound"), number(scaler.at(key), "factor")};
  }
  return step;
}

/// Parses an enumerator of library.h, given by number or by name.
int32_t enumerator(const json &object, const char *key, std::initializer_list<const char *> names, int32_t first) {
  if (!object.contains(key))
    return 0;
  const json &value = object.at(key);
  if (value.is_boolean())
    return value.get<bool>();
  if (!value.is_string())
    return value.get<int32_t>();
  for (const char *name : names) {
    if (value.get<std::string>() == name)
      return first;
    ++first;
  }
  fail(key, concat("unknown value '", value.get<std::string>(), "'"), kAgain);
}

mpc_library_desc parseLibrary(const json &object) {
  mpc_library_desc desc = {};
  desc.op = enumerator(object, "op", {"matmul", "conv_forward", "conv_input_grad", "conv_weight_grad"}, MPC_MATMUL);
  auto type = [&](const char *key) {
    return enumerator(object, key,
                      {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"},
                      MPC_F16);
  };
  desc.type_a = type("type_a");
  desc.type_b = type("type_b");
  desc.type_out = type("type_out");
  desc.type_bias = type("type_bias");
  auto flag = [&](const char *key) { return enumerator(object, key, {}, 0); };
  desc.has_bias = flag("has_bias");
  desc.has_addend = flag("has_addend");
  desc.activation = enumerator(object, "activation", {"none", "relu"}, MPC_ACT_NONE);
  desc.batch = integer(object, "batch");
  desc.m = integer(object, "m");
  desc.n = integer(object, "n");
  desc.k = integer(object, "k");
  desc.transpose_a = flag("transpose_a");
  desc.transpose_b = flag("transpose_b");
  desc.broadcast_a = flag("broadcast_a");
  desc.broadcast_b = flag("broadcast_b");
  desc.spatial = int32_t(integer(object, "spatial"));
  desc.N = integer(object, "N");
  desc.C = integer(object, "C");
  desc.O = integer(object, "O");
  desc.groups = integer(object, "groups");
  auto spatial = [&](const char *key, int64_t *target) {
    std::vector<int64_t> values = integers(object, key);
    if (values.size() > MPC_MAX_SPATIAL)
      fail(key, "more than three spatial dimensions", kAgain);
    std::copy(values.begin(), values.end(), target);
  };
  spatial("in", desc.in);
  spatial("out", desc.out);
  spatial("kernel", desc.kernel);
  spatial("stride", desc.stride);
  spatial("dilation", desc.dilation);
  spatial("pad_low", desc.pad_low);
  spatial("pad_high", desc.pad_high);
  return desc;
}

/// Parses the integers that an object allows; the object is a port, or a part of one.
void parseRanges(const json &object, std::vector<Range> &ranges) {
  std::vector<int64_t> from = integers(object, "from"), to = integers(object, "to");
  if (object.contains("labels_below")) {
    ranges.push_back({"label", 0, object.at("labels_below"), {}, from, to});
    if (object.contains("labels_ignore"))
      ranges.back().also = object.at("labels_ignore").get<int64_t>();
  }
  if (object.contains("indices_below")) {
    int64_t below = object.at("indices_below");
    ranges.push_back({"index", -below, below, {}, from, to});
  }
  if (object.contains("lengths_up_to"))
    ranges.push_back({"length", 0, int64_t(object.at("lengths_up_to")) + 1, {}, from, to});
}

Port parsePort(const json &object) {
  Port port;
  port.name = object.at("name");
  port.role = text(object, "role");
  port.of = text(object, "of");
  port.dtype = dtype(object);
  port.shape = object.at("shape").get<Shape>();
  port.offset = object.at("offset");
  port.bytes = object.at("bytes");
  port.permutation = integers(object, "permutation");
  port.batched = object.value("batched", false);
  port.fixed = object.value("fixed", false);
  parseRanges(object, port.ranges);
  if (object.contains("labels_of")) {
    const json &of = object.at("labels_of");
    port.labelsOf = LabelsOf{of.at("name"), of.at("shape").get<Shape>(), of.at("axis"), of.value("assumed", false)};
  }
  if (object.contains("sequences")) {
    const json &of = object.at("sequences");
    port.sequences = Sequences{of.at("lengths"), text(of, "input_lengths"), of.at("blank"),
                               of.at("classes"), of.at("frames"),           of.value("zero_infinity", false)};
  }
  for (const json &part : object.value("parts", json::array()))
    parseRanges(part, port.ranges);
  return port;
}

std::vector<FloatTensor> parseFloats(const json &object, const char *key) {
  std::vector<FloatTensor> tensors;
  if (object.contains(key))
    for (const json &item : object.at(key))
      tensors.push_back({item.at(0), dtypeOf(item.at(1).get<std::string>(), key), item.at(2)});
  return tensors;
}

Launch parseLaunch(const json &object) {
  Launch launch;
  launch.name = text(object, "name");
  launch.loc = text(object, "loc");
  launch.kernel = text(object, "kernel");
  if (object.contains("grid") && object.at("grid").is_array())
    launch.grid = object.at("grid").get<std::array<int64_t, 3>>();
  else
    launch.grid[0] = integer(object, "grid");
  launch.grain = integer(object, "grain", 1);
  if (object.contains("library"))
    launch.library = parseLibrary(object.at("library"));
  launch.args = integers(object, "args");
  launch.argBytes = integers(object, "arg_bytes");
  launch.writes = integers(object, "writes");
  launch.kind = text(object, "kind");
  launch.readBytes = integer(object, "read_bytes");
  launch.writtenBytes = integer(object, "written_bytes");
  launch.flops = object.value("flops", 0.0);
  launch.scratch = integer(object, "scratch");
  launch.scratchBytes = integer(object, "scratch_bytes");
  launch.operands = parseFloats(object, "operands");
  launch.results = parseFloats(object, "results");
  if (object.contains("nodes"))
    for (const json &node : object.at("nodes"))
      launch.nodes.push_back(node);
  return launch;
}

/// A launch in a loop: by how many bytes its arguments, operands and results move from one iteration to the next.
struct Repeated {
  Launch launch;
  std::vector<int64_t> args, operands, results;
};

std::vector<int64_t> parseFloatSteps(const json &object, const char *key) {
  std::vector<int64_t> steps;
  if (object.contains(key))
    for (const json &item : object.at(key))
      steps.push_back(item.size() > 3 ? item.at(3).get<int64_t>() : 0);
  return steps;
}

/// Moves an offset on by `trip` steps. One that leaves the range of numbers becomes -1, which no offset may be.
int64_t moved(int64_t offset, int64_t step, int64_t trip) {
  int64_t distance, result;
  return __builtin_mul_overflow(step, trip, &distance) || __builtin_add_overflow(offset, distance, &result) ? -1
                                                                                                            : result;
}

/// Writes out the iterations of a loop: devices execute a list of launches.
void addLoop(const json &object, std::vector<Launch> &launches) {
  constexpr int64_t most = 1 << 24; // launches of an entry; each takes about 500 bytes
  int64_t trips = object.at("loop");
  std::vector<Repeated> body;
  for (const json &item : object.at("launches"))
    body.push_back({parseLaunch(item), integers(item, "steps"), parseFloatSteps(item, "operands"),
                    parseFloatSteps(item, "results")});
  for (Repeated &each : body) {
    each.args.resize(each.args.empty() ? each.launch.args.size() : each.args.size());
    if (each.args.size() != each.launch.args.size())
      fail("loop",
           concat("launch '", each.launch.name, "' has ", each.args.size(), " steps for ", each.launch.args.size(),
                  " arguments"),
           kAgain);
  }
  if (trips < 0 || (!body.empty() && trips > (most - int64_t(launches.size())) / int64_t(body.size())))
    fail("loop", concat("impossible number of iterations: ", trips), kAgain);
  for (int64_t trip = 0; trip < trips; ++trip)
    for (const Repeated &each : body) {
      Launch &launch = launches.emplace_back(each.launch);
      for (size_t i = 0; i < launch.args.size(); ++i)
        launch.args[i] = moved(launch.args[i], each.args[i], trip);
      for (size_t i = 0; i < launch.operands.size(); ++i)
        launch.operands[i].offset = moved(launch.operands[i].offset, each.operands[i], trip);
      for (size_t i = 0; i < launch.results.size(); ++i)
        launch.results[i].offset = moved(launch.results[i].offset, each.results[i], trip);
    }
}

Entry parseEntry(const json &object) {
  Entry entry;
  entry.name = object.at("name");
  entry.kind = object.at("kind");
  for (const json &item : object.at("inputs"))
    entry.inputs.push_back(parsePort(item));
  for (const json &item : object.at("outputs"))
    entry.outputs.push_back(parsePort(item));
  for (const json &item : object.at("launches"))
    if (item.contains("loop"))
      addLoop(item, entry.launches);
    else
      entry.launches.push_back(parseLaunch(item));
  return entry;
}

Plan parsePlan(const json &object, const std::vector<Architecture> &architectures) {
  Plan plan;
  plan.target = object.at("target");
  for (const Architecture &arch : architectures)
    if (arch.name == plan.target)
      plan.gpu = arch;
  plan.arenaBytes = object.at("arena_bytes");
  plan.stateBytes = integer(object, "state_bytes");
  plan.savedBytes = integer(object, "saved_bytes");
  plan.peakBytes = integer(object, "peak_bytes", plan.arenaBytes);
  for (const json &item : object.at("storage"))
    plan.storage.push_back({item.at("variable"), item.at("offset"), item.at("bytes"), integers(item, "permutation")});
  if (object.contains("constants"))
    for (const json &item : object.at("constants"))
      plan.constants.push_back({item.at("offset"), item.at("bytes"), item.at("data_offset")});
  for (const json &item : object.at("entries"))
    plan.entries.push_back(parseEntry(item));
  if (object.contains("kernels"))
    for (const json &item : object.at("kernels")) {
      plan.kernels.push_back({item.at("symbol"),
                              item.at("module"),
                              item.at("threads"),
                              integer(item, "shared"),
                              integer(item, "resident"),
                              integer(item, "cluster", 1),
                              {}});
      if (item.contains("tensor_maps"))
        for (const json &map : item.at("tensor_maps"))
          plan.kernels.back().tensorMaps.push_back(
              {map.at("arg"), dtype(map), integers(map, "sizes"), integers(map, "strides"), integers(map, "box"),
               integers(map, "steps"), integer(map, "swizzle"), integer(map, "pixels"), integers(map, "lower"),
               integers(map, "upper")});
    }
  if (object.contains("modules"))
    for (const json &item : object.at("modules"))
      plan.modules.push_back({item.at("ptx"), text(item, "cubin")});
  return plan;
}

Manifest parseAll(const json &root) {
  Manifest manifest;
  if (int64_t format = root.at("format"); format != 1)
    fail("format", concat("version ", format, " is unknown; this runtime reads version 1"), kAgain);
  manifest.producer = text(root, "producer");
  manifest.model = text(root, "model");
  if (root.contains("precision")) {
    manifest.precisionType = text(root.at("precision"), "type");
    manifest.optLevel = text(root.at("precision"), "opt_level");
  }
  manifest.loss = text(root, "loss");
  manifest.batch = integer(root, "batch", 1);
  for (const json &item : root.at("variables"))
    manifest.variables.push_back(parseVariable(item));
  if (root.contains("steps"))
    for (const json &item : root.at("steps"))
      manifest.steps.push_back(parseStep(item));
  if (root.contains("metrics"))
    for (const json &item : root.at("metrics")) {
      Metric &metric = manifest.metrics.emplace_back(
          Metric{item.at("name"), item.at("kind"), item.at("logits"), item.at("labels"), integer(item, "axis", 1)});
      if (item.contains("ignore"))
        metric.ignored = integer(item, "ignore");
      if (metric.kind == "map") {
        metric.detections = item.at("detections");
        metric.boxes = item.at("boxes");
        metric.nms = number(item, "nms");
        metric.scoreThreshold = number(item, "score_threshold");
        metric.maxDetections = item.at("max_detections");
        metric.iou = item.contains("iou") ? number(item, "iou") : 0;
      }
    }
  if (root.contains("architectures"))
    for (const json &item : root.at("architectures"))
      manifest.architectures.push_back({item.at("name"), item.at("compute"), item.value("exact", false)});
  for (const json &item : root.at("plans"))
    manifest.plans.push_back(parsePlan(item, manifest.architectures));
  return manifest;
}
} // namespace

Manifest parseManifestJson(std::string_view text, const std::string &where) {
  try {
    return parseAll(json::parse(text));
  } catch (const json::exception &error) {
    fail(where, concat("broken manifest: ", error.what()), kAgain);
  } catch (const Error &error) {
    fail(where, concat("broken manifest: ", error.what()), kAgain);
  }
}

} // namespace mpc::rt
