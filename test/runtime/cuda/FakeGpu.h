// A GPU on the CPU: memory with guards, streams that work as late as they may, and the order that events make
// between them.
#pragma once

#include "runtime/cuda/Api.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mpc::rt::cuda::fake {

/// What no correct program does: says it and ends the process with status 86.
[[noreturn, gnu::format(printf, 1, 2)]] void misuse(const char *format, ...);

struct Stream;
/// Up to which operation of each stream something is known to be done.
using Clock = std::map<const Stream *, uint64_t>;
void merge(Clock &into, const Clock &from);

struct Graph;

struct Operation {
  std::string name;
  std::function<void()> work;
  Stream *after = nullptr; // another stream that must have come to `afterIndex`
  uint64_t afterIndex = 0;
};

struct Stream {
  std::deque<Operation> queue;
  uint64_t issued = 0, done = 0;
  Clock clock; // what its newest operation comes after
  Graph *capture = nullptr;
  bool busy = false; // being executed
};

struct Event {
  bool timed = false, captured = false;
  Stream *stream = nullptr; // where it was recorded last
  uint64_t index = 0;
  Clock clock;
  double milliseconds = -1; // when the GPU passed it
};

/// One part of memory that an operation touches.
struct Access {
  uint64_t begin;
  size_t bytes;
  bool write;
};

struct Node {
  std::string name;
  std::vector<Access> accesses;
  std::function<void()> work;
};
struct Graph {
  std::vector<Node> nodes;
};

class Gpu {
public:
  //===-- Memory ---===//
  uint64_t allocate(size_t bytes, bool pinned);
  void release(uint64_t address, bool pinned);
  size_t used() const { return used_; }
  /// The end of the allocation that holds all of these bytes; misuse when there is none.
  uint64_t endOf(uint64_t address, size_t bytes, bool pinned, const char *who) const;

  //===-- Order ---===//
  /// Puts work on a stream. Misuse where it touches what another stream's work touches and nothing orders the
  /// two.
  void enqueue(Stream &stream, std::string name, std::vector<Access> accesses, std::function<void()> work);
  void record(Event &event, Stream &stream);
  void wait(Stream &stream, const Event &event);
  /// The process waits.
  void synchronize(Stream &stream, uint64_t index, const Clock &clock);
  bool stopped = false; // by a fault: nothing is done any more
  bool eager = false;   // streams work as early as they may, instead of as late

  /// What is still there when the process ends is misuse.
  void checkLeaks() const;

private:
  struct Past {
    Access access;
    const Stream *stream;
    uint64_t index;
    std::string name;
  };
  struct Allocation {
    size_t bytes;
    bool pinned;
    std::unique_ptr<std::byte[]> memory; // guards around
    std::vector<Past> past;
  };
  const std::pair<const uint64_t, Allocation> &find(uint64_t address, size_t bytes, const char *who) const;
  void execute(Stream &stream, uint64_t index);
  static void checkGuards(const std::pair<const uint64_t, Allocation> &allocation);

  std::map<uint64_t, Allocation> allocations_;
  size_t used_ = 0; // device memory
  Clock host_;
};

} // namespace mpc::rt::cuda::fake
