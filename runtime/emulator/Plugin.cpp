// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emulator behind the C interface of mpc/emulator.h, which a program's section emulator.so exports.
#include "runtime/emulator/Emulator.h"

namespace mpc::rt::emulator {
namespace {

struct Instance {
  Threads threads;
  Module module;
  Emulator emulator;
  Instance(std::string_view object, const char *where, uint32_t count, uint64_t order)
      : threads(int(count)), module(object, where), emulator(threads, order) {}
};

thread_local std::string lastError[3];

bool guarded(FunctionRef<void()> work) {
  std::optional<Error> error = attempt(work);
  if (error) {
    lastError[0] = error->where();
    lastError[1] = error->clause();
    lastError[2] = error->hint();
  }
  return !error;
}

void *open(const void *object, uint64_t bytes, const char *where, uint32_t threads, uint64_t order) {
  Instance *instance = nullptr;
  guarded([&] { instance = new Instance({static_cast<const char *>(object), bytes}, where, threads, order); });
  return instance;
}

void close(void *emulator) { delete static_cast<Instance *>(emulator); }

int32_t launch(void *emulator, const char *kernel, const uint32_t *grid, const mpc_emu_buffer *buffers, uint32_t count,
               const char *dispatch) {
  auto &instance = *static_cast<Instance *>(emulator);
  return !guarded([&] {
    std::vector<Buffer> own;
    for (uint32_t i = 0; i < count; ++i)
      own.push_back({buffers[i].data, size_t(buffers[i].bytes), bool(buffers[i].writable)});
    instance.emulator.launch(instance.module.find(kernel), {grid[0], grid[1], grid[2]}, own, dispatch);
  });
}

const char *error(uint32_t part) { return lastError[part % 3].c_str(); }

const mpc_emulator plugin = {MPC_EMU_PLUGIN, open, close, launch, error};

} // namespace
} // namespace mpc::rt::emulator

extern "C" __attribute__((visibility("default"))) const mpc_emulator *mpc_emulator_plugin(void) {
  return &mpc::rt::emulator::plugin;
}
