// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One running copy of a program on a device: its state, and the entries that change it.
#pragma once

#include "runtime/core/Device.h"
#include "runtime/core/Transpose.h"

#include <deque>
#include <memory>
#include <unordered_map>

namespace mpc::rt {

struct SessionOptions : DeviceOptions {
  uint64_t seed = 0; // seed of the random initial values
};

/// The place of a number in the arena.
struct Scalar {
  int64_t offset;
  mpc_dtype type;
};

class Session {
public:
  /// Chooses the device, writes constants and initial state, prepares every launch. Throws Error.
  explicit Session(std::shared_ptr<const Program> program, SessionOptions options = {});

  const Program &program() const { return *program_; }
  const Manifest &manifest() const { return program_->manifest(); }
  const Plan &plan() const { return *plan_; }
  const Device &device() const { return *device_; }

  /// Return the entry of that name, or the first entry of that kind. Throw Error when there is none.
  const Entry &entry(std::string_view name) const;
  const Entry &entryOfKind(std::string_view kind) const;

  /// Writes an input. The value has the port's dtype (it is converted when it differs) and a shape of the same layout
  /// (see sameLayout), or one whose samples have the same layout. Inputs share the arena with temporaries: write all of
  /// them before each run. Throws Error, also for values that the port's type cannot represent, and for integers that
  /// the port may not hold.
  void setInput(const Entry &entry, std::string_view name, const TensorView &value);
  /// Returns the input of that name. Throws Error, as setInput does, when there is none or it cannot take an
  /// array of the shape.
  const Port &inputFor(const Entry &entry, std::string_view name, std::span<const int64_t> shape) const;
  /// Writes an input that is already in stored order (see Transpose) and of the port's dtype.
  void setStored(const Port &port, const void *bytes);
  /// Overwrites the first stored element of an input.
  void setFirst(const Port &port, double value);
  /// Executes the entry's launches in order. Allocates nothing; throws Error only if the device found a fault.
  void run(const Entry &entry);
  /// Does the same launch by launch.
  void runObserved(const Entry &entry, LaunchObserver &observer);
  /// Starts (true) or stops (false) summing the seconds of each launch in `run`; forgets earlier sums.
  void startProfile(bool on);
  /// Returns the seconds of each launch of the entry, in order, since startProfile(true); empty when it
  /// has not run since.
  const std::vector<double> &profile(const Entry &entry) const;
  /// Returns what executes a launch, as of Device.
  std::string implementation(const Entry &entry, size_t launch) const { return device_->implementation(entry, launch); }
  /// Copies an output of the entry that ran last. Throws Error for an unknown name.
  Tensor output(const Entry &entry, std::string_view name) const;
  Tensor read(const Port &port) const;
  /// Does the same into memory of the caller, which holds as many bytes as a Tensor of the port.
  void read(const Port &port, void *logical) const;
  /// Returns the first element of an output, without allocating.
  double readScalar(const Port &port) const;

  /// Return the place of the first element of an output, or of a variable.
  static Scalar scalarOf(const Port &port) { return {port.offset, port.dtype}; }
  Scalar scalarOf(std::string_view variable) const;
  /// Counts changes of the state, that is runs and variables that are set. If two calls return equal numbers, nothing
  /// changed in between.
  uint64_t changes() const { return changes_; }
  size_t iterationsAhead() const { return device_->iterationsAhead(); }
  std::unique_ptr<Snapshots> snapshots(const std::vector<Scalar> &scalars, size_t slots);

  /// Returns a variable in logical order. Throws Error for an unknown name.
  Tensor variable(std::string_view name) const;
  /// Sets a variable (its dtype is converted when it differs; the shape must be equal) and refreshes its copies.
  /// Throws Error, and changes nothing, for values that its type cannot represent.
  void setVariable(std::string_view name, const TensorView &value);
  /// Throws the Error that setVariable would throw, and changes nothing.
  void checkVariable(std::string_view name, const TensorView &value) const;
  /// Return or set the first element of a variable, for scalars.
  double variableScalar(std::string_view name) const;
  void setVariableScalar(std::string_view name, double value);
  /// Returns whether this plan stores the variable.
  bool stores(std::string_view name) const;
  /// Sets all variables to their initial values, with a new seed for the random ones.
  void initialize(uint64_t seed);
  /// Sets the states that are carried from batch to batch to their initial values, before a sequence of batches.
  void beginSequence();

private:
  struct Stored {
    const Variable *variable;
    int64_t offset;
    Transpose order;
    std::vector<const Stored *> copies;
  };
  const Stored &stored(std::string_view name) const;
  void writeStored(const Stored &stored, const TensorView &value);
  void initializeVariable(const Stored &stored, uint64_t seed);
  /// Copy a tensor of the arena to or from logical order.
  void fetch(int64_t offset, const Transpose &order, mpc_dtype type, const Shape &shape, void *logical) const;
  void put(int64_t offset, const Transpose &order, mpc_dtype type, const Shape &shape, const void *logical,
           bool input = false);
  double read(Scalar scalar) const;
  void write(Scalar scalar, double value);

  std::shared_ptr<const Program> program_;
  SessionOptions options_;
  const Plan *plan_;
  std::unique_ptr<Device> device_;
  std::deque<Stored> stored_;
  std::unordered_map<std::string_view, const Stored *> byName_;
  mutable std::vector<std::byte> staging_; // a tensor in stored order, used if the CPU cannot reach the arena
  uint64_t changes_ = 0;
  bool profiling_ = false;
  std::unordered_map<const Entry *, std::vector<double>> launchSeconds_;
};

} // namespace mpc::rt
