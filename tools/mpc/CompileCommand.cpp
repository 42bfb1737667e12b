//===- CompileCommand.cpp - mpc compile ---------------------------------------------------------===//
#include "compiler/Package/LibraryFile.h"
#include "compiler/Package/ProgramFile.h"
#include "compiler/Pipeline/Check.h"
#include "tools/mpc/Bundle.h"
#include "tools/mpc/Common.h"
#include "tools/mpc/Targets.h"
#include "tools/mpc/TrainingFlags.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>
#include <chrono>

using namespace mlir;

namespace mpc::tool {
namespace {

struct CompileFlags {
  std::string model, output, emit = "exe", cpu = "x86-64-v3,x86-64-v4", dumpIr, memoryLimit, ptxas;
  std::vector<std::string> targets = {"host"}, dims, tunings;
  std::string mode = "auto";
  bool bundle = false, quiet = false, kernelReport = false;
  ImportOptions import;
  TrainingFlags training;
};

/// Parses "512MiB", "2G" or "1000000" into bytes, at least one.
bool parseBytes(StringRef text, int64_t &bytes) {
  double number = 0;
  StringRef digits = text.take_while([](char c) { return isdigit(c) || c == '.'; }), unit = text.drop_front(digits.size());
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

std::string printBytes(int64_t bytes) {
  char buffer[32];
  if (bytes < 1 << 20)
    snprintf(buffer, sizeof buffer, "%.1f KiB", bytes / 1024.0);
  else
    snprintf(buffer, sizeof buffer, "%.1f MiB", bytes / 1048576.0);
  return buffer;
}

/// Says which options would need less memory than these.
std::string smallerHint(const TrainingOptions &options) {
  std::string hint = "take a smaller --batch";
  if (options.precision == "fp32")
    return hint + ", or --precision=fp16 --opt-level=O2";
  return options.optLevel == "O0" || options.optLevel == "O1" ? hint + ", or --opt-level=O2" : hint;
}

/// Returns `lenet`, `lenet-tuner`, `liblenet.so`, `lenet.mlir`, `lenet.o` or `lenet.ll` for lenet.onnx.
std::string defaultOutput(const CompileFlags &flags) {
  std::string stem = llvm::sys::path::stem(flags.model).str();
  if (flags.emit == "lib")
    return "lib" + stem + ".so";
  if (flags.emit == "tuner")
    return stem + "-tuner";
  return stem + (flags.emit == "exe" ? "" : flags.emit == "obj" ? ".o" : flags.emit == "llvm" ? ".ll" : "." + flags.emit);
}

/// Returns dir/lenet.h for dir/liblenet.so.
std::string headerOf(StringRef library) {
  StringRef stem = llvm::sys::path::stem(library);
  if (stem.size() > 3)
    stem.consume_front("lib");
  llvm::SmallString<128> path(llvm::sys::path::parent_path(library));
  llvm::sys::path::append(path, stem + ".h");
  return path.str().str();
}

/// Returns whether the outputs whose names are known before the compilation may be written: none is a file that is read, and an existing header must be ours.
bool knownOutputsAreFree(const CompileFlags &flags, const std::vector<std::string> &inputs) {
  if (flags.emit != "lib")
    return outputsAreFree(flags.output, inputs);
  std::string header = headerOf(flags.output);
  if (header == flags.output) {
    fail(header, "is the name of the library's header", "let the library's name end with .so");
    return false;
  }
  if (!outputsAreFree({flags.output, header}, inputs))
    return false;
  if (!llvm::sys::fs::is_regular_file(header))
    return true;
  auto old = llvm::MemoryBuffer::getFile(header);
  if (old && isLibraryHeader((*old)->getBuffer()))
    return true;
  fail(header, "exists and is no header of mpc's, so the library's is not written there", "move it away, or name the library otherwise with -o");
  return false;
}

/// Writes the kernels of one CPU or GPU under the requested name, those of several as NAME.CPU.EXTENSION.
bool writeKernels(Location location, const CompileFlags &flags, const CompiledProgram &program, const std::vector<std::string> &inputs,
                  std::vector<std::string> &written) {
  if (program.kernelFiles.empty()) {
    fail(flags.model, "has no kernels: library calls compute all of it", "write a program with --emit=exe");
    return false;
  }
  std::vector<std::string> paths;
  for (const auto &[cpu, text] : program.kernelFiles) {
    StringRef path = flags.output, extension = llvm::sys::path::extension(path);
    paths.push_back(program.kernelFiles.size() == 1 ? path.str() : (path.drop_back(extension.size()) + "." + cpu + extension).str());
  }
  if (!outputsAreFree(paths, inputs))
    return false;
  for (const auto &[path, file] : llvm::zip(paths, program.kernelFiles))
    if (failed(writeFileAtomically(location, path, file.second)))
      return false;
  written = paths;
  return true;
}

/// Writes a program, a tuner, or a library with its header: a copy of the file beside mpc with the sections behind it.
bool writeRunnable(Location location, const CompileFlags &flags, const CompiledProgram &program, std::vector<std::string> &written) {
  bool library = flags.emit == "lib";
  // The program comes last, so that it exists only when everything that it needs does.
  if (flags.bundle && !writeBundle(flags.output))
    return false;
  std::string base = executableFolder() + (library ? "/libmpc-program.so" : flags.emit == "tuner" ? "/mpc-tuner" : "/mpc-runner");
  auto runtime = llvm::MemoryBuffer::getFile(base);
  if (!runtime) {
    fail(base, runtime.getError().message(), "it belongs beside mpc; build or install it again");
    return false;
  }
  if (library) {
    // The header comes first, so that an existing library has its header.
    written = {headerOf(flags.output)};
    if (failed(writeFileAtomically(location, written[0], libraryHeader(program.sections.at("manifest.json"), flags.output))) ||
        failed(writeLibrary(location, flags.output, (*runtime)->getBuffer(), program.sections)))
      return false;
  } else if (failed(writeProgram(location, flags.output, (*runtime)->getBuffer(), program.sections))) {
    return false;
  }
  written.push_back(flags.output);
  return true;
}

/// Returns the command that trains the program that has just been written.
std::string nextCommand(const std::string &program, bool readsData) {
  return (program.find('/') == std::string::npos ? "./" : "") + program + " train" + (readsData ? " --data data.npz" : "") + " --checkpoint-dir checkpoints";
}

int compile(CompileFlags &flags) {
  if (!parseDims(flags.dims, flags.import) || !flags.training.resolve())
    return 1;
  TargetOptions targets;
  if (!parseTargets(flags.targets, flags.ptxas, targets))
    return 1;
  HostOptions host = hostOptions();
  host.cpus.clear();
  SmallVector<StringRef> cpus;
  StringRef(flags.cpu).split(cpus, ',');
  for (StringRef cpu : cpus) {
    if (cpu != "x86-64-v3" && cpu != "x86-64-v4" && cpu != "native")
      return fail("--cpu", "unknown CPU '" + Twine(cpu) + "'", "known CPUs: x86-64-v3, x86-64-v4, native");
    host.cpus.push_back({cpu.str()});
  }
  int64_t memoryLimit = 0;
  if (!flags.memoryLimit.empty() && !parseBytes(flags.memoryLimit, memoryLimit))
    return fail("--memory-limit",
                "'" + Twine(flags.memoryLimit) + "' is not a size, or none that a computer can have",
                "write for example 512MiB or 2GiB; without the option there is no limit");
  flags.import.openBatch = kOpenBatch;
  flags.import.mode = flags.mode == "train" ? TrainingMode::Train : flags.mode == "as-exported" ? TrainingMode::AsExported : TrainingMode::Auto;
  if (flags.output.empty())
    flags.output = defaultOutput(flags);
  if (flags.bundle && flags.emit != "exe" && flags.emit != "lib")
    return fail("--bundle", "there is nothing to put libraries beside with --emit=" + Twine(flags.emit), "leave it out, or write a program or a library");
  host.kernels = flags.emit == "obj" ? KernelForm::Relocatable : flags.emit == "llvm" ? KernelForm::LlvmIR : KernelForm::Shared;
  bool gpuKernels = flags.emit == "ptx" || flags.emit == "cubin";
  if (gpuKernels && !emitGpuKernels(flags.emit == "cubin", targets))
    return 1;
  if (host.kernels != KernelForm::Shared && !targets.gpus.empty())
    return fail("--emit", Twine(flags.emit) + " is a form of host code, and " + targets.gpus.front().arch->name + " is a GPU",
                "leave it out of --target; --emit=ptx or cubin writes its kernels");
  if (flags.kernelReport && targets.gpus.empty())
    return fail("--kernel-report", "there are no GPU kernels to report on", "add a GPU to --target: --target=sm_80");
  if (host.kernels != KernelForm::Shared && !targets.host)
    return fail("--emit", Twine(flags.emit) + " is a form of host code", "add host to --target");
  if (flags.emit == "tuner") {
    if (targets.gpus.empty())
      return fail("--emit", "a tuner measures GPU kernels, and there is no GPU", "add one to --target: --target=sm_90a");
    if (!flags.tunings.empty())
      return fail("--tune", "a tuner measures and takes no measurements", "leave it out");
    targets.host.reset();
  }
  if (targets.host)
    targets.host = host;

  auto start = std::chrono::steady_clock::now();
  Session session(!flags.quiet);
  DefaultTimingManager timing; // prints at the end what --mlir-timing requests
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope times = timing.getRootScope();
  ImportReport report;
  if (!addTunings(session.context(), flags.tunings, targets))
    return 1;
  TimingScope importing = times.nest("import");
  OwningOpRef<ModuleOp> module = importForTraining(session.context(), flags.model, flags.import, flags.training.options, report);
  importing.stop();
  llvm::append_range(report.files, flags.tunings);
  if (!module || !knownOutputsAreFree(flags, report.files))
    return 1;
  bool dumped = false;
  auto dump = [&](StringRef stage, ModuleOp m) {
    if (flags.dumpIr != stage && flags.dumpIr != "all")
      return;
    dumped = true;
    OpPrintingFlags printing;
    printing.elideLargeElementsAttrs(16).elideLargeResourceString(64);
    if (flags.dumpIr == "all")
      llvm::errs() << "// ===== " << stage << '\n';
    m->print(llvm::errs(), printing);
    llvm::errs() << '\n';
  };
  Watch watch{.stage = {}, .timing = &times};
  if (!flags.dumpIr.empty())
    watch.stage = dump;
  dump("import", *module);
  if (failed(buildTraining(*module, flags.training.options, watch)))
    return 1;
  if (!flags.quiet) {
    llvm::append_range(report.assumed, assumedLosses(*module));
    printAssumed(report.assumed, flags.training, dataArrays(*module));
  }
  std::string name = llvm::sys::path::stem(flags.model).str();
  auto location = NameLoc::get(StringAttr::get(&session.context(), flags.output));
  if (flags.emit == "mlir") {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, OpPrintingFlags().enableDebugInfo());
    return failed(writeFileAtomically(location, flags.output, text));
  }
  FailureOr<CompiledProgram> program = flags.emit == "tuner" ? compileTuner(*module, targets.gpus, name, watch)
                                                             : compileProgram(*module, targets, name, &flags.training.options, watch);
  if (failed(program) || !addEmulator(targets, *program))
    return 1;
  if (!flags.dumpIr.empty() && !dumped)
    return fail("--dump-ir", "no stage '" + Twine(flags.dumpIr) + "'",
                "stages: import, training, autocast, autodiff, loss-scaling, optimizers, master-weights, layout, decompose, fusion, memory, kernels, all; candidates behind fusion in a tuner; those from "
                "layout on of a second target: sm_80.layout and so on");
  program->sections["installation"] = executableFolder(); // the program looks for plugins there
  for (const TargetSummary &plan : program->targets)
    if (memoryLimit && plan.peakBytes > memoryLimit)
      return fail(flags.model,
                  "needs " + printBytes(plan.peakBytes) + " on " + plan.target + ", more than the limit of " + printBytes(memoryLimit),
                  smallerHint(flags.training.options));

  std::vector<std::string> written;
  if (!(flags.emit == "obj" || flags.emit == "llvm" || gpuKernels ? writeKernels(location, flags, *program, report.files, written)
                                                    : writeRunnable(location, flags, *program, written)))
    return 1;
  if (!flags.quiet) {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const std::string &path : written) {
      uint64_t fileBytes = 0;
      if (!llvm::sys::fs::file_size(path, fileBytes))
        llvm::outs() << path << ": " << printBytes(fileBytes) << '\n';
    }
    bool several = program->targets.size() > 1;
    for (const TargetSummary &plan : program->targets) {
      std::string prefix = several ? plan.target + ": " : "";
      llvm::outs() << prefix << llvm::formatv("{0} launches, {1} kernels", plan.launches, plan.kernels);
      if (several)
        llvm::outs() << '\n';
      else
        llvm::outs() << llvm::formatv(", {0:f2} s\n", seconds);
      llvm::outs() << prefix
                   << llvm::formatv("memory: state {0}, temporaries {1} (saved for the backward pass {2}), peak {3}{4}\n", printBytes(plan.stateBytes),
                                    printBytes(plan.temporaryBytes), printBytes(plan.savedBytes), printBytes(plan.peakBytes), memoryLimit ? " (fits)" : "");
    }
    if (several)
      llvm::outs() << llvm::formatv("{0:f2} s\n", seconds);
  }
  if (flags.kernelReport)
    printKernelReport(*program);
  if (!flags.quiet && flags.emit == "exe")
    llvm::outs() << "next: " << nextCommand(flags.output, !dataArrays(*module).empty()) << '\n';
  return 0;
}

} // namespace

void addCompileCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App *command = app.add_subcommand("compile", "Compiles an ONNX network to a training program");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_option("-o,--output", flags->output, "The program (default: the model's name)");
  command->add_option("--target", flags->targets, "Where the program runs, several allowed: " + targetNames() + "; emulator adds the kernels of the named GPUs for the CPU")
      ->delimiter(',')->capture_default_str();
  command->add_flag("--kernel-report", flags->kernelReport, "Print tables of the GPU kernels: registers, shared memory, instructions that decide the speed; and of matrix products and convolutions: schedule and expected time");
  command->add_option("--tune", flags->tunings, "Measured schedules of products and convolutions, as a tuner wrote them (--emit=tuner); one file for each GPU of --target")
      ->allow_extra_args(false);
  command->add_option("--ptxas", flags->ptxas, "Path of the assembler that makes cubins of PTX, or none: PTX only (default: on the PATH, in $CUDA_HOME or /usr/local/cuda)");
  command->add_option("--cpu", flags->cpu, "CPUs that host code is made for; the program takes the best it can run")->capture_default_str();
  command->add_option("--emit", flags->emit, "exe: a program; lib: a shared library and its C header; tuner: a program that measures schedules of the model's products and convolutions on a GPU, for --tune; obj, llvm: the kernels as objects or LLVM IR, one file a CPU; ptx, cubin: those of GPUs, one file a GPU; mlir: the target-free module")
      ->check(CLI::IsMember({"exe", "lib", "tuner", "obj", "llvm", "ptx", "cubin", "mlir"}))->capture_default_str();
  command->add_option("--mode", flags->mode, "Batch norms and dropouts in inference form. train: they train; as-exported: they stay; auto: they stay in a file that was exported for training, else they train")
      ->check(CLI::IsMember({"auto", "train", "as-exported"}))->capture_default_str();
  command->add_option("--memory-limit", flags->memoryLimit, "Fail if the plan needs more (512MiB, 2GiB)");
  command->add_option("--dump-ir", flags->dumpIr, "Print the IR after a stage (or all) to stderr");
  command->add_flag("--bundle", flags->bundle, "Put the libraries that the program opens beside it");
  command->add_flag("-q,--quiet", flags->quiet, "Print errors and warnings only");
  addImportOptions(*command, flags->import, flags->dims);
  flags->training.addTo(*command);
  command->callback([flags, &status] { status = compile(*flags); });
}

} // namespace mpc::tool
