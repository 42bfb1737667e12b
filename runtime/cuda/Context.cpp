// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/Context.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <unistd.h>

namespace mpc::rt::cuda {

Context::Context(const Gpu &gpu) : driver_(Driver::get()), gpu_(gpu) {
  driver_.check(driver_.devicePrimaryCtxRetain(&context_, gpu.device), concat("cannot use the GPU '", gpu.name, "'"),
                "another program may hold it for itself alone; check nvidia-smi");
}

Context::~Context() {
  if (abandoned_)
    return;
  // After a fault every call fails with it; the driver then frees everything when the process ends.
  driver_.ctxSetCurrent(context_);
  for (const Owned &each : owned_)
    if (each.kind == Owned::Stream)
      driver_.streamSynchronize(StreamHandle(each.handle));
  for (auto each = owned_.rbegin(); each != owned_.rend(); ++each)
    switch (each->kind) {
    case Owned::Memory:
      driver_.memFree(each->handle);
      break;
    case Owned::Pinned:
      driver_.memFreeHost(reinterpret_cast<void *>(each->handle));
      break;
    case Owned::Stream:
      driver_.streamDestroy(StreamHandle(each->handle));
      break;
    case Owned::Event:
      driver_.eventDestroy(EventHandle(each->handle));
      break;
    case Owned::Module:
      driver_.moduleUnload(ModuleHandle(each->handle));
      break;
    case Owned::Graph:
      driver_.graphExecDestroy(ExecutableHandle(each->handle));
      break;
    }
  driver_.ctxSetCurrent(nullptr);
  driver_.devicePrimaryCtxRelease(gpu_.device);
}

void Context::enter() const { driver_.check(driver_.ctxSetCurrent(context_), "cannot enter the GPU's context"); }

void Context::stopped(Result result) const {
  driver_.check(result, "the GPU stopped", "run again with --check-launches to learn in which launch");
  __builtin_unreachable();
}

/// Ends the process with its exit status, but without the exit handlers that were registered before this one.
static void endNow(int status, void *) {
  std::fflush(nullptr);
  _exit(status);
}

Result Context::wait(StreamHandle stream, double seconds) {
  if (seconds == 0)
    return driver_.streamSynchronize(stream);
  using namespace std::chrono;
  auto end = steady_clock::now() + duration<double>(seconds);
  for (microseconds pause(10);; pause = std::min<microseconds>(pause * 2, milliseconds(10))) {
    Result result = driver_.streamQuery(stream);
    if (result != kNotReady)
      return result;
    if (steady_clock::now() >= end)
      break;
    std::this_thread::sleep_for(pause);
  }
  abandoned_ = true;
  on_exit(endNow, nullptr);
  return kNotReady;
}

Address Context::allocate(int64_t bytes, std::string_view what) {
  Address address = 0;
  Result result = driver_.memAlloc(&address, size_t(bytes));
  if (result == kOutOfMemory) {
    size_t free = 0, total = 0;
    driver_.memGetInfo(&free, &total);
    fail("cuda",
         concat("the GPU '", gpu_.name, "' has no room for ", what, " of ", bytes, " bytes (", bytesText(bytes),
                "): ", free, " bytes (", bytesText(int64_t(free)), ") of ", bytesText(int64_t(total)), " are free"),
         "compile the model with a smaller --batch, or end what else runs on that GPU");
  }
  driver_.check(result, concat("cannot allocate ", what));
  return own(Owned::Memory, address);
}

std::byte *Context::allocatePinned(size_t bytes) {
  void *address = nullptr;
  driver_.check(driver_.memAllocHost(&address, bytes), concat("cannot pin ", bytes, " bytes of memory"),
                "raise the limit of locked memory (ulimit -l)");
  return static_cast<std::byte *>(own(Owned::Pinned, address));
}

StreamHandle Context::stream() {
  StreamHandle stream = nullptr;
  driver_.check(driver_.streamCreate(&stream, kStreamNonBlocking), "cannot make a stream");
  return own(Owned::Stream, stream);
}

EventHandle Context::event(unsigned flags) {
  EventHandle event = nullptr;
  driver_.check(driver_.eventCreate(&event, flags), "cannot make an event");
  return own(Owned::Event, event);
}

Result Context::load(const void *image, ModuleHandle &module, std::string &log) {
  char info[1024] = "", error[4096] = "";
  int options[] = {kErrorLog, kErrorLogBytes, kInfoLog, kInfoLogBytes};
  void *values[] = {error, reinterpret_cast<void *>(sizeof error), info, reinterpret_cast<void *>(sizeof info)};
  Result result = driver_.moduleLoadDataEx(&module, image, 4, options, values);
  log = *error ? error : info;
  log.resize(std::min(log.size(), log.find('\n')));
  if (result == kSuccess)
    own(Owned::Module, module);
  return result;
}

ExecutableHandle Context::capture(StreamHandle stream, FunctionRef<void()> launches) {
  driver_.check(driver_.streamBeginCapture(stream, kCaptureThreadLocal), "cannot record a graph");
  GraphHandle graph = nullptr;
  std::optional<Error> error = attempt(launches);
  Result result = driver_.streamEndCapture(stream, &graph);
  ExecutableHandle executable = nullptr;
  if (!error && result == kSuccess)
    result = driver_.graphInstantiate(&executable, graph, 0);
  if (graph)
    driver_.graphDestroy(graph);
  if (error)
    throw *error;
  driver_.check(result, "cannot make a graph");
  return own(Owned::Graph, executable);
}

} // namespace mpc::rt::cuda
