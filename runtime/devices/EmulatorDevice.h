// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A GPU that does not exist: it executes a GPU plan on the CPU, with all the checks of the emulator.
#pragma once

#include "mpc/emulator.h"
#include "runtime/devices/ArenaDevice.h"

#include <unordered_map>

namespace mpc::rt {

/// Names of sections: that of the emulator itself, and that of the emulated kernels of an architecture.
inline constexpr char kEmulatorSection[] = "emulator.so";
std::string emulatorSection(std::string_view arch);

/// Returns the plan of this architecture ("": the newest) that the program has emulated kernels for. Throws Error
/// that lists them when there is none.
const Plan &chooseEmulatedPlan(const Program &program, const std::string &arch);

class EmulatorDevice : public ArenaDevice {
public:
  /// Throws Error when the program has no emulated kernels for the plan.
  EmulatorDevice(const Program &program, const Plan &plan, const DeviceOptions &options);
  ~EmulatorDevice() override;

  std::string description() const override;
  void prepare() override;
  void run(const Entry &entry, std::vector<double> *seconds) override;
  void runObserved(const Entry &entry, LaunchObserver &observer) override;

private:
  [[noreturn]] void failFromPlugin() const;
  void execute(const Launch &launch);

  const Plan &plan_;
  DeviceOptions options_;
  std::unique_ptr<SharedObject> plugin_;
  const mpc_emulator *interface_ = nullptr;
  void *emulator_ = nullptr;
  std::unordered_map<const Launch *, std::vector<mpc_emu_buffer>> buffers_;
  std::unordered_map<const Launch *, uint32_t> blocks_; // blocks along x
};

} // namespace mpc::rt
