//===- CompileCommand.cpp - mpc compile ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/ProgramFile.h"
#include "compiler/Pipeline/Check.h"
#include "runtime/runner/Help.h"
#include "tools/mpc/CompileForms.h"
#include "tools/mpc/StepTable.h"
#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>
#include <chrono>

using namespace mlir;

namespace mpc::tool {
namespace {

std::string cpuNames(ArrayRef<HostCpu> cpus, StringRef separator) {
  return llvm::join(llvm::map_range(cpus, [](const HostCpu &cpu) { return cpu.name; }), separator);
}

/// Parses "512MiB", "2G" or "1000000" into bytes, at least one.
bool parseBytes(StringRef text, int64_t &bytes) {
  double number = 0;
  StringRef digits = text.take_while([](char c) { return isdigit(c) || c == '.'; }),
            unit = text.drop_front(digits.size());
  if (digits.getAsDouble(number))
    return false;
  unit.consume_back("iB") || unit.consume_back("B");
  int64_t factor = unit.empty() ? 1 : unit == "K" ? 1 << 10 : unit == "M" ? 1 << 20 : unit == "G" ? 1 << 30 : 0;
  number *= factor;
  if (!(number >= 1 && number < 0x1p63))
    return false;
  bytes = int64_t(number);
  return true;
}

/// Parses "none", "auto", "800" (MiB) or "2GiB".
bool parseRecompute(StringRef text, RecomputeOptions &options) {
  using Mode = RecomputeOptions::Mode;
  options.mode = text == "none" ? Mode::None : text == "auto" ? Mode::Auto : Mode::Within;
  bool isNumber = llvm::all_of(text, [](char c) { return isdigit(c) || c == '.'; });
  return options.mode != Mode::Within || parseBytes(isNumber ? (text + "MiB").str() : text.str(), options.bytes);
}

std::string printBytes(int64_t bytes) {
  char buffer[32];
  if (bytes < 1 << 20)
    snprintf(buffer, sizeof buffer, "%.1f KiB", bytes / 1024.0);
  else
    snprintf(buffer, sizeof buffer, "%.1f MiB", bytes / 1048576.0);
  return buffer;
}

/// Says which options would need less memory than these.
std::string smallerHint(const TrainingOptions &options, bool recomputes) {
  std::string hint = recomputes ? "take a smaller --batch" : "take a smaller --batch, or --recompute=auto";
  if (options.precision == "fp32")
    return hint + ", or --precision=fp16 --opt-level=O2";
  return options.optLevel == "O0" || options.optLevel == "O1" ? hint + ", or --opt-level=O2" : hint;
}

/// Returns the command that trains the program that has just been written.
std::string nextCommand(const std::string &program, bool readsData) {
  return (program.find('/') == std::string::npos ? "./" : "") + program + " train" +
         (readsData ? " --data data.npz" : "") + " --checkpoint-dir checkpoints";
}

/// Checks the options and completes them. Returns false after a message.
bool resolve(CompileFlags &flags, TargetOptions &targets, int64_t &memoryLimit) {
  const OutputForm &form = formNamed(flags.emit);
  if (!parseDims(flags.dims, flags.import) || !flags.training.resolve() ||
      !parseTargets(flags.targets, flags.ptxas, targets))
    return false;
  std::vector<HostCpu> known = HostCpu::levels(), cpus;
  known.push_back(HostCpu::native());
  for (StringRef name : llvm::split(flags.cpu, ',')) {
    auto cpu = llvm::find_if(known, [&](const HostCpu &each) { return each.name == name; });
    if (cpu == known.end()) {
      fail("--cpu", "unknown CPU '" + Twine(name) + "'", "known CPUs: " + cpuNames(known, ", "));
      return false;
    }
    cpus.push_back(*cpu);
  }
  if (targets.host) {
    targets.host = hostOptions();
    targets.host->cpus = cpus;
  }
  if (!flags.memoryLimit.empty() && !parseBytes(flags.memoryLimit, memoryLimit)) {
    fail("--memory-limit", "'" + Twine(flags.memoryLimit) + "' is not a valid size",
         "write for example 512MiB or 2GiB; without the option there is no limit");
    return false;
  }
  if (!parseRecompute(flags.recompute, targets.recompute)) {
    fail("--recompute", "'" + Twine(flags.recompute) + "' is neither none nor auto nor a size",
         "write for example auto, 2000 (MiB) or 8GiB");
    return false;
  }
  flags.import.openBatch = kOpenBatch;
  flags.import.mode = modeNamed(flags.mode);
  if (flags.output.empty())
    flags.output = form.prefix + llvm::sys::path::stem(flags.model).str() + form.suffix;
  if (flags.bundle && !form.loads) {
    fail("--bundle", "there is nothing to put libraries beside with --emit=" + Twine(flags.emit),
         "leave it out, or write a program or a library");
    return false;
  }
  if (form.chooseTargets && !form.chooseTargets(flags, targets))
    return false;
  if (!flags.kernelReport.empty() && !form.lower) {
    fail("--kernel-report", "there are no kernels to report on with --emit=" + Twine(flags.emit),
         "leave it out, or write a program");
    return false;
  }
  if (flags.kernelReport == "json")
    flags.quiet = true; // so that the output is JSON alone
  if (flags.kernelReport == "kernels" && targets.gpus.empty()) {
    fail("--kernel-report", "there are no GPU kernels to report on",
         "add a GPU to --target: --target=sm_80, or take --kernel-report=step");
    return false;
  }
  return true;
}

/// Prints the module after the stages that --dump-ir names.
class StageDump {
public:
  explicit StageDump(StringRef wanted) : wanted(wanted) {}

