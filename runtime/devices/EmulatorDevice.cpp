// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/devices/EmulatorDevice.h"

#include "runtime/devices/CudaDevice.h"
#include "runtime/support/Error.h"

#include <chrono>

namespace mpc::rt {

std::string emulatorSection(std::string_view arch) { return concat("emulator.", arch, ".so"); }

const Plan &chooseEmulatedPlan(const Program &program, const std::string &arch) {
  const Plan *chosen = nullptr;
  std::string emulated, named = "sm_80"; // what the hint names: a GPU of the program, if it has one
  for (const Plan &plan : program.manifest().plans) {
    if (!plan.gpu)
      continue;
    named = plan.target;
    if (!program.has(emulatorSection(plan.target)))
      continue;
    emulated += (emulated.empty() ? "" : ", ") + plan.target;
    if (arch.empty() ? !chosen || plan.gpu->isBetterThan(*chosen->gpu) : plan.target == arch)
      chosen = &plan;
  }
  if (!chosen)
    fail(program.where(),
         emulated.empty() ? "carries no emulator"
                          : concat("has no emulated kernels for '", arch, "' (it has: ", emulated, ")"),
         concat("compile the model with --target=", !arch.empty() ? arch : named, ",emulator"));
  return *chosen;
}

EmulatorDevice::EmulatorDevice(const Program &program, const Plan &plan, const DeviceOptions &options)
    : ArenaDevice(plan.arenaBytes), plan_(plan), options_(options) {
  plugin_ = std::make_unique<SharedObject>(program.section(kEmulatorSection),
                                           concat(program.where(), ": ", kEmulatorSection), /*global=*/true);
  auto entry = reinterpret_cast<const mpc_emulator *(*)()>(plugin_->symbol("mpc_emulator_plugin"));
  if (entry)
    interface_ = entry();
  if (!interface_ || interface_->version != MPC_EMU_PLUGIN)
    fail(program.where(), "carries an emulator that this runtime does not know", "compile the model again");
  std::string name = emulatorSection(plan.target);
  std::string_view object = program.section(name);
  emulator_ = interface_->open(object.data(), object.size(), concat(program.where(), ": ", name).c_str(),
                               uint32_t(options.threads), options.threadOrder);
  if (!emulator_)
    failFromPlugin();
}

EmulatorDevice::~EmulatorDevice() {
  if (emulator_)
    interface_->close(emulator_);
}

void EmulatorDevice::failFromPlugin() const { fail(interface_->error(0), interface_->error(1), interface_->error(2)); }

std::string EmulatorDevice::description() const { return concat("emulator of ", plan_.target); }

void EmulatorDevice::prepare() {
  // The number is so small that blocks have several pieces of work even in small networks.
  constexpr int64_t multiprocessors = 4;
  std::unordered_map<std::string_view, const GpuKernel *> kernels;
  for (const GpuKernel &kernel : plan_.kernels)
    kernels[kernel.symbol] = &kernel;
  for (const Entry &entry : plan_.entries)
    for (const Launch &launch : entry.launches) {
      blocks_[&launch] = uint32_t(kernels.at(launch.kernel)->blocks(launch.grid[0], multiprocessors));
      std::vector<mpc_emu_buffer> &buffers = buffers_[&launch];
      for (size_t i = 0; i < launch.args.size(); ++i)
        buffers.push_back({arena_.at(launch.args[i]), uint64_t(launch.argBytes[i]), false});
      for (int64_t written : launch.writes)
        buffers[size_t(written)].writable = true;
    }
}

void EmulatorDevice::execute(const Launch &launch) {
  const uint32_t grid[3] = {blocks_.at(&launch), uint32_t(launch.grid[1]), uint32_t(launch.grid[2])};
  const std::vector<mpc_emu_buffer> &buffers = buffers_.at(&launch);
  if (interface_->launch(emulator_, launch.kernel.c_str(), grid, buffers.data(), uint32_t(buffers.size()),
                         launch.name.c_str()))
    failFromPlugin();
}

void EmulatorDevice::run(const Entry &entry, std::vector<double> *seconds) {
  if (seconds)
    seconds->resize(entry.launches.size());
  for (size_t i = 0; i < entry.launches.size(); ++i) {
    auto start = std::chrono::steady_clock::now();
    execute(entry.launches[i]);
    if (seconds)
      (*seconds)[i] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

void EmulatorDevice::runObserved(const Entry &entry, LaunchObserver &observer) {
  for (const Launch &launch : entry.launches) {
    observer.before(launch);
    execute(launch);
    observer.after(launch);
  }
}

} // namespace mpc::rt
