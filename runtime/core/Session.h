// One running copy of a program: its arena, its state, and the prepared launches of its entries.
#pragma once

#include "runtime/core/Arena.h"
#include "runtime/core/Program.h"
#include "runtime/core/Transpose.h"
#include "runtime/host/LibraryProvider.h"
#include "runtime/host/Threads.h"

#include <deque>
#include <memory>
#include <unordered_map>

namespace mpc::rt {

struct SessionOptions {
  int threads = 0;              // 0: all available CPUs
  std::string library = "auto"; // see LibraryProvider
  uint64_t seed = 0;            // of the random initial values
  std::string target = "host";  // which plan
  NoteSink note;                // one-line notes for the user; null: dropped
};

class Session {
public:
  /// Allocates the arena, writes constants and initial state, prepares every launch. Throws Error.
  explicit Session(std::shared_ptr<const Program> program, SessionOptions options = {});
  ~Session();

  const Program &program() const { return *program_; }
  const Manifest &manifest() const { return program_->manifest(); }
  const Plan &plan() const { return *plan_; }
  Threads &threads() { return threads_; }
  /// The name of the library provider, or null when no launch needs one.
  const char *libraryName() const { return provider_ ? provider_->name() : nullptr; }

  /// The entry of that name; of the first entry of that kind. Throws Error when there is none.
  const Entry &entry(std::string_view name) const;
  const Entry &entryOfKind(std::string_view kind) const;

  /// Writes an input: the port's dtype (converted when it differs), any shape with as many elements. Inputs
  /// share the arena with temporaries: write all of them before each run. Throws Error, also for a finite
  /// number that the conversion would make an infinity.
  void setInput(const Entry &entry, std::string_view name, const TensorView &value);
  /// Executes the entry's launches in order. Allocates nothing and cannot fail.
  void run(const Entry &entry);
  /// From now on `run` sums the seconds of each launch (true), or does not (false); forgets earlier sums.
  void startProfile(bool on);
  /// Seconds of each launch of the entry, in order, since startProfile(true); empty when it has not run since.
  const std::vector<double> &profile(const Entry &entry) const;
  /// Copies an output of the entry that ran last. Throws Error for an unknown name.
  Tensor output(const Entry &entry, std::string_view name) const;
  Tensor read(const Port &port) const;
  /// The first element of an output, without allocating.
  double readScalar(const Port &port) const;
  /// Stored bytes of a port: its data must be in stored order (see Transpose).
  void *address(const Port &port) const { return arena_->at(port.offset); }

  /// A variable in logical order. Throws Error for an unknown name.
  Tensor variable(std::string_view name) const;
  /// Sets a variable (dtype converted when it differs; the shape must be equal) and refreshes its copies.
  void setVariable(std::string_view name, const TensorView &value);
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
  struct Prepared {
    mpc_kernel_fn kernel = nullptr;
    int64_t grid = 0, grain = 1;
    LibraryProvider::Primitive library = {};
    void *scratch = nullptr;
    std::vector<void *> buffers;
  };

  const Stored &stored(std::string_view name) const;
  void writeStored(const Stored &stored, const TensorView &value);
  void initializeVariable(const Stored &stored, uint64_t seed);
  Prepared prepare(const Launch &launch);
  void execute(const Prepared &launch);

  std::shared_ptr<const Program> program_;
  SessionOptions options_;
  const Plan *plan_;
  Threads threads_;
  std::unique_ptr<LibraryProvider> provider_;
  std::unique_ptr<Arena> arena_;
  std::deque<Stored> stored_;
  std::unordered_map<std::string_view, const Stored *> byName_;
  std::unordered_map<const Entry *, std::vector<Prepared>> prepared_;
  std::vector<std::unique_ptr<Arena>> extraScratch_;
  bool profiling_ = false;
  std::unordered_map<const Entry *, std::vector<double>> launchSeconds_;
};

} // namespace mpc::rt
