// One running copy of a program on a device: its state, and the entries that change it.
#pragma once

#include "runtime/core/Device.h"
#include "runtime/core/Transpose.h"

#include <deque>
#include <memory>
#include <unordered_map>

namespace mpc::rt {

struct SessionOptions : DeviceOptions {
  uint64_t seed = 0; // of the random initial values
};

/// A number in the arena.
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

  /// The entry of that name; of the first entry of that kind. Throws Error when there is none.
  const Entry &entry(std::string_view name) const;
  const Entry &entryOfKind(std::string_view kind) const;

  /// Writes an input: the port's dtype (converted when it differs), a shape of the same layout (see
  /// sameLayout), or with samples of the same layout. Inputs share the arena with temporaries: write all of
  /// them before each run. Throws Error, also for what the port's type cannot represent, and for integers
  /// that the port may not hold.
  void setInput(const Entry &entry, std::string_view name, const TensorView &value);
  /// The input of that name. Throws Error, as setInput does, when there is none or it cannot take an array of the shape.
  const Port &inputFor(const Entry &entry, std::string_view name, std::span<const int64_t> shape) const;
  /// Writes an input that is already in stored order (see Transpose) and of the port's dtype.
  void setStored(const Port &port, const void *bytes);
  /// Overwrites the first stored element of an input.
  void setFirst(const Port &port, double value);
  /// Executes the entry's launches in order. Allocates nothing; throws Error only where the device found a fault.
  void run(const Entry &entry);
  /// The same launch by launch.
  void runObserved(const Entry &entry, LaunchObserver &observer);
  /// From now on `run` sums the seconds of each launch (true), or does not (false); forgets earlier sums.
  void startProfile(bool on);
  /// Seconds of each launch of the entry, in order, since startProfile(true); empty when it has not run since.
  const std::vector<double> &profile(const Entry &entry) const;
  /// Copies an output of the entry that ran last. Throws Error for an unknown name.
  Tensor output(const Entry &entry, std::string_view name) const;
  Tensor read(const Port &port) const;
  /// The same into memory of the caller: as many bytes as a Tensor of the port has.
  void read(const Port &port, void *logical) const;
  /// The first element of an output, without allocating.
  double readScalar(const Port &port) const;

  /// Where the first element of an output, or of a variable, lies.
  static Scalar scalarOf(const Port &port) { return {port.offset, port.dtype}; }
  Scalar scalarOf(std::string_view variable) const;
  /// Counts what changes the state: runs, and variables that are set. Equal numbers: nothing did in between.
  uint64_t changes() const { return changes_; }
  size_t iterationsAhead() const { return device_->iterationsAhead(); }
  std::unique_ptr<Snapshots> snapshots(const std::vector<Scalar> &scalars, size_t slots);

  /// A variable in logical order. Throws Error for an unknown name.
  Tensor variable(std::string_view name) const;
  /// Sets a variable (dtype converted when it differs; the shape must be equal) and refreshes its copies.
  /// Throws Error, and changes nothing, for values that its type cannot represent.
  void setVariable(std::string_view name, const TensorView &value);
  /// Throws the Error that setVariable would, and changes nothing.
  void checkVariable(std::string_view name, const TensorView &value) const;
  /// The first element of a variable, for scalars.
  double variableScalar(std::string_view name) const;
  void setVariableScalar(std::string_view name, double value);
  /// True when this plan stores the variable.
  bool stores(std::string_view name) const;
  /// Back to the initial values, with a new seed for the random ones.
  void initialize(uint64_t seed);

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
  /// A tensor of the arena, from and to logical order.
  void fetch(int64_t offset, const Transpose &order, mpc_dtype type, const Shape &shape, void *logical) const;
  void put(int64_t offset, const Transpose &order, mpc_dtype type, const Shape &shape, const void *logical, bool input = false);
  double read(Scalar scalar) const;
  void write(Scalar scalar, double value);

  std::shared_ptr<const Program> program_;
  SessionOptions options_;
  const Plan *plan_;
  std::unique_ptr<Device> device_;
  std::deque<Stored> stored_;
  std::unordered_map<std::string_view, const Stored *> byName_;
  mutable std::vector<std::byte> staging_; // stored order, where the CPU does not reach the arena
  uint64_t changes_ = 0;
  bool profiling_ = false;
  std::unordered_map<const Entry *, std::vector<double>> launchSeconds_;
};

} // namespace mpc::rt
