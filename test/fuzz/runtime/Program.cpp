// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target opens a compiled program's file: its sections, its manifest, and what `info` says of it. Its kernels
// are never loaded.
#include "runtime/core/Info.h"
#include "test/fuzz/runtime/Input.h"

using namespace mpc::rt;
using namespace mpc::rt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  accepts([&] {
    std::shared_ptr<const Program> program = Program::open(asFile(data, size));
    for (const auto &[name, bytes] : program->sections())
      program->section(name);
    program->releaseData();
    for (bool json : {false, true})
      if (describeProgram(*program, json).empty())
        finding("info says nothing");
  });
  return 0;
}
