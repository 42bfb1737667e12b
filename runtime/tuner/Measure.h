// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs one candidate on a device: gets its results, and measures how long it takes on data that the L2
// cache does not hold.
#pragma once

#include "runtime/devices/CudaDevice.h"
#include "runtime/devices/EmulatorDevice.h"

#include <map>
#include <tuple>

namespace mpc::rt {

/// How much a measurement may cost.
struct Effort {
  size_t iterations = 100; // the least number of iterations
  double seconds = 0.2;    // more iterations run while they fit into this time
};

/// Holds a plan whose entries go through several sets of their buffers, one launch (or two, if sums are split)
/// after the other, and a device that runs it.
class CandidateBench {
public:
  /// `emulator` chooses the kind of device. The emulator gets one set of buffers, and each of its
  /// measurements is one run.
  CandidateBench(const Program &program, const Plan &plan, bool emulator);

  std::string gpu() const { return gpu_; }
  /// Returns the entry's result on small integers, whose sums are exact in whatever order they are added: equal
  /// problems give equal bytes.
  std::vector<std::byte> exactResult(const std::string &entry);
  /// Returns the median time in seconds, on normally distributed data.
  double seconds(const std::string &entry, const Effort &effort);

private:
  struct Layout {
    std::vector<Port> inputs;
    Port output;
    int64_t stride = 0; // bytes from one set to the next
    int64_t sets = 1;
  };
  void repeat(Entry &entry, bool emulator);
  size_t indexOf(const std::string &entry) const;
  /// Fills the inputs of so many sets with the drawn numbers, repeated as often as needed.
  void fill(const Layout &layout, int64_t sets, bool integers);
  const std::vector<std::byte> &drawn(mpc_dtype type, size_t operand, bool integers);

  Plan plan_; // must stand before the device, which refers to it
  std::vector<Layout> layouts_;
  std::unique_ptr<CudaDevice> cuda_;
  std::unique_ptr<EmulatorDevice> emulator_;
  Device *device_ = nullptr;
  std::string gpu_;
  /// The numbers by element type, operand and kind; each is drawn once.
  std::map<std::tuple<mpc_dtype, size_t, bool>, std::vector<std::byte>> drawn_;
  std::string filled_; // names the layout and data that the arena holds
};

} // namespace mpc::rt
