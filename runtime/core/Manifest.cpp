// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Manifest.h"

#include "runtime/core/ManifestJson.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <map>
#include <set>

namespace mpc::rt {

template <typename T>
static const T *findByName(const std::vector<T> &items, std::string_view name) {
  auto it = std::find_if(items.begin(), items.end(), [&](const T &item) { return item.name == name; });
  return it == items.end() ? nullptr : &*it;
}

std::string Range::text() const { return concat("[", low, ", ", below, ")", also ? concat(" or ", *also) : ""); }
bool Range::covers(int64_t element, const Shape &shape) const {
  for (size_t d = from.size(); d-- > 0; element /= shape[d + 1])
    if (int64_t at = element % shape[d + 1]; at < from[d] || at >= to[d])
      return false;
  return true;
}
std::string Range::part() const {
  std::string text;
  for (size_t d = 0; d < from.size(); ++d)
    text += concat(d == 0 ? "[:, " : ", ", from[d], ":", to[d]);
  return from.empty() ? "" : text + "]";
}
/// Returns "[samples,3,8]" for a shape whose leading dimension counts samples.
static std::string samplesText(const Shape &shape) {
  std::string text = "[samples";
  for (size_t d = 1; d < shape.size(); ++d)
    text += concat(",", shape[d]);
  return text + "]";
}
std::string LabelsOf::text() const {
  return concat("'", scores, "' ", samplesText(shape), " with its classes along dimension ", axis);
}
Port Port::ofClassNumbers() const {
  Port numbers = *this;
  const auto axis = numbers.shape.begin() + labelsOf->axis;
  numbers.dtype = MPC_I64;
  numbers.ranges = {{"label", 0, *axis, {}}};
  numbers.shape.erase(axis);
  numbers.permutation.clear();
  return numbers;
}
std::string Port::refusal(int64_t value, int64_t element) const {
  for (const Range &range : ranges)
    if (!range.holds(value) && range.covers(element, shape))
      return concat(range.what, " ", value, ", not in ", range.text());
  return "";
}

const Port *Entry::input(std::string_view name) const { return findByName(inputs, name); }
const Port *Entry::output(std::string_view name) const { return findByName(outputs, name); }
const Port *Entry::outputOfRole(std::string_view role) const {
  for (const Port &port : outputs)
    if (port.role == role)
      return &port;
  return nullptr;
}
const Entry *Plan::entry(std::string_view name) const { return findByName(entries, name); }
const Entry *Plan::entryOfKind(std::string_view kind) const {
  for (const Entry &entry : entries)
    if (entry.kind == kind)
      return &entry;
  return nullptr;
}
const Variable *Manifest::variable(std::string_view name) const { return findByName(variables, name); }
const Variable *Manifest::carriedState() const {
  for (const Variable &variable : variables)
    if (variable.role == "state")
      return &variable;
  return nullptr;
}
const Plan *Manifest::plan(std::string_view target) const {
  for (const Plan &plan : plans)
    if (plan.target == target)
      return &plan;
  return nullptr;
}
const Architecture *Manifest::architectureFor(int64_t compute) const {
  const Architecture *best = nullptr;
  for (const Architecture &arch : architectures)
    if (arch.runsOn(compute) && (!best || arch.isBetterThan(*best)))
      best = &arch;
  return best;
}

namespace {
/// These checks make a session safe to run, whatever the manifest says.
struct Checker {
  const Manifest &manifest;
  const std::string &where;
  int64_t dataBytes;

  [[noreturn]] void broken(const std::string &what) const {
    fail(where, "broken manifest: " + what, "compile the model again with the mpc of this runtime's version");
  }

  void inside(int64_t offset, int64_t bytes, int64_t limit, const std::string &what) const {
    if (offset < 0 || bytes < 0 || offset > limit || bytes > limit - offset)
      broken(concat(what, " lies outside its memory: offset ", offset, ", ", bytes, " bytes of ", limit));
  }

  /// Checks the offset, because elements are read and written in place; the arena itself is aligned for all types.
  void aligned(int64_t offset, mpc_dtype type, const std::string &what) const {
    if (offset % int64_t(sizeOf(type)) != 0)
      broken(concat(what, " is of type ", nameOf(type), " and lies at offset ", offset));
  }

  void shape(const Shape &shape, const std::string &what) const {
    if (!bytesOf(MPC_F64, shape))
      broken(concat(what, " has the impossible shape ", toString(shape)));
  }

  void permutation(const std::vector<int64_t> &permutation, const Shape &shape, const std::string &what) const {
    if (permutation.empty())
      return;
    std::set<int64_t> seen(permutation.begin(), permutation.end());
    if (permutation.size() != shape.size() || seen.size() != shape.size() || *seen.begin() != 0 ||
        *seen.rbegin() != int64_t(shape.size()) - 1)
      broken(concat(what, " has a permutation that does not fit the shape ", toString(shape)));
  }

