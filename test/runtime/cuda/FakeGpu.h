// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Reports what no correct program does and ends the process with status 86.
[[noreturn, gnu::format(printf, 1, 2)]] void misuse(const char *format, ...);

struct Stream;
/// For each stream, the index up to which its operations are known to be done.
using Clock = std::map<const Stream *, uint64_t>;
void merge(Clock &into, const Clock &from);

struct Graph;

struct Operation {
  std::string name;
  std::function<void()> work;
  Stream *after = nullptr; // another stream, which must have reached `afterIndex`
  uint64_t afterIndex = 0;
};

struct Stream {
  std::deque<Operation> queue;
  uint64_t issued = 0, done = 0;
  Clock clock; // what precedes its newest operation
  Graph *capture = nullptr;
  bool busy = false;  // whether it is being executed
  bool asked = false; // whether the process asked in vain if its work is done
};

struct Event {
  bool timed = false, captured = false;
  Stream *stream = nullptr; // the stream where it was recorded last
  uint64_t index = 0;
  Clock clock;
  double milliseconds = -1; // the time at which the GPU passed it
};

/// A part of memory that an operation reads or writes.
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
  /// Returns the end of the allocation that holds all of these bytes. It is misuse if there is none.
  uint64_t endOf(uint64_t address, size_t bytes, bool pinned, const char *who) const;

  //===-- Order ---===//
  /// Puts work on a stream. It is misuse if the work touches memory that another stream's work touches and
  /// nothing orders the two.
  void enqueue(Stream &stream, std::string name, std::vector<Access> accesses, std::function<void()> work);
  void record(Event &event, Stream &stream);
  void wait(Stream &stream, const Event &event);
  /// The process waits.
  void synchronize(Stream &stream, uint64_t index, const Clock &clock);
  /// The process asks whether the stream's work is done. It never is when first asked, and is when asked again.
  bool query(Stream &stream);
  bool hung = false;    // a kernel never ends, so nothing behind it is executed
  bool stopped = false; // after a fault nothing is executed any more
  bool eager = false;   // streams work as early as they may instead of as late

  /// Whatever is still allocated when the process ends is misuse.
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
    std::unique_ptr<std::byte[]> memory; // has guards at both ends
    std::vector<Past> past;
  };
  const std::pair<const uint64_t, Allocation> &find(uint64_t address, size_t bytes, const char *who) const;
  void execute(Stream &stream, uint64_t index);
  static void checkGuards(const std::pair<const uint64_t, Allocation> &allocation);

  std::map<uint64_t, Allocation> allocations_;
  size_t used_ = 0; // bytes of device memory
  Clock host_;
};

} // namespace mpc::rt::cuda::fake
