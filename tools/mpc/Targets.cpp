// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/Targets.h"
#include "compiler/Codegen/Ptxas.h"
#include "passes/Lowering/Schedule/TuningFile.h"
#include "tools/mpc/Common.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <CLI/CLI.hpp>

using namespace mlir;

namespace mpc::tool {

std::string targetNames() { return "host, " + gpuArchNames() + ", emulator"; }

void addTargetOption(CLI::App &app, std::vector<std::string> &targets) {
  app.add_option("--target", targets,
                 "Where the program runs, several allowed: " + targetNames() +
                     "; emulator adds the kernels of the named GPUs for the CPU")
      ->delimiter(',')
      ->capture_default_str();
}

void addPtxasOption(CLI::App &app, std::string &ptxas) {
  app.add_option("--ptxas", ptxas,
                 "Path of the assembler that makes cubins of PTX, or none: PTX only (default: on the PATH, in "
                 "$CUDA_HOME or /usr/local/cuda)");
}

bool parseTargets(const std::vector<std::string> &names, const std::string &ptxas, TargetOptions &targets) {
  if (!ptxas.empty() && ptxas != "none" && !llvm::sys::fs::can_execute(ptxas)) {
    fail("--ptxas", "'" + Twine(ptxas) + "' is no program",
         "give its path, or none; without the option it is looked for on the PATH and in CUDA's folder");
    return false;
  }
  std::string path = ptxas.empty() ? findPtxas() : ptxas == "none" ? "" : ptxas;
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
      targets.gpus.push_back({.arch = arch, .ptxas = path, .emulator = emulator});
  }
  if (emulator && targets.gpus.empty()) {
    fail("--target", "the emulator has no architecture to emulate", "name some: --target=sm_80,emulator");
    return false;
  }
  return true;
}

bool emitGpuKernels(bool cubin, TargetOptions &targets) {
  const char *form = cubin ? "cubin" : "ptx";
  if (targets.gpus.empty()) {
    fail("--emit", Twine(form) + " is a form of GPU code", "add a GPU to --target: --target=sm_80");
    return false;
  }
  targets.host.reset();
  for (GpuOptions &gpu : targets.gpus) {
    if (gpu.emulator) {
      fail("--emit", Twine(form) + " is a form of GPU code, and the emulator's is another",
           "leave the emulator out of --target");
      return false;
    }
    if (!cubin) {
      gpu.ptxas.clear();
      gpu.kernels = GpuKernelForm::Ptx;
      continue;
    }
    if (gpu.ptxas.empty() || !gpu.arch->ptxasKnows) {
      fail("--emit",
           gpu.ptxas.empty() ? Twine("cubins are made by ptxas, which is not to be found")
                             : "ptxas does not know " + Twine(gpu.arch->name) + " any more",
           gpu.ptxas.empty() ? "name it by --ptxas, put it on the PATH, or its CUDA toolkit's folder into CUDA_HOME; "
                               "--emit=ptx needs none"
                             : "take --emit=ptx");
      return false;
    }
    gpu.kernels = GpuKernelForm::Cubin;
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

bool addTunings(MLIRContext &context, const std::vector<std::string> &files, TargetOptions &targets) {
  for (const std::string &file : files) {
    FailureOr<hero::Tuning> tuning = hero::readTuningFile(&context, file);
    if (failed(tuning))
      return false;
    auto gpu = llvm::find_if(targets.gpus, [&](const GpuOptions &each) { return each.arch->name == tuning->arch; });
    if (gpu == targets.gpus.end() || !gpu->tune.empty()) {
      fail("--tune",
           "'" + Twine(file) + "' is for " + tuning->arch +
               (gpu == targets.gpus.end() ? ", which is no target" : ", and so is another file"),
           gpu == targets.gpus.end() ? Twine("add it: --target=") + tuning->arch
                                     : Twine("give one file for each target"));
      return false;
    }
    gpu->tune = file;
  }
  return true;
}

/// Prints the problems with their schedules and with what the model (passes/Lowering/Schedule/Model.h) expects.
static void printHeroReports(const TargetSummary &plan) {
  const char *line = "{0,-8} {1,10} {2,8} {3,7} {4,9} {5,-7} {6,9} {7,9} {8,8} {9,6}  {10,-38}  {11}  {12}\n";
  llvm::outs() << llvm::formatv(line, plan.target, "dispatches", "tiles", "waves", "MB", "bound", "bound us", "us",
                                "TFLOP/s", "%", "schedule", "problem", "dispatch");
  for (const TargetSummary::HeroReport &hero : plan.heroReports) {
    const hero::Roofline &roofline = hero.plan.roofline;
    llvm::outs() << llvm::formatv(
        line, "", hero.dispatches, hero.plan.estimate.tiles, llvm::formatv("{0:f2}", hero.plan.estimate.waves).str(),
        llvm::formatv("{0:f2}", hero.plan.estimate.globalBytes * 1e-6).str(),
        roofline.memoryBound() ? "memory" : "compute", llvm::formatv("{0:f2}", roofline.seconds() * 1e6).str(),
        llvm::formatv("{0:f2}", hero.seconds * 1e6).str(),
        llvm::formatv("{0:f1}", roofline.flops / hero.seconds * 1e-12).str(),
        llvm::formatv("{0:f1}", 100 * roofline.mathSeconds / hero.seconds).str(),
        hero.plan.schedule + (hero.plan.measured ? " (measured)" : ""), hero.plan.problem, hero.dispatch);
  }
}

void printPtxasMessages(const TargetSummary &plan) {
  for (const TargetSummary::KernelReport &report : plan.kernelReports)
    if (report.kernel.report)
      for (const std::string &message : report.kernel.report->warnings)
        llvm::outs() << llvm::formatv("{0,-8} {1,-10} ptxas: {2}\n", "", report.kernel.symbol, message);
}

void printKernelReport(const CompiledProgram &program) {
  const char *line =
      "{0,-8} {1,-10} {2,8} {3,8} {4,9} {5,6} {6,7} {7,5} {8,6} {9,9} {10,9} {11,7} {12,11} {13,12}  {14}\n";
  for (const TargetSummary &plan : program.targets) {
    if (plan.target == "host")
      continue;
    llvm::outs() << llvm::formatv(line, plan.target, "kernel", "launches", "threads", "registers", "spills", "shared",
                                  "mma", "wgmma", "ldmatrix", "cp.async", "tensor", "16B loads", "16B stores",
                                  "dispatch");
    for (const TargetSummary::KernelReport &report : plan.kernelReports) {
      const NvptxKernel &kernel = report.kernel;
      const std::optional<PtxasReport> &ptxas = kernel.report;
      const PtxInstructions &count = kernel.instructions;
      llvm::outs() << llvm::formatv(
          line, "", kernel.symbol, report.launches, kernel.entry.getThreads(),
          ptxas ? std::to_string(ptxas->registers) : "-",
          ptxas ? std::to_string(ptxas->spillStoreBytes + ptxas->spillLoadBytes) : "-", kernel.sharedBytes, count.mma,
          count.wgmma, count.loadMatrix, count.copyAsync, count.tensorCopies,
          llvm::formatv("{0}/{1}", count.wideLoads, count.wideLoads + count.otherLoads).str(),
          llvm::formatv("{0}/{1}", count.wideStores, count.wideStores + count.otherStores).str(),
          report.dispatch + (report.schedule.empty() ? "" : "  [" + report.schedule + "]"));
    }
    printPtxasMessages(plan);
    if (!plan.heroReports.empty())
      printHeroReports(plan);
  }
}

} // namespace mpc::tool
