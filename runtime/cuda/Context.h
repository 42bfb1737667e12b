// What a program holds of a GPU: memory, streams, events, kernels and graphs, given back together.
#pragma once

#include "runtime/cuda/Driver.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace mpc::rt::cuda {

class Context {
public:
  /// The GPU's primary context. Everything below throws Error where the driver refuses.
  explicit Context(const Gpu &gpu);
  /// Waits for the GPU and gives all back, the youngest first.
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Driver &driver() const { return driver_; }
  /// Makes the context that of this thread; before any call of the driver.
  void enter() const;
  /// Throws Error when a call behind work that was given to the GPU failed; the work may be the cause.
  void check(Result result) const {
    if (result != kSuccess)
      stopped(result);
  }

  /// Device memory. `what` names it in the error: "the arena".
  Address allocate(int64_t bytes, std::string_view what);
  /// Memory of the process that the GPU copies from and to on its own.
  std::byte *allocatePinned(size_t bytes);
  StreamHandle stream();
  EventHandle event(unsigned flags = kEventUntimed);
  /// A cubin, or PTX with a final 0. Returns the driver's result; `log` becomes the first line of what its
  /// compiler said.
  Result load(const void *image, ModuleHandle &module, std::string &log);
  /// What `launches` puts on the stream, as a graph.
  ExecutableHandle capture(StreamHandle stream, const std::function<void()> &launches);

private:
  struct Owned {
    enum Kind { Memory, Pinned, Stream, Event, Module, Graph } kind;
    uint64_t handle; // the driver's pointer, or address
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
  std::vector<Owned> owned_;
};

} // namespace mpc::rt::cuda
