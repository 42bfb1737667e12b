// What executes a plan: its arena, wherever that lies, and the launches of its entries.
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
  std::string arch;             // emulator: which plan ("sm_80"); "": the newest of the program
  int threads = 0;              // CPU threads; 0: all available
  std::string library = "auto"; // host: see LibraryProvider
  uint64_t threadOrder = 0;     // emulator: seed of the order in which GPU threads run
  bool checkLaunches = false;   // wait for every launch; a fault is an Error that names its node
  NoteSink note;                // one-line notes for the user; null: dropped
};

/// Bytes of the arena.
struct ArenaRange {
  int64_t offset;
  size_t bytes;
};

/// Copies of parts of the arena that are taken while the device works and looked at later, in numbered slots.
class Snapshots {
public:
  virtual ~Snapshots() = default;
  /// Copies the ranges into a slot, as they are behind all that was run and written so far. Neither waits for
  /// the device nor allocates.
  virtual void take(size_t slot) = 0;
  /// A range as a slot holds it; waits until it is there.
  virtual const std::byte *range(size_t slot, size_t index) = 0;
};

/// Looks at the arena between the launches of an entry.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  virtual void before(const Launch &launch) = 0;
  virtual void after(const Launch &launch) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// "host, 2 threads", for notes and logs.
  virtual std::string description() const = 0;

  /// Bytes of the arena. A read sees everything that ran or was written before it.
  virtual void write(int64_t offset, const void *bytes, size_t count) = 0;
  virtual void read(int64_t offset, void *bytes, size_t count) const = 0;
  /// Writes an input of the next run; `bytes` may be changed when it returns. The device may copy while
  /// earlier runs go on.
  virtual void stage(int64_t offset, const void *bytes, size_t count) { write(offset, bytes, count); }
  /// The address of an offset where the CPU reaches the arena itself, else null.
  virtual std::byte *mapped(int64_t) const { return nullptr; }

  /// Makes every launch of the plan ready; once, before the first run. Throws Error.
  virtual void prepare() = 0;
  /// Executes the launches of an entry in order, allocating nothing. With `seconds`, adds to its elements the
  /// time of each launch. Throws Error where the device found a fault.
  virtual void run(const Entry &entry, std::vector<double> *seconds = nullptr) = 0;
  /// The same launch by launch, each done before the observer hears of it.
  virtual void runObserved(const Entry &entry, LaunchObserver &observer) = 0;

  /// How many iterations may be started before the report of the first is looked at: 1 where `run` returns
  /// when all is done.
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

/// The GPU of this machine, for people; empty where the program, the driver or the machine has none.
std::string describeGpu(const Program &program);

/// "'conv1' (Conv_0)": a launch by its dispatch and its ONNX node.
std::string describe(const Launch &launch);

} // namespace mpc::rt
