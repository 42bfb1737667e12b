//===- StepTable.cpp - mpc compile --kernel-report=step -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/StepTable.h"
#include "tools/mpc/Targets.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace mpc::tool {
namespace {

/// The sums over launches of one kind.
struct KindSum {
  int64_t launches = 0, readBytes = 0, writtenBytes = 0;
  double flops = 0;
  SmallVector<double> seconds; ///< for each part
};

/// A target's report, with what depends on several of its tables.
class StepTable {
public:
  explicit StepTable(const TargetSummary &plan) : plan(plan), step(plan.step) {
    if (step.arch)
      parts = partsOf(*step.arch);
    for (const TargetSummary::KernelReport &report : plan.kernelReports)
      kernels[report.kernel.symbol] = &report.kernel;
    for (const StepLaunch &launch : step.launches) {
      KindSum &sum = kinds[launch.cost.kind];
      sum.seconds.resize(parts.size());
      sum.launches += launch.times;
      sum.readBytes += launch.times * launch.cost.readBytes;
      sum.writtenBytes += launch.times * launch.cost.writtenBytes;
      sum.flops += double(launch.times) * launch.cost.flops;
      for (auto [part, seconds] : llvm::enumerate(sum.seconds))
        seconds += double(launch.times) * expectedSeconds(launch, kernelOf(launch), *step.arch, part);
    }
  }

  void print() const;
  llvm::json::Value json() const;

private:
  void printLaunches() const;
  void printKinds() const;
  const NvptxKernel *kernelOf(const StepLaunch &launch) const { return kernels.lookup(launch.kernel); }
  std::optional<double> waves(const StepLaunch &launch) const {
    const NvptxKernel *kernel = kernelOf(launch);
    return kernel ? wavesOf(launch, *kernel, *step.arch) : std::nullopt;
  }
  double expected(size_t part) const {
    double seconds = 0;
    for (const auto &[kind, sum] : kinds)
      seconds += sum.seconds[part];
    return seconds;
  }

  const TargetSummary &plan;
  const StepReport &step;
  SmallVector<GpuPart> parts;
  llvm::StringMap<const NvptxKernel *> kernels; ///< by symbol
  llvm::MapVector<StringRef, KindSum> kinds;
};

std::string fixed(double value, int digits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, value);
  return text;
}

/// Says whose bytes the sums are: each entry runs once.
std::string whoMoves(const StepReport &step) {
  if (step.entries.size() == 1)
    return step.trains ? "a step moves" : "a run of " + step.entries[0] + " moves";
  return llvm::formatv("its {0} {1} together move", step.entries.size(), step.trains ? "steps" : "entries");
}

void StepTable::printLaunches() const {
  const char *line = "{0,-8} {1,5} {2,-16} {3,-10} {4,9} {5,7} {6,9} {7,9} {8,9} {9,9} {10,9} {11,9}";
  llvm::outs() << llvm::formatv(line, plan.target, "#", "kind", "kernel", "blocks", "times", "registers", "waves",
                                "instr/el", "read MB", "written", "GFLOP");
  for (const GpuPart &part : parts)
    llvm::outs() << llvm::formatv(" {0,13}", part.name + " us");
  llvm::outs() << "  dispatch\n";
  for (auto [i, launch] : llvm::enumerate(step.launches)) {
    const NvptxKernel *kernel = kernelOf(launch);
    std::optional<double> full = waves(launch);
    std::optional<double> instructions = kernel ? instructionsOf(launch, *kernel) : std::nullopt;
    llvm::outs() << llvm::formatv(
        line, "", i, launch.cost.kind, launch.kernel.empty() ? "library" : launch.kernel, launch.blocks, launch.times,
        kernel && kernel->report ? std::to_string(kernel->report->registers) : "-", full ? fixed(*full, 2) : "-",
        instructions ? fixed(*instructions, 1) : "-", fixed(double(launch.cost.readBytes) * 1e-6, 3),
        fixed(double(launch.cost.writtenBytes) * 1e-6, 3), fixed(launch.cost.flops * 1e-9, 3));
    for (size_t part = 0; part < parts.size(); ++part)
      llvm::outs() << llvm::formatv(" {0,13}",
                                    fixed(expectedSeconds(launch, kernelOf(launch), *step.arch, part) * 1e6, 2));
    llvm::outs() << "  " << launch.dispatch << '\n';
  }
}

