// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The resources of a GPU that a program holds: memory, streams, events, kernels and graphs, which are freed together.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/support/FunctionRef.h"

#include <cstddef>
#include <vector>

namespace mpc::rt::cuda {

class Context {
public:
  /// Takes the GPU's primary context. All functions below throw Error when the driver refuses.
  explicit Context(const Gpu &gpu);
  /// Waits for the GPU and frees everything, the youngest first; does nothing after a wait that ran out of time.
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Driver &driver() const { return driver_; }
  /// Makes the context the current one of this thread; needed before any call of the driver.
  void enter() const;
  /// Throws Error when a call failed that came after work was given to the GPU; that work may be the cause.
  void check(Result result) const {
    if (result != kSuccess)
      stopped(result);
  }

  /// Waits until all work of the stream is done, for at most `seconds` (0: without end). Returns the driver's result;
  /// kNotReady says that the time is up. Then the driver must not be called any more, because every call may wait for
  /// the work that does not end; for the same reason the process will end without the driver's exit handlers.
  Result wait(StreamHandle stream, double seconds);

  /// Allocates device memory. `what` names it in the error: "the arena".
  Address allocate(int64_t bytes, std::string_view what);
  /// Allocates memory of the process that the GPU can copy from and to without the CPU.
  std::byte *allocatePinned(size_t bytes);
  StreamHandle stream();
  EventHandle event(unsigned flags = kEventUntimed);
  /// Loads a cubin, or PTX with a final 0. Returns the driver's result; `log` becomes the first line of the driver
  /// compiler's messages.
  Result load(const void *image, ModuleHandle &module, std::string &log);
  /// Returns the work that `launches` puts on the stream, as a graph.
  ExecutableHandle capture(StreamHandle stream, FunctionRef<void()> launches);

private:
  struct Owned {
    enum Kind { Memory, Pinned, Stream, Event, Module, Graph } kind;
    uint64_t handle; // the driver's pointer, or an address
  };
  template <typename Handle>
  Handle own(Owned::Kind kind, Handle handle) {
    owned_.push_back({kind, uint64_t(handle)});
    return handle;
  }
  [[noreturn]] void stopped(Result result) const;

  const Driver &driver_;
  Gpu gpu_;
  ContextHandle context_ = nullptr;
  bool abandoned_ = false; // a wait ran out of time
  std::vector<Owned> owned_;
};

} // namespace mpc::rt::cuda
