// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target reads the directory of a .npz file and each member, and then uses the archive as the data of a program:
// it binds, checks and converts its inputs.
#include "runtime/core/data/Npz.h"
#include "LogisticProgram.h"
#include "runtime/core/data/Dataset.h"
#include "runtime/host/Threads.h"
#include "test/fuzz/runtime/Input.h"

#include <numeric>

using namespace mpc::rt;
using namespace mpc::rt::fuzz;

/// Loads the file for the train entry of the test program and fills every batch.
static void feed(const std::string &path) {
  static const Manifest manifest =
      Manifest::parse(test::logisticManifest(), int64_t(test::logisticData().size()), "manifest");
  const std::vector<const Port *> inputs = inputsOf({manifest.plan("host")->entryOfKind("train")});
  Dataset data({{path}, {"x=0.5"}, {}}, inputs, manifest.batch);
  std::vector<uint32_t> samples(size_t(data.batch()));
  std::vector<std::byte> stored, scratch;
  Threads readers(1);
  for (int64_t first = 0; first + data.batch() <= std::min<int64_t>(data.samples(), 100); first += data.batch()) {
    std::iota(samples.begin(), samples.end(), uint32_t(first));
    for (const Port *port : inputs) {
      stored.assign(size_t(elementsOf(port->shape)) * sizeOf(port->dtype), std::byte());
      data.fill(*port, samples, {}, stored.data(), scratch, readers);
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string &path = asFile(data, size);
  size_t arrays = 0;
  accepts([&] {
    NpzReader reader(path);
    for (const std::string &name : reader.names())
      arrays += accepts([&] { inspect(reader.read(name)); });
  });
  if (arrays > 0)
    accepts([&] { feed(path); });
  return 0;
}
