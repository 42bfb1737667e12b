// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads one shuffled epoch of a .npy of u8 pictures, [samples,C,H,W], into batches, and prints the seconds as JSON.
// Usage: mpc_input_bench FILE.npy u8|f32 nchw|nhwc BATCH READERS
#include "runtime/core/data/Batches.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mpc::rt;

template <typename Work>
static double secondsOf(Work &&work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

static void measure(const std::string &file, const std::string &type, bool channelsLast, int64_t size, int readers) {
  const Array pictures = readArrayFile(file);
  Entry entry;
  Port &x = entry.inputs.emplace_back();
  x.name = "x";
  x.dtype = dtypeOf(type, "type");
  x.shape = pictures.shape;
  x.shape[0] = size;
  if (channelsLast)
    x.permutation = {0, 2, 3, 1};
  x.batched = true;
  DataOptions options;
  options.files = {file};
  options.readers = readers;
  if (isFloat(x.dtype))
    options.normalize = {"x=124:116:104,58:57:57"};
  const Dataset data(options, {&x}, size);
  std::vector<std::byte> target(size_t(elementsOf(x.shape)) * sizeOf(x.dtype));
  const int64_t count = data.samples() / size;
  auto epoch = [&](uint64_t seed, bool staged) {
    Batches batches(data, {&entry}, {/*train=*/true, /*shuffle=*/true, seed, 0, 0});
    batches.next(); // threads and memory are ready from then on
    return secondsOf([&] {
      for (int64_t i = 1; i < count; ++i) {
        const Batches::Batch *batch = batches.next();
        if (staged)
          std::memcpy(target.data(), batch->inputs[0].data(), target.size());
      }
    });
  };
  const size_t batchBytes = size_t(elementsOf(x.shape)); // as u8, as the file has them
  std::vector<std::byte> copy(batchBytes);
  auto copyAll = [&] {
    for (int64_t i = 1; i < count; ++i)
      std::memcpy(copy.data(), pictures.data + size_t(i) * batchBytes, batchBytes);
  };
  copyAll(); // maps the pages
  const double copied = secondsOf(copyAll);
  epoch(1, false);
  const double read = epoch(2, false), staged = epoch(3, true);
  std::printf("{\"bytes\": %zu, \"memcpy\": %.6f, \"batches\": %.6f, \"staged\": %.6f}\n",
              size_t(count - 1) * batchBytes, copied, read, staged);
}

int main(int argc, char **argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s FILE.npy u8|f32 nchw|nhwc BATCH READERS\n", argv[0]);
    return 1;
  }
  const std::optional<Error> error = attempt(
      [&] { measure(argv[1], argv[2], std::string(argv[3]) == "nhwc", std::atoll(argv[4]), std::atoi(argv[5])); });
  if (error)
    std::fputs(error->text().c_str(), stderr);
  return error.has_value();
}
