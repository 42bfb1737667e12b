#include "tools/mpc/Targets.h"
#include "compiler/Codegen/Ptxas.h"
#include "tools/mpc/Common.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace mpc::tool {

std::string targetNames() { return "host, " + gpuArchNames() + ", emulator"; }

bool parseTargets(const std::vector<std::string> &names, TargetOptions &targets) {
  bool emulator = llvm::is_contained(names, "emulator");
  for (const std::string &name : names) {
    if (name == "emulator")
      continue;
    if (name == "host") {
      targets.host.emplace();
      continue;
    }
    const GpuArch *arch = findGpuArch(name);
    if (!arch) {
      fail("--target", "unknown target '" + Twine(name) + "'", "known targets: " + targetNames());
      return false;
    }
    if (llvm::none_of(targets.gpus, [&](const GpuOptions &gpu) { return gpu.arch == arch; }))
      targets.gpus.push_back({.arch = arch, .ptxas = findPtxas(), .emulator = emulator});
  }
  if (emulator && targets.gpus.empty()) {
    fail("--target", "the emulator has no architecture to emulate", "name some: --target=sm_80,emulator");
    return false;
  }
  return true;
}

bool addEmulator(const TargetOptions &targets, CompiledProgram &program) {
  if (llvm::none_of(targets.gpus, [](const GpuOptions &gpu) { return gpu.emulator; }))
    return true;
  std::string path = executableFolder() + "/libmpc-emulator.so";
  auto plugin = llvm::MemoryBuffer::getFile(path);
  if (!plugin) {
    fail(path, plugin.getError().message(), "it belongs beside mpc; build or install it again");
    return false;
  }
  program.sections["emulator.so"] = (*plugin)->getBuffer().str();
  return true;
}

void printKernelReport(const CompiledProgram &program) {
  for (const TargetSummary &plan : program.targets) {
    if (plan.target == "host")
      continue;
    llvm::outs() << llvm::formatv("{0,-8} {1,-16} {2,8} {3,10} {4,8} {5,14} {6,15}\n", plan.target, "kernel", "threads", "registers", "spills",
                                  "static shared", "dynamic shared");
    for (const NvptxKernel &kernel : plan.reports) {
      auto number = [&](auto field) { return kernel.report ? std::to_string(field(*kernel.report)) : std::string("-"); };
      llvm::outs() << llvm::formatv("{0,-8} {1,-16} {2,8} {3,10} {4,8} {5,14} {6,15}\n", "", kernel.symbol, kernel.threads,
                                    number([](const PtxasReport &r) { return r.registers; }),
                                    number([](const PtxasReport &r) { return r.spillStoreBytes + r.spillLoadBytes; }),
                                    number([](const PtxasReport &r) { return r.sharedBytes; }), kernel.dynamicSharedBytes);
    }
  }
}

} // namespace mpc::tool
