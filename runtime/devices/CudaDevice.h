// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An NVIDIA GPU.
#pragma once

#include "runtime/core/Device.h"
#include "runtime/cuda/InputFeed.h"

namespace mpc::rt {

/// Returns the plan that runs best on a GPU: of those whose architecture runs on it, and that need no more shared
/// memory than it has, the one of the newest architecture. Throws Error that lists both sides when there is none.
const Plan &choosePlan(const Program &program, const cuda::Gpu &gpu);

/// `run` gives the GPU an entry as one graph and does not wait for it. Everything runs in order on one
/// stream; only inputs are copied on another.
class CudaDevice final : public Device {
public:
  /// Throws Error when the GPU does not have enough memory, or the driver cannot load the kernels.
  CudaDevice(const Program &program, const Plan &plan, const cuda::Gpu &gpu, const DeviceOptions &options);

  std::string description() const override;
  void write(int64_t offset, const void *bytes, size_t count) override;
  void read(int64_t offset, void *bytes, size_t count) const override;
  void stage(int64_t offset, const void *bytes, size_t count) override;
  void prepare() override;
  void run(const Entry &entry, std::vector<double> *seconds) override;
  void runObserved(const Entry &entry, LaunchObserver &observer) override;
  size_t iterationsAhead() const override;
  std::unique_ptr<Snapshots> snapshots(std::vector<ArenaRange> ranges, size_t slots) override;
  /// Returns the seconds that each of `count` runs of an entry takes on the GPU; the entry must have launches.
  std::vector<double> time(const Entry &entry, size_t count);

private:
  void loadKernels();
  /// Returns the index of the launch's kernel in the plan.
  size_t kernelOf(const Launch &launch) const;
  void launch(const Launch &launch) const;
  void runTimed(const Entry &entry, std::vector<double> &seconds);
  /// Gives the GPU `count` pieces of work one after the other, with events between them, and adds to each element of
  /// `seconds` the time of its piece.
  template <typename Start>
  void addTimes(size_t count, double *seconds, Start start);
  void runChecked(const Entry &entry);
  /// Waits until the launch, the newest of the entry, is done. Throws Error that names it when it failed, or when it
  /// has not ended in time.
  void waitChecked(const Entry &entry, const Launch &launch);
  void wait() const;

  const Program &program_;
  const Plan &plan_;
  cuda::Gpu gpu_;
  NoteSink note_;
  bool checkLaunches_;
  double launchSeconds_;
  mutable cuda::Context context_;
  const cuda::Driver &cu_;
  cuda::StreamHandle compute_;
  cuda::Address arena_;
  std::byte *bounce_; // pinned, for writes and reads that are waited for
  mutable std::optional<cuda::InputFeed> feed_;
  std::vector<cuda::FunctionHandle> functions_; // one per kernel of the plan
  std::vector<cuda::ExecutableHandle> graphs_;  // one per entry; null if it launches nothing
  std::vector<cuda::EventHandle> timers_;
};

} // namespace mpc::rt