void StepTable::printKinds() const {
  const char *line = "{0,-8} {1,-22} {2,9} {3,9} {4,9} {5,9}";
  llvm::outs() << llvm::formatv(line, plan.target, "kind", "launches", "read GB", "written", "TFLOP");
  for (const GpuPart &part : parts)
    llvm::outs() << llvm::formatv(" {0,13}", part.name + " ms");
  llvm::outs() << '\n';
  KindSum total;
  total.seconds.resize(parts.size());
  auto print = [&](StringRef kind, const KindSum &sum) {
    llvm::outs() << llvm::formatv(line, "", kind, sum.launches, fixed(double(sum.readBytes) * 1e-9, 3),
                                  fixed(double(sum.writtenBytes) * 1e-9, 3), fixed(sum.flops * 1e-12, 3));
    for (double seconds : sum.seconds)
      llvm::outs() << llvm::formatv(" {0,13}", fixed(seconds * 1e3, 3));
    llvm::outs() << '\n';
  };
  for (const auto &[kind, sum] : kinds) {
    print(kind, sum);
    total.launches += sum.launches;
    total.readBytes += sum.readBytes;
    total.writtenBytes += sum.writtenBytes;
    total.flops += sum.flops;
    for (auto [all, seconds] : llvm::zip_equal(total.seconds, sum.seconds))
      all += seconds;
  }
  print("all", total);
}

void StepTable::print() const {
  printLaunches();
  printPtxasMessages(plan);
  printKinds();
  llvm::outs() << llvm::formatv("{0,-8} {1} {2} GB, {3} times the {4} GB that its products and variables need\n", "",
                                whoMoves(step), fixed(double(step.bytes()) * 1e-9, 3),
                                fixed(step.idealBytes ? double(step.bytes()) / double(step.idealBytes) : 0, 2),
                                fixed(double(step.idealBytes) * 1e-9, 3));
}

llvm::json::Value StepTable::json() const {
  llvm::json::Array launches;
  for (const StepLaunch &launch : step.launches) {
    llvm::json::Object row{{"entry", launch.entry},
                           {"kind", launch.cost.kind},
                           {"dispatch", launch.dispatch},
                           {"node", launch.node},
                           {"kernel", launch.kernel},
                           {"blocks", launch.blocks},
                           {"times", launch.times},
                           {"read_bytes", launch.cost.readBytes},
                           {"written_bytes", launch.cost.writtenBytes},
                           {"flops", launch.cost.flops}};
    if (const NvptxKernel *kernel = kernelOf(launch); kernel && kernel->report) {
      row["registers"] = kernel->report->registers;
      row["warnings"] = llvm::json::Array(kernel->report->warnings);
    }
    if (const NvptxKernel *kernel = kernelOf(launch))
      if (std::optional<double> instructions = instructionsOf(launch, *kernel))
        row["instructions_per_element"] = *instructions;
    if (std::optional<double> full = waves(launch))
      row["waves"] = *full;
    for (auto [i, part] : llvm::enumerate(parts))
      row[(part.name + " us").str()] = expectedSeconds(launch, kernelOf(launch), *step.arch, i) * 1e6;
    launches.push_back(std::move(row));
  }
  llvm::json::Object expectedMs;
  for (auto [i, part] : llvm::enumerate(parts))
    expectedMs[part.name] = expected(i) * 1e3;
  return llvm::json::Object{{"target", plan.target},           {"entries", llvm::json::Array(step.entries)},
                            {"launches", std::move(launches)}, {"launch_count", step.count()},
                            {"bytes", step.bytes()},           {"flops", step.flops()},
                            {"ideal_bytes", step.idealBytes},  {"expected_ms", std::move(expectedMs)}};
}

} // namespace

void printStepReport(const CompiledProgram &program, bool json) {
  llvm::json::Array targets;
  for (const TargetSummary &plan : program.targets)
    if (json)
      targets.push_back(StepTable(plan).json());
    else
      StepTable(plan).print();
  if (json)
    llvm::outs() << llvm::json::Value(llvm::json::Object{{"step_report", std::move(targets)}}) << '\n';
}

} // namespace mpc::tool
