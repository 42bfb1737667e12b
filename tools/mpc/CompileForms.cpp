//===- CompileForms.cpp - what `mpc compile --emit` can write ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/CompileForms.h"
#include "compiler/Package/LibraryFile.h"
#include "compiler/Package/ProgramFile.h"
#include "tools/mpc/Bundle.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace mpc::tool {
namespace {

/// Returns dir/lenet.h for dir/liblenet.so.
std::string headerOf(StringRef library) {
  StringRef stem = llvm::sys::path::stem(library);
  if (stem.size() > 3)
    stem.consume_front("lib");
  llvm::SmallString<128> path(llvm::sys::path::parent_path(library));
  llvm::sys::path::append(path, stem + ".h");
  return path.str().str();
}

/// Writes the kernels of one CPU or GPU under the requested name, those of several as NAME.CPU.EXTENSION.
bool writeKernels(Location location, const CompileFlags &flags, const OutputForm &, const CompiledProgram &program,
                  const std::vector<std::string> &inputs, std::vector<std::string> &written) {
  if (program.kernelFiles.empty()) {
    fail(flags.model, "has no kernels: library calls compute all of it", "write a program with --emit=exe");
    return false;
  }
  std::vector<std::string> paths;
  for (const auto &[cpu, text] : program.kernelFiles) {
    StringRef path = flags.output, extension = llvm::sys::path::extension(path);
    paths.push_back(program.kernelFiles.size() == 1 ? path.str()
                                                    : (path.drop_back(extension.size()) + "." + cpu + extension).str());
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
bool writeRunnable(Location location, const CompileFlags &flags, const OutputForm &form, const CompiledProgram &program,
                   const std::vector<std::string> &, std::vector<std::string> &written) {
  // The program comes last, so that it exists only when everything that it needs does.
  if (flags.bundle && !writeBundle(flags.output))
    return false;
  std::string base = executableFolder() + "/" + form.runtime;
  auto runtime = llvm::MemoryBuffer::getFile(base);
  if (!runtime) {
    fail(base, runtime.getError().message(), "it belongs beside mpc; build or install it again");
    return false;
  }
  if (form.header) {
    // The header comes first, so that an existing library has its header.
    written = {headerOf(flags.output)};
    if (failed(writeFileAtomically(location, written[0],
                                   libraryHeader(program.sections.at("manifest.json"), flags.output))) ||
        failed(writeLibrary(location, flags.output, (*runtime)->getBuffer(), program.sections)))
      return false;
  } else if (failed(writeProgram(location, flags.output, (*runtime)->getBuffer(), program.sections))) {
    return false;
  }
  written.push_back(flags.output);
  return true;
}

template <KernelForm kernels>
bool chooseHostKernels(const CompileFlags &flags, TargetOptions &targets) {
  if (!targets.gpus.empty()) {
    fail("--emit", Twine(flags.emit) + " is a form of host code, and " + targets.gpus.front().arch->name + " is a GPU",
         "leave it out of --target; --emit=ptx or cubin writes its kernels");
    return false;
  }
  if (!targets.host) {
    fail("--emit", Twine(flags.emit) + " is a form of host code", "add host to --target");
    return false;
  }
  targets.host->kernels = kernels;
  return true;
}

template <bool cubin>
bool chooseGpuKernels(const CompileFlags &, TargetOptions &targets) {
  return emitGpuKernels(cubin, targets);
}

bool chooseGpus(const CompileFlags &flags, TargetOptions &targets) {
  if (targets.gpus.empty()) {
    fail("--emit", "a tuner measures GPU kernels, and there is no GPU", "add one to --target: --target=sm_90a");
    return false;
  }
  if (!flags.tunings.empty()) {
    fail("--tune", "cannot be used with --emit=tuner", "leave it out");
    return false;
  }
  targets.host.reset();
  return true;
}

FailureOr<CompiledProgram> lowerProgram(ModuleOp module, const TargetOptions &targets, StringRef name,
                                        const TrainingOptions &training, const Watch &watch) {
  return compileProgram(module, targets, name, &training, watch);
}

FailureOr<CompiledProgram> lowerTuner(ModuleOp module, const TargetOptions &targets, StringRef name,
                                      const TrainingOptions &, const Watch &watch) {
  return compileTuner(module, targets.gpus, name, watch);
}

constexpr const char *hostKernels = "the kernels as objects or LLVM IR, one file a CPU",
                     *gpuKernels = "those of GPUs, one file a GPU";

// clang-format off
constexpr OutputForm forms[] = {
    {.name = "exe", .what = "a program",
     .lower = lowerProgram, .write = writeRunnable, .runtime = "mpc-runner", .loads = true, .trains = true},
    {.name = "lib", .what = "a shared library and its C header", .prefix = "lib", .suffix = ".so",
     .lower = lowerProgram, .write = writeRunnable, .runtime = "libmpc-program.so", .loads = true, .header = true},
    {.name = "tuner",
     .what = "a program that measures schedules of the model's products and convolutions on a GPU, for --tune",
     .suffix = "-tuner", .chooseTargets = chooseGpus,
     .lower = lowerTuner, .write = writeRunnable, .runtime = "mpc-tuner"},
    {.name = "obj", .what = hostKernels, .suffix = ".o", .chooseTargets = chooseHostKernels<KernelForm::Relocatable>,
     .lower = lowerProgram, .write = writeKernels},
    {.name = "llvm", .what = hostKernels, .suffix = ".ll", .chooseTargets = chooseHostKernels<KernelForm::LlvmIR>,
     .lower = lowerProgram, .write = writeKernels},
    {.name = "ptx", .what = gpuKernels, .suffix = ".ptx", .chooseTargets = chooseGpuKernels<false>,
     .lower = lowerProgram, .write = writeKernels},
    {.name = "cubin", .what = gpuKernels, .suffix = ".cubin", .chooseTargets = chooseGpuKernels<true>,
     .lower = lowerProgram, .write = writeKernels},
    {.name = "mlir", .what = "the target-free module", .suffix = ".mlir"},
};
// clang-format on

} // namespace

const OutputForm &formNamed(StringRef name) {
  return *llvm::find_if(forms, [&](const OutputForm &form) { return name == form.name; });
}

std::vector<std::string> formNames() {
  std::vector<std::string> names;
  for (const OutputForm &form : forms)
    names.push_back(form.name);
  return names;
}

std::string describeForms() {
  std::string text;
  StringRef said;
  for (const OutputForm &form : llvm::reverse(forms)) {
    bool again = said == form.what;
    text = std::string(form.name) + (again ? ", " : std::string(": ") + form.what + (said.empty() ? "" : "; ")) + text;
    said = form.what;
  }
  return text;
}

bool knownOutputsAreFree(const CompileFlags &flags, const OutputForm &form, const std::vector<std::string> &inputs) {
  if (!form.header)
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
  fail(header, "exists and is no header of mpc's, so the library's is not written there",
       "move it away, or name the library otherwise with -o");
  return false;
}

} // namespace mpc::tool