  void operator()(StringRef stage, ModuleOp module) {
    if (wanted != stage && wanted != "all")
      return;
    found = true;
    OpPrintingFlags printing;
    printing.elideLargeElementsAttrs(16).elideLargeResourceString(64);
    if (wanted == "all")
      llvm::errs() << "// ===== " << stage << '\n';
    module->print(llvm::errs(), printing);
    llvm::errs() << '\n';
  }

  /// Returns false after a message where there was no such stage.
  bool printed() const {
    if (wanted.empty() || found)
      return true;
    fail("--dump-ir", "no stage '" + Twine(wanted) + "'",
         "stages: import, training, autocast, autodiff, loss-scaling, optimizers, master-weights, layout, decompose, "
         "fusion, memory, kernels, all; candidates behind fusion in a tuner; "
         "those from layout on of a second target: sm_80.layout and so on");
    return false;
  }

private:
  StringRef wanted;
  bool found = false;
};

LogicalResult writeModule(Location location, StringRef path, ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo());
  return writeFileAtomically(location, path, text);
}

/// Returns false after a message where a target's plan needs more memory than the limit, if there is one.
bool fits(const CompileFlags &flags, const CompiledProgram &program, int64_t memoryLimit) {
  for (const TargetSummary &plan : program.targets)
    if (memoryLimit && plan.peakBytes > memoryLimit) {
      fail(flags.model,
           "needs " + printBytes(plan.peakBytes) + " on " + plan.target + ", more than the limit of " +
               printBytes(memoryLimit),
           smallerHint(flags.training.options, flags.recompute != "none"));
      return false;
    }
  return true;
}

/// Says what a plan with recomputation needs and costs, beside the one without.
std::string describeRecompute(RecomputeOptions::Mode mode, const TargetSummary::Recompute &recompute,
                              int64_t peakBytes) {
  if (!recompute.what)
    return mode == RecomputeOptions::Mode::Auto ? "recompute: nothing, because the peak would be no smaller"
                                                : "recompute: nothing, because the plan fits";
  const train::Recomputed &what = *recompute.what;
  double share = what.flops > 0 ? 100 * what.flopsAgain / what.flops : 0;
  return llvm::formatv("recompute: peak {0} instead of {1}; {2:f1} % more operations of products (in {3} of {4} "
                       "segments), {5:f1} % more bytes read and written",
                       printBytes(peakBytes), printBytes(recompute.peakBytesWithout), share, what.repeated,
                       what.segments, 100 * (recompute.movedBytes - 1))
      .str();
}

void printSummary(const CompiledProgram &program, RecomputeOptions::Mode recompute, ArrayRef<std::string> written,
                  double seconds, bool limited) {
  for (const std::string &path : written) {
    uint64_t fileBytes = 0;
    if (!llvm::sys::fs::file_size(path, fileBytes))
      llvm::outs() << path << ": " << printBytes(fileBytes) << '\n';
  }
  bool several = program.targets.size() > 1;
  for (const TargetSummary &plan : program.targets) {
    std::string prefix = several ? plan.target + ": " : "";
    llvm::outs() << prefix << llvm::formatv("{0} launches, {1} kernels", plan.launches, plan.kernels);
    if (several)
      llvm::outs() << '\n';
    else
      llvm::outs() << llvm::formatv(", {0:f2} s\n", seconds);
    llvm::outs() << prefix
                 << llvm::formatv("memory: state {0}, temporaries {1} (saved for the backward pass {2}), peak {3}{4}\n",
                                  printBytes(plan.stateBytes), printBytes(plan.temporaryBytes),
                                  printBytes(plan.savedBytes), printBytes(plan.peakBytes), limited ? " (fits)" : "");
    if (plan.recompute)
      llvm::outs() << prefix << describeRecompute(recompute, *plan.recompute, plan.peakBytes) << '\n';
  }
  if (several)
    llvm::outs() << llvm::formatv("{0:f2} s\n", seconds);
}

int compile(CompileFlags &flags) {
  TargetOptions targets;
  int64_t memoryLimit = 0; // 0: none
  if (!resolve(flags, targets, memoryLimit))
    return 1;
  const OutputForm &form = formNamed(flags.emit);
  const TrainingOptions &training = flags.training.options;

  auto start = std::chrono::steady_clock::now();
  Session session(!flags.quiet);
  DefaultTimingManager timing; // prints at the end what --mlir-timing requests
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope times = timing.getRootScope();
  ImportReport report;
  if (!addTunings(session.context(), flags.tunings, targets))
    return 1;
  TimingScope importing = times.nest("import");
  OwningOpRef<ModuleOp> module = importForTraining(session.context(), flags.model, flags.import, training, report);
  importing.stop();
  llvm::append_range(report.files, flags.tunings);
  if (!module || !knownOutputsAreFree(flags, form, report.files))
    return 1;

  StageDump dump(flags.dumpIr);
  Watch watch{.stage = {}, .timing = &times};
  if (!flags.dumpIr.empty())
    watch.stage = std::ref(dump);
  dump("import", *module);
  if (failed(buildTraining(*module, training, watch)))
    return 1;
  if (!flags.quiet) {
    llvm::append_range(report.assumed, assumedLosses(*module));
    printAssumed(report.assumed, flags.training, dataArrays(*module));
    if (flags.verbose)
      for (const std::string &group : parameterGroups(*module))
        llvm::outs() << "group: " << group << '\n';
  }
  auto location = NameLoc::get(StringAttr::get(&session.context(), flags.output));
  if (!form.lower)
    return failed(writeModule(location, flags.output, *module));
  FailureOr<CompiledProgram> program =
      form.lower(*module, targets, llvm::sys::path::stem(flags.model), training, watch);
  if (failed(program) || !addEmulator(targets, *program) || !dump.printed() || !fits(flags, *program, memoryLimit))
    return 1;
  program->sections["installation"] = executableFolder(); // the program looks for plugins there
  std::vector<std::string> written;
  if (!form.write(location, flags, form, *program, report.files, written))
    return 1;

  if (!flags.quiet)
    printSummary(*program, targets.recompute.mode, written,
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), memoryLimit > 0);
  if (flags.kernelReport == "kernels")
    printKernelReport(*program);
  else if (!flags.kernelReport.empty())
    printStepReport(*program, /*json=*/flags.kernelReport == "json");
  if (!flags.quiet && form.trains)
    llvm::outs() << "next: " << nextCommand(flags.output, !dataArrays(*module).empty()) << '\n';
  return 0;
}

} // namespace

void addCompileCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<CompileFlags>();
  flags->cpu = cpuNames(HostCpu::levels(), ",");
  CLI::App *command = app.add_subcommand("compile", "Compiles an ONNX network to a training program");
  command->add_option("model", flags->model, "ONNX file")->required();
  rt::beginGroup(*command, "Output");
  command->add_option("-o,--output", flags->output, "The program (default: the model's name)");
  rt::beginGroup(*command, "Targets and kernels");
  addTargetOption(*command, flags->targets);
  command
      ->add_flag("--kernel-report{kernels}", flags->kernelReport,
                 "kernels (also without a value): print tables of the GPU kernels, with registers, shared memory and "
                 "instructions that decide the speed, and of matrix products and convolutions, with schedule and "
                 "expected time. step: print each launch of a training step with what it moves, multiplies and is "
                 "expected to take, and the sums; json: the same as JSON, and nothing else (-q)")
      ->check(CLI::IsMember({"kernels", "step", "json"}));
  command
      ->add_option("--tune", flags->tunings,
                   "Measured schedules of products and convolutions, as a tuner wrote them (--emit=tuner); one file "
                   "for each GPU of --target")
      ->allow_extra_args(false);
  addPtxasOption(*command, flags->ptxas);
  command->add_option("--cpu", flags->cpu, "CPUs that host code is made for; the program takes the best it can run")
      ->capture_default_str();
  rt::beginGroup(*command, "Output");
  command->add_option("--emit", flags->emit, describeForms())->check(CLI::IsMember(formNames()))->capture_default_str();
  command->add_option("--memory-limit", flags->memoryLimit, "Fail if the plan needs more (512MiB, 2GiB)");
  command
      ->add_option(
          "--recompute", flags->recompute,
          "What of the forward pass is computed again for the backward pass instead of saved: none; auto: what "
          "takes no product; a size such as 8GiB (or MiB): as much as the plan needs to fit, products too")
      ->capture_default_str();
  command->add_option("--dump-ir", flags->dumpIr, "Print the IR after a stage (or all) to stderr");
  command->add_flag("--bundle", flags->bundle, "Put the libraries that the program opens beside it");
  auto *quiet = command->add_flag("-q,--quiet", flags->quiet, "Print errors and warnings only");
  command
      ->add_flag("-v,--verbose", flags->verbose,
                 "Also print which parameters are in which --param-group (none: they are in no group)")
      ->excludes(quiet);
  addModeOption(*command, flags->mode);
  addImportOptions(*command, flags->import, flags->dims);
  flags->training.addTo(*command);
  rt::setExample(*command,
                 "compile model.onnx -o model --batch 64 --precision fp16 --optimizer sgd --momentum 0.9 --lr 0.05");
  command->callback([flags, &status] { status = compile(*flags); });
}

} // namespace mpc::tool
