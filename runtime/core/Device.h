// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device executes a plan: it holds the arena, in whichever memory that lies, and runs the launches of
// the plan's entries.
#pragma once

#include "runtime/core/Program.h"
#include "runtime/host/LibraryProvider.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mpc::rt {

struct DeviceOptions {
  std::string device = "auto";  // auto, cuda, host or emulator
  std::string arch;             // emulator: architecture of the plan to run ("sm_80"); "": the newest of the program
  int threads = 0;              // CPU threads; 0: all available
  std::string library = "auto"; // host: see LibraryProvider
  uint64_t threadOrder = 0;     // emulator: seed of the order in which GPU threads run
  bool checkLaunches = false;   // wait for every launch; a fault is an Error that names its node
  double launchSeconds = 20;    // GPUs, with checkLaunches: a launch that takes longer is an Error; 0: wait without end
  NoteSink note;                // receives one-line notes for the user; null: they are dropped
};

/// A range of bytes of the arena.
struct ArenaRange {
  int64_t offset;
  size_t bytes;
};

/// Copies of parts of the arena that are taken while the device works and read later, in numbered slots.
class Snapshots {
public:
  virtual ~Snapshots() = default;
  /// Copies the ranges into a slot, with the values that they have after all runs and writes so far. It neither waits
  /// for the device nor allocates.
  virtual void take(size_t slot) = 0;
  /// Returns a range as a slot holds it; waits until the copy is done.
  virtual const std::byte *range(size_t slot, size_t index) = 0;
};

/// Is called between the launches of an entry and may look at the arena.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  virtual void before(const Launch &launch) = 0;
  virtual void after(const Launch &launch) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// Returns e.g. "host, 2 threads", for notes and logs.
  virtual std::string description() const = 0;

  /// Write and read bytes of the arena. A read sees everything that ran or was written before it.
  virtual void write(int64_t offset, const void *bytes, size_t count) = 0;
  virtual void read(int64_t offset, void *bytes, size_t count) const = 0;
  /// Writes an input of the next run; the caller may change `bytes` as soon as it returns. The device may copy while
  /// earlier runs still execute.
  virtual void stage(int64_t offset, const void *bytes, size_t count) { write(offset, bytes, count); }
  /// Returns the address of an offset if the CPU can reach the arena directly, else null.
  virtual std::byte *mapped(int64_t) const { return nullptr; }

  /// Makes every launch of the plan ready; called once, before the first run. Throws Error.
  virtual void prepare() = 0;
  /// Executes the launches of an entry in order, allocating nothing. With `seconds`, adds to its elements the
  /// time of each launch. Throws Error if the device found a fault.
  virtual void run(const Entry &entry, std::vector<double> *seconds = nullptr) = 0;
  /// Does the same launch by launch; each launch is done before the observer is called for it.
  virtual void runObserved(const Entry &entry, LaunchObserver &observer) = 0;

  /// Returns what executes a launch of an entry, if it is a library's call: "oneDNN jit:avx2"; otherwise "".
  virtual std::string implementation(const Entry &, size_t) const { return ""; }

  /// Returns how many iterations may be started before the report of the first is looked at: 1 if `run` returns only
  /// when all work is done.
  virtual size_t iterationsAhead() const { return 1; }
  virtual std::unique_ptr<Snapshots> snapshots(std::vector<ArenaRange> ranges, size_t slots);
};

/// Chooses device and plan. Throws Error when the program has no plan for the device. The program must
/// outlive the device.
struct ChosenDevice {
  const Plan *plan;
  std::unique_ptr<Device> device;
};
ChosenDevice chooseDevice(const Program &program, const DeviceOptions &options);

/// Describes the GPU of this machine for people; empty if the program, the driver or the machine has none.
std::string describeGpu(const Program &program);

/// Returns "'conv1' (Conv_0)": a launch by its dispatch and its ONNX node.
std::string describe(const Launch &launch);

} // namespace mpc::rt
