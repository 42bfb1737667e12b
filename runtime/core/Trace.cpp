// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Trace.h"

#include "runtime/core/StepLoop.h"
#include "runtime/host/Threads.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace mpc::rt {

std::map<std::string, Tensor> trace(Session &session, const Dataset &data, int64_t steps,
                                    const std::map<std::string, double> &hyper) {
  if (data.samples() < data.batch())
    fail("--data", concat("holds ", data.samples(), " samples, less than one batch of ", data.batch()),
         "give at least one whole batch");
  StepLoop loop(session, hyper, {}), first(session, hyper, {}, /*gradients=*/true);
  std::vector<uint32_t> samples(size_t(data.batch()));
  std::iota(samples.begin(), samples.end(), 0u);
  std::vector<const Port *> ports;
  std::vector<std::vector<std::byte>> staged;
  std::vector<std::byte> scratch;
  Threads reader(1); // a single batch is not worth several
  std::vector<const Entry *> entries = loop.entries();
  entries.insert(entries.end(), first.entries().begin(), first.entries().end());
  for (const Port *port : inputsOf(entries))
    if (stagedIndex(ports, *port) == ports.size()) {
      ports.push_back(port);
      staged.emplace_back(size_t(elementsOf(port->shape)) * sizeOf(port->dtype));
      data.fill(*port, samples, {}, staged.back().data(), scratch, reader);
    }

  std::map<std::string, Tensor> result;
  size_t optimizers = loop.entries().size();
  auto series = [&](const std::string &name, size_t optimizer, mpc_dtype type) -> Tensor & {
    Tensor &tensor = result[optimizers == 1 ? name : name + "/" + loop.name(optimizer)];
    if (tensor.bytes.empty())
      tensor = Tensor(type, {steps});
    return tensor;
  };
  auto userName = [&](const std::string &variable) { return session.manifest().variable(variable)->userName(); };
  auto load = [&](const Entry &entry) {
    for (const Port &port : entry.inputs)
      session.setStored(port, staged[stagedIndex(ports, port)].data());
  };
  int64_t firsts = 1; // each step has run once behind these
  for (const Step &step : session.manifest().steps) {
    firsts = std::max(firsts, step.every);
    if (steps < step.every)
      fail("--steps", concat("ends before '", step.name, "' runs for the first time, at step ", step.every),
           concat("trace at least ", step.every, " steps"));
  }
  for (int64_t i = 0; i < steps; ++i) {
    size_t current = 0; // position of the entry
    const auto &reports = (i < firsts ? first : loop).run(i, load, [&](const Entry &entry) {
      while (i < firsts && first.entries()[current] != &entry)
        ++current;
      if (i + 1 != session.manifest().steps[current].every)
        return; // not its first run
      for (const Port &port : entry.outputs)
        if (port.role == "grad")
          result["grad/" + (port.of.empty() ? port.name : userName(port.of))] = session.read(port);
    });
    for (size_t o = 0; o < optimizers; ++o) {
      series("loss", o, MPC_F32).as<float>()[size_t(i)] =
          reports[o].ran ? float(reports[o].loss) : std::numeric_limits<float>::quiet_NaN();
      if (session.manifest().steps[o].scaler)
        series("scale", o, MPC_F32).as<float>()[size_t(i)] = float(reports[o].scale);
      if (loop.maySkip())
        series("skipped", o, MPC_BOOL).as<uint8_t>()[size_t(i)] = reports[o].skipped;
    }
  }
  if (optimizers > 1)
    result["loss"] = result["loss/" + loop.name(0)];
  for (const Storage &storage : session.plan().storage)
    result["state/" + userName(storage.variable)] = session.variable(storage.variable);
  return result;
}

} // namespace mpc::rt
