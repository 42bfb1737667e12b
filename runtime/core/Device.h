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
  std::string device = "auto";  // auto, host or emulator
  std::string arch;             // emulator: which plan ("sm_80"); "": the newest of the program
  int threads = 0;              // CPU threads; 0: all available
  std::string library = "auto"; // host: see LibraryProvider
  uint64_t threadOrder = 0;     // emulator: seed of the order in which GPU threads run
  NoteSink note;                // one-line notes for the user; null: dropped
};

class Device {
public:
  virtual ~Device() = default;

  /// "host, 2 threads", for notes and logs.
  virtual std::string description() const = 0;

  /// Bytes of the arena. A read sees everything that ran or was written before it.
  virtual void write(int64_t offset, const void *bytes, size_t count) = 0;
  virtual void read(int64_t offset, void *bytes, size_t count) const = 0;
  /// The address of an offset where the CPU reaches the arena itself, else null.
  virtual std::byte *mapped(int64_t) const { return nullptr; }

  /// Makes every launch of the plan ready; once, before the first run. Throws Error.
  virtual void prepare() = 0;
  /// Executes the launches of an entry in order, allocating nothing. With `seconds`, adds to its elements the time of each launch.
  /// Throws Error where the device found a fault.
  virtual void run(const Entry &entry, std::vector<double> *seconds = nullptr) = 0;
};

/// Chooses device and plan. Throws Error when the program has no plan for the device. The program must outlive the device.
struct ChosenDevice {
  const Plan *plan;
  std::unique_ptr<Device> device;
};
ChosenDevice chooseDevice(const Program &program, const DeviceOptions &options);

} // namespace mpc::rt
