// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target reads and verifies a safetensors file and loads it into a session, which keeps its state when
// the file is refused.
#include "runtime/core/state/Safetensors.h"
#include "LogisticProgram.h"
#include "runtime/core/state/Checkpoint.h"
#include "test/fuzz/runtime/Input.h"

using namespace mpc::rt;
using namespace mpc::rt::fuzz;

static Session &session() {
  SessionOptions options;
  options.threads = 1;
  options.device = "host";
  static Session session(test::logisticProgram(), options);
  return session;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string &path = asFile(data, size);
  if (!accepts([&] {
        SafetensorsReader reader(path);
        for (const auto &[name, tensor] : reader.tensors())
          inspect(tensor);
        reader.verify(/*required=*/true);
      }))
    return 0;
  std::vector<Tensor> before;
  for (const Variable &variable : session().manifest().variables)
    before.push_back(session().variable(variable.name));
  if (accepts([&] { loadState(session(), path); }))
    return 0;
  size_t i = 0;
  for (const Variable &variable : session().manifest().variables)
    if (session().variable(variable.name).bytes != before[i++].bytes)
      finding("a refused file changed variable " + variable.name);
  return 0;
}