  void parts(const Port &port, const std::string &what) const {
    for (const Range &range : port.ranges)
      if (range.from.size() != range.to.size() || (!range.from.empty() && range.from.size() + 1 != port.shape.size()))
        broken(concat(what, " bounds a part that does not fit the shape ", toString(port.shape)));
  }

  void variables() const {
    std::set<std::string> names;
    for (const Variable &v : manifest.variables) {
      std::string what = concat("variable '", v.name, "'");
      if (!names.insert(v.name).second)
        broken(what + " is listed twice");
      shape(v.shape, what);
      int64_t bytes = elementsOf(v.shape) * int64_t(sizeOf(v.dtype));
      if (v.init.kind == Init::Data) {
        inside(v.init.offset, v.init.bytes, dataBytes, what + "'s initial value");
        if (v.init.bytes != bytes)
          broken(concat(what, " has ", v.init.bytes, " initial bytes for ", bytes));
      }
      if (v.init.kind == Init::Copy) {
        const Variable *master = manifest.variable(v.of);
        if (!master || master->shape != v.shape || master->init.kind == Init::Copy)
          broken(what + " copies something of another shape or nothing");
      }
      if ((v.init.kind == Init::Normal || v.init.kind == Init::Uniform) && !isFloat(v.dtype))
        broken(what + " draws real numbers into an integer type");
    }
  }

  void port(const Port &port, const Plan &plan, const std::string &entry) const {
    std::string what = concat("'", port.name, "' of entry '", entry, "'");
    shape(port.shape, what);
    permutation(port.permutation, port.shape, what);
    parts(port, what);
    if (port.takesProbabilities() && (port.labelsOf->axis < 1 || port.labelsOf->axis >= int64_t(port.shape.size())))
      broken(concat(what, " has no dimension ", port.labelsOf->axis, " of classes"));
    inside(port.offset, port.bytes, plan.arenaBytes, what);
    aligned(port.offset, port.dtype, what);
    if (port.bytes < elementsOf(port.shape) * int64_t(sizeOf(port.dtype)))
      broken(concat(what, " has ", port.bytes, " bytes for shape ", toString(port.shape)));
    if (port.batched && (port.shape.empty() || manifest.batch <= 0 || port.shape[0] % manifest.batch != 0))
      broken(concat(what, " is batched, but ", toString(port.shape), " has no leading batch of ", manifest.batch));
  }

  void floats(const std::vector<FloatTensor> &tensors, const Plan &plan, const std::string &what) const {
    for (const FloatTensor &tensor : tensors) {
      if (!isFloat(tensor.dtype))
        broken(concat(what, " is no tensor of floats"));
      inside(tensor.offset,
             tensor.count < 0 || tensor.count > plan.arenaBytes / int64_t(sizeOf(tensor.dtype)) ? -1 : tensor.bytes(),
             plan.arenaBytes, what);
    }
  }

  /// Checks that a map's lists go together and that its tensor lies inside the argument of `bytes`.
  void tensorMap(const TensorMap &map, int64_t bytes, const std::string &what) const {
    size_t rank = map.sizes.size();
    bool im2col = map.pixels != 0;
    bool good = rank >= (im2col ? 3 : 1) && rank <= 5 && map.strides.size() == rank - 1 && map.steps.size() == rank &&
                map.box.size() == (im2col ? 1 : rank) && map.lower.size() == (im2col ? rank - 2 : 0) &&
                map.upper.size() == map.lower.size();
    int64_t rest = bytes - int64_t(sizeOf(map.dtype));
    for (size_t d = 0; good && d < rank; ++d) {
      int64_t stride = d == 0 ? int64_t(sizeOf(map.dtype)) : map.strides[d - 1];
      good = stride > 0 && map.sizes[d] > 0 && map.sizes[d] - 1 <= rest / stride;
      rest -= good ? (map.sizes[d] - 1) * stride : 0;
    }
    if (!good || rest < 0)
      broken(what + " has an impossible tensor map");
  }

  void gpuKernels(const Plan &plan) const {
    bool isHost = plan.target == "host";
    if (isHost == plan.gpu.has_value())
      broken(concat("'", plan.target, "' is ", isHost ? "an architecture" : "none of the architectures"));
    if (isHost)
      return;
    std::map<std::string, const GpuKernel *> known;
    for (const GpuKernel &kernel : plan.kernels) {
      if (!known.emplace(kernel.symbol, &kernel).second)
        broken(concat("kernel '", kernel.symbol, "' of ", plan.target, " is listed twice"));
      if (kernel.module < 0 || kernel.module >= int64_t(plan.modules.size()) || kernel.threads < 1 ||
          kernel.threads > 1024 || kernel.sharedBytes < 0 || kernel.resident < 0 || kernel.resident > 32 ||
          kernel.cluster < 1)
        broken(concat("kernel '", kernel.symbol, "' of ", plan.target,
                      " has an impossible module, block or shared memory"));
    }
    for (const Entry &entry : plan.entries)
      for (const Launch &launch : entry.launches)
        if (launch.library || !known.contains(launch.kernel) || launch.argBytes.size() != launch.args.size())
          broken(concat("launch '", launch.name, "' of entry '", entry.name, "' is none of ", plan.target));
        else if (launch.grid[0] % known[launch.kernel]->cluster != 0)
          broken(concat("launch '", launch.name, "' of entry '", entry.name, "' has an impossible grid"));
        else
          for (const TensorMap &map : known[launch.kernel]->tensorMaps)
            tensorMap(map,
                      map.arg < 0 || map.arg >= int64_t(launch.args.size()) ? -1 : launch.argBytes[size_t(map.arg)],
                      concat("kernel '", launch.kernel, "' of ", plan.target));
  }

