//===- HostLibraryBench.cpp - GFLOP/s of the library providers ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints one line per shape and type with the GFLOP/s of each provider, and of oneDNN's own primitives in the formats
// that they prefer ("any": operands are reordered beforehand and nothing is converted). The latter stand for what the
// machine can do.
//
// With --threads=1 it measures processor time, so that a busy machine disturbs it little.
//
//   mpc_host_library_bench [--threads=N] [--filter=SUBSTRING] [--types=f32,bf16,f16]
//
//===----------------------------------------------------------------------===//
#include "GenericLibrary.h"
#include "Roofline.h"
#include "Shapes.h"

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sstream>

namespace mpc::bench {
namespace {

void ompParallelFor(void *, int64_t n, int64_t, void (*body)(void *, int64_t, int64_t), void *ctx) {
#pragma omp parallel for schedule(static, 1)
  for (int64_t i = 0; i < n; ++i)
    body(ctx, i, i + 1);
}

struct Buffer {
  explicit Buffer(size_t bytes) : data(std::aligned_alloc(64, (bytes + 127) / 64 * 64)), bytes(bytes) {
    // The data are normal numbers in every type, because subnormals would measure the exception path.
    for (size_t i = 0; i + 1 < bytes; i += 2) {
      const uint16_t bits = uint16_t(0x3c00 + i / 2 % 61);
      std::memcpy(static_cast<char *>(data) + i, &bits, 2);
    }
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  void *data;
  size_t bytes;
};

/// Returns GFLOP/s, or a negative number when the provider refuses.
double measure(const mpc_library *library, const mpc_library_desc &desc, size_t &scratchBytes) {
  char error[256];
  mpc_library_primitive *primitive = library->create(&desc, error, sizeof error);
  if (!primitive)
    return -1;
  int64_t counts[3];
  elements(desc, counts);
  const size_t size = desc.type_a == MPC_F32 ? 4 : 2;
  Buffer a(size_t(counts[0]) * size), b(size_t(counts[1]) * size), bias(8192 * 4), out(size_t(counts[2]) * 4);
  scratchBytes = library->scratch_bytes(primitive);
  Buffer scratch(scratchBytes);
  void *buffers[4] = {a.data, b.data, desc.has_bias ? bias.data : out.data, out.data};
  const double seconds = fastest([&] { library->execute(primitive, buffers, scratch.data); });
  library->destroy(primitive);
  return flops(desc) / seconds / 1e9;
}

bool listed(const std::string &commaSeparated, const std::string &name) {
  std::istringstream items(commaSeparated);
  for (std::string item; std::getline(items, item, ',');)
    if (item == name)
      return true;
  return false;
}

int run(int argc, char **argv) {
  int threads = omp_get_max_threads();
  std::string filter, types = "f32,bf16,f16";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--threads=", 0) == 0)
      threads = std::atoi(argument.c_str() + 10);
    else if (argument.rfind("--filter=", 0) == 0)
      filter = argument.substr(9);
    else if (argument.rfind("--types=", 0) == 0)
      types = argument.substr(8);
    else {
      std::fprintf(stderr, "usage: %s [--threads=N] [--filter=SUBSTRING] [--types=f32,bf16,f16]\n", argv[0]);
      return 1;
    }
  }
  omp_set_num_threads(threads);
  useProcessorTime(threads == 1);
  mpc_generic_set_parallel_for(ompParallelFor, nullptr);
  const mpc_library *generic = mpc_generic_library(threads), *plugin = nullptr;
#ifdef MPC_ONEDNN_PLUGIN
  if (void *handle = dlopen(MPC_ONEDNN_PLUGIN, RTLD_NOW | RTLD_LOCAL))
    plugin = reinterpret_cast<mpc_library_entry_fn>(dlsym(handle, MPC_LIBRARY_ENTRY))(threads);
#endif
  std::printf("GFLOP/s with %d threads; scratch in MB\n%-36s %-5s %10s %8s %10s %8s %8s\n", threads, "", "", "generic",
              "scratch", "plugin", "scratch", "any");
  const std::pair<const char *, int32_t> all[] = {{"f32", MPC_F32}, {"bf16", MPC_BF16}, {"f16", MPC_F16}};
  for (const Shape &shape : shapes())
    for (auto [name, type] : all) {
      if (shape.name.find(filter) == std::string::npos || !listed(types, name))
        continue;
      mpc_library_desc desc = shape.desc;
      desc.type_a = desc.type_b = desc.type_out = type;
      desc.type_bias = MPC_F32;
      if (desc.op == MPC_CONV_WEIGHT_GRAD || desc.transpose_a)
        desc.type_out = MPC_F32; // weight gradients are passed on to the fp32 master weights in f32
      size_t scratch[2] = {0, 0};
      const double own = measure(generic, desc, scratch[0]);
      const double library = plugin ? measure(plugin, desc, scratch[1]) : -1;
      std::printf("%-36s %-5s %10.0f %8.1f %10.0f %8.1f %8.0f\n", shape.name.c_str(), name, own,
                  double(scratch[0]) / 1e6, library, double(scratch[1]) / 1e6, roofline(desc));
      std::fflush(stdout);
    }
  return 0;
}

} // namespace
} // namespace mpc::bench

int main(int argc, char **argv) { return mpc::bench::run(argc, argv); }
