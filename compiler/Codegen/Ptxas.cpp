//===- Ptxas.cpp - runs ptxas and reads its report -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/Ptxas.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace mpc;

std::string mpc::findPtxas() {
  if (auto path = sys::findProgramByName("ptxas"))
    return *path;
  std::vector<std::string> folders;
  if (const char *home = std::getenv("CUDA_HOME"))
    folders.push_back(std::string(home) + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  for (StringRef folder : folders)
    if (auto path = sys::findProgramByName("ptxas", folder))
      return *path;
  return "";
}

/// The text between two marks, or "".
static StringRef between(StringRef text, StringRef before, StringRef after) {
  size_t at = text.find(before);
  if (at == StringRef::npos)
    return "";
  text = text.substr(at + before.size());
  return text.substr(0, text.find(after));
}

/// The number in front of `unit`: numberBefore("Used 10 registers, 4 bytes smem", " registers") is 10.
static int numberBefore(StringRef line, StringRef unit) {
  size_t at = line.find(unit);
  if (at == StringRef::npos)
    return 0;
  StringRef digits = line.substr(0, at);
  digits = digits.substr(digits.find_last_not_of("0123456789") + 1); // npos + 1 is 0
  int value = 0;
  return digits.getAsInteger(10, value) ? 0 : value;
}

StringMap<PtxasReport> mpc::parsePtxasReport(StringRef text) {
  StringMap<PtxasReport> reports;
  std::string current;
  for (StringRef line : split(text, '\n')) {
    if (StringRef name = between(line, "Compiling entry function '", "'"); !name.empty())
      current = name.str();
    if (line.contains("Function properties for")) {
      StringRef name = line.substr(line.find("for ") + 4).trim();
      if (reports.count(name)) // device functions have properties, too
        current = name.str();
    }
    if (current.empty())
      continue;
    PtxasReport &report = reports[current];
    if (line.contains("bytes spill stores")) {
      report.stackBytes = numberBefore(line, " bytes stack frame");
      report.spillStoreBytes = numberBefore(line, " bytes spill stores");
      report.spillLoadBytes = numberBefore(line, " bytes spill loads");
    }
    if (line.contains("Used ") && line.contains(" registers")) {
      report.registers = numberBefore(line, " registers");
      report.barriers = numberBefore(line, " barriers");
      report.sharedBytes = numberBefore(line, " bytes smem");
      report.constantBytes = numberBefore(line, " bytes cmem[0]");
    }
    bool advice = line.contains(": (C7");
    if (advice || line.contains("ptxas warning")) {
      StringRef name = between(line, "function '", "'");
      PtxasReport &owner = name.empty() ? report : reports[name];
      owner.warnings.push_back(line.substr(advice ? line.find("(C7") : line.find(':') + 1).trim().str());
    }
  }
  return reports;
}

std::string mpc::describePtxasError(StringRef output, StringRef ptx) {
  for (StringRef line : split(output, '\n')) {
    if (!line.contains("error") && !line.contains("fatal"))
      continue;
    // A line of ptxas is: "ptxas kernels.ptx, line 20; error   : Unknown modifier '.foo'"
    unsigned number = 0;
    if (between(line, ", line ", ";").getAsInteger(10, number))
      return line.trim().str();
    std::string kernel;
    unsigned at = 0;
    for (StringRef ptxLine : split(ptx, '\n')) {
      if (StringRef name = between(ptxLine, ".entry ", "("); !name.empty())
        kernel = name.str();
      if (++at == number)
        return ("in kernel '" + Twine(kernel) + "': " + line.substr(line.find(';') + 1).trim() + ": " + ptxLine.trim())
            .str();
    }
    return line.trim().str();
  }
  return output.trim().str();
}

namespace {
/// A file without a name in any folder. Another process can open it by its path, and it vanishes with this
/// process however that ends. Files in a temporary folder would stay if a signal arrived between their
/// creation and the code that removes them.
struct MemoryFile {
  explicit MemoryFile(const char *name) : descriptor(memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor >= 0)
      path = ("/proc/" + Twine(getpid()) + "/fd/" + Twine(descriptor)).str();
    else
      error = std::error_code(errno, std::generic_category());
  }
  ~MemoryFile() {
    if (descriptor >= 0)
      close(descriptor);
  }
  MemoryFile(const MemoryFile &) = delete;

  std::string contents() const {
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

  int descriptor;
  std::string path;
  std::error_code error;
};
} // namespace

PtxasResult mpc::runPtxas(StringRef ptxas, StringRef ptx, const GpuArch &arch) {
  PtxasResult result;
  MemoryFile input("mpc.ptx"), output("mpc.cubin"), log("mpc.log");
  for (const MemoryFile *file : {&input, &output, &log})
    if (file->error) {
      result.error = "cannot create a file in memory: " + file->error.message();
      return result;
    }
  {
    std::error_code error;
    raw_fd_ostream file(input.path, error);
    if (!error)
      file << ptx;
    file.close();
    if (error || file.has_error()) {
      result.error = "cannot write a file in memory: " + (error ? error : file.error()).message();
      file.clear_error();
      return result;
    }
  }
  // With fmad=false multiplications and additions stay as the kernel has them, as they do in PTX that the
  // driver compiles.
  std::string arguments[] = {ptxas.str(), "-arch=" + arch.name.str(), "-O3", "-v", "--fmad=false", "-o", output.path,
                             input.path};
  SmallVector<StringRef> argv(std::begin(arguments), std::end(arguments));
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log.path), StringRef(log.path)};
  std::string message;
  int status =
      sys::ExecuteAndWait(ptxas, argv, std::nullopt, redirects, /*SecondsToWait=*/600, /*MemoryLimit=*/0, &message);
  std::string text = log.contents();
  if (status != 0) {
    if (message.empty())
      message = "with status " + std::to_string(status);
    result.error = ptxas.str() + " failed " + (text.empty() ? message : describePtxasError(text, ptx));
    return result;
  }
  result.cubin = output.contents();
  if (result.cubin.empty()) {
    result.error = ptxas.str() + " has written no cubin";
    return result;
  }
  result.reports = parsePtxasReport(text);
  return result;
}
