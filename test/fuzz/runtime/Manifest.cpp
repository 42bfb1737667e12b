// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target parses and checks a manifest. A valid one makes a session whose entries run, with kernels that
// do nothing.
#include "LogisticProgram.h"
#include "runtime/core/Info.h"
#include "runtime/core/NonFinite.h"
#include "runtime/support/Error.h"
#include "test/fuzz/runtime/Input.h"

using namespace mpc::rt;
using namespace mpc::rt::fuzz;

namespace {
// This keeps the time of an input to microseconds. The reader has no such limit.
constexpr int64_t kMostBytes = 1 << 20;

bool isSmall(const Manifest &manifest) {
  int64_t bytes = 0;
  for (const Variable &variable : manifest.variables)
    bytes += std::min(kMostBytes, elementsOf(variable.shape)) * 8;
  for (const Plan &plan : manifest.plans)
    bytes += std::min(kMostBytes, plan.arenaBytes);
  return bytes < kMostBytes;
}

KernelTable emptyKernels(const Manifest &manifest) {
  KernelTable table;
  for (const Plan &plan : manifest.plans)
    for (const Entry &entry : plan.entries)
      for (const Launch &launch : entry.launches)
        table[launch.kernel] = [](void *const *, int64_t, int64_t) {};
  return table;
}

/// Library launches state their own sizes, for which only the compiler vouches, so they are not run.
bool callsLibrary(const Entry &entry) {
  for (const Launch &launch : entry.launches)
    if (launch.library)
      return true;
  return false;
}

void use(const std::shared_ptr<const Program> &program) {
  SessionOptions options;
  options.threads = 1;
  options.device = "host";
  Session session(program, options);
  for (const Entry &entry : session.plan().entries) {
    if (callsLibrary(entry))
      continue;
    for (const Port &port : entry.inputs)
      attempt([&] { session.setInput(entry, port.name, Tensor(port.dtype, port.shape)); });
    session.run(entry);
    for (const Port &port : entry.outputs)
      session.read(port);
    firstNonFinite(session, entry);
  }
  for (const Variable &variable : session.manifest().variables)
    if (session.stores(variable.name))
      attempt([&] { session.setVariable(variable.name, session.variable(variable.name)); });
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::map<std::string, std::string> sections = {{"data", test::logisticData()}};
  accepts([&] {
    std::shared_ptr<const Program> program = Program::fromMemory(view(data, size), sections);
    for (bool json : {false, true})
      describeProgram(*program, json);
    if (isSmall(program->manifest()))
      use(Program::fromMemory(view(data, size), sections, emptyKernels(program->manifest())));
  });
  return 0;
}