  void plan(const Plan &plan) const {
    if (plan.arenaBytes < 0)
      broken("negative arena size");
    std::set<std::string> stored;
    for (const Storage &s : plan.storage) {
      std::string what = concat("storage of '", s.variable, "'");
      const Variable *v = manifest.variable(s.variable);
      if (!v)
        broken(what + " belongs to no variable");
      if (!stored.insert(s.variable).second)
        broken(what + " is listed twice");
      inside(s.offset, s.bytes, plan.arenaBytes, what);
      aligned(s.offset, v->dtype, what);
      permutation(s.permutation, v->shape, what);
      if (s.bytes < elementsOf(v->shape) * int64_t(sizeOf(v->dtype)))
        broken(concat(what, " has ", s.bytes, " bytes for shape ", toString(v->shape)));
    }
    for (const Constant &c : plan.constants) {
      inside(c.offset, c.bytes, plan.arenaBytes, "a constant");
      inside(c.dataOffset, c.bytes, dataBytes, "a constant's value");
    }
    for (const Entry &entry : plan.entries) {
      for (const Port &p : entry.inputs) {
        port(p, plan, entry.name);
        if (p.batched && p.shape[0] == 0)
          broken(concat("'", p.name, "' of entry '", entry.name, "' has no samples"));
      }
      for (const Port &p : entry.outputs)
        port(p, plan, entry.name);
      for (const Launch &launch : entry.launches) {
        std::string what = concat("launch '", launch.name, "' of entry '", entry.name, "'");
        if (launch.kernel.empty() == !launch.library)
          broken(what + " needs either a kernel or a library call");
        for (int64_t extent : launch.grid)
          if (extent < 0)
            broken(what + " has an impossible grid");
        if (launch.grain < 1)
          broken(what + " has an impossible grain");
        bool sized = !launch.argBytes.empty();
        if (sized && launch.argBytes.size() != launch.args.size())
          broken(what + " does not say how large its arguments are");
        for (int64_t position : launch.writes)
          if (position < 0 || position >= int64_t(launch.args.size()))
            broken(what + " writes an argument that it does not have");
        for (size_t i = 0; i < launch.args.size(); ++i)
          inside(launch.args[i], sized ? launch.argBytes[i] : 0, plan.arenaBytes, "an argument of " + what);
        inside(launch.scratch, launch.scratchBytes, plan.arenaBytes, "the scratch of " + what);
        floats(launch.operands, plan, "an operand of " + what);
        floats(launch.results, plan, "a result of " + what);
      }
    }
    gpuKernels(plan);
    for (const Step &step : manifest.steps) {
      const Entry *entry = plan.entry(step.entry);
      if (!entry || entry->kind != "train")
        broken(concat("step '", step.name, "' has no train entry '", step.entry, "' for ", plan.target));
      constexpr int64_t kMost = int64_t(1) << 31; // their product must not overflow
      if (step.accumulate < 1 || step.every < 1 || step.accumulate > kMost || step.every > kMost)
        broken(concat("step '", step.name, "' runs on each batch of ", step.every, " and updates after ",
                      step.accumulate, " runs"));
      if (!step.traceEntry.empty() && !plan.entry(step.traceEntry))
        broken(concat("step '", step.name, "' has no trace entry '", step.traceEntry, "' for ", plan.target));
      auto scalar = [&](const std::string &name) {
        const Variable *v = manifest.variable(name);
        if (!v || elementsOf(v->shape) != 1 || !stored.contains(name))
          broken(concat("step '", step.name, "' refers to '", name, "', which is no stored scalar variable"));
      };
      for (const Hyper &hyper : step.hyper)
        scalar(hyper.variable);
      if (!step.nanGuard.variable.empty())
        scalar(step.nanGuard.variable);
      if (step.scaler) {
        if (!step.scaler->scale.empty())
          scalar(step.scaler->scale);
        if (!step.scaler->tracker.empty())
          scalar(step.scaler->tracker);
        if (!step.scaler->skipped.empty())
          scalar(step.scaler->skipped);
      }
    }
  }
};
} // namespace

Manifest Manifest::parse(std::string_view json, int64_t dataBytes, const std::string &where) {
  Manifest manifest = parseManifestJson(json, where);
  Checker checker{manifest, where, dataBytes};
  checker.variables();
  for (const Plan &plan : manifest.plans)
    checker.plan(plan);
  return manifest;
}

} // namespace mpc::rt
