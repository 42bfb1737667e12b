// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CPU as a device: a pool of threads runs kernels, and a library runs products and convolutions.
#pragma once

#include "runtime/devices/ArenaDevice.h"
#include "runtime/host/FaultReport.h"
#include "runtime/host/Threads.h"

#include <optional>
#include <unordered_map>

namespace mpc::rt {

class HostDevice : public ArenaDevice {
public:
  HostDevice(const Program &program, const Plan &plan, const DeviceOptions &options);
  ~HostDevice() override;

  std::string description() const override;
  void prepare() override;
  void run(const Entry &entry, std::vector<double> *seconds) override;
  void runObserved(const Entry &entry, LaunchObserver &observer) override;
  std::string implementation(const Entry &entry, size_t launch) const override;

private:
  struct Prepared {
    mpc_kernel_fn kernel = nullptr;
    int64_t grid = 0, grain = 1;
    LibraryProvider::Primitive library = {};
    void *scratch = nullptr; ///< null until shareExtraScratch if the plan has too little
    std::vector<void *> buffers;
  };
  Prepared prepare(const Launch &launch);
  void shareExtraScratch();
  void execute(const Prepared &launch);

  const Program &program_;
  const Plan &plan_;
  DeviceOptions options_;
  Threads threads_;
  std::unique_ptr<LibraryProvider> provider_;
  std::unordered_map<const Entry *, std::vector<Prepared>> prepared_;
  size_t extraBytes_ = 0; ///< the largest need of the launches that the plan has too little scratch for
  std::unique_ptr<Arena> extraScratch_;
  std::optional<FaultReport> faults_; // set with checkLaunches
};

} // namespace mpc::rt
