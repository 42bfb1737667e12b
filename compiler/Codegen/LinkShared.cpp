//===- LinkShared.cpp - object files to a shared object, in process ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Codegen/LinkShared.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;

static constexpr llvm::StringLiteral kTemporaryHint =
    "set TMPDIR to a folder that can be written, with room for the object files";

static FailureOr<std::string> link(Location loc, ArrayRef<std::string> objects, ArrayRef<std::string> flags) {
  // LLD keeps its state in globals, so only one thread may link at a time.
  static std::mutex oneAtATime;
  std::lock_guard<std::mutex> lock(oneAtATime);

  llvm::SmallString<128> directory;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("mpc-link", directory))
    return mpc::emitErrorWithHint(loc, "cannot create a temporary directory: " + error.message(), kTemporaryHint);
  struct Cleanup {
    StringRef path;
    std::vector<std::string> onSignal; // files that a signal or a lack of memory removes; then the directory stays
    ~Cleanup() {
      (void)llvm::sys::fs::remove_directories(path);
      for (const std::string &file : onSignal)
        llvm::sys::DontRemoveFileOnSignal(file);
    }
  } cleanup{directory, {}};
  auto inside = [&](const Twine &name) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return std::string(path);
  };

  std::string result = inside("out");
  std::vector<std::string> arguments = {"ld.lld", "--threads=1", "-o", result};
  llvm::append_range(arguments, flags);
  for (auto [i, object] : llvm::enumerate(objects)) {
    arguments.push_back(inside(Twine(i) + ".o"));
    cleanup.onSignal.push_back(arguments.back());
    llvm::sys::RemoveFileOnSignal(arguments.back());
    std::error_code error;
    llvm::raw_fd_ostream file(arguments.back(), error);
    file << object;
    file.close();
    if (error || file.has_error()) {
      std::string reason = error ? error.message() : file.error().message();
      file.clear_error();
      return mpc::emitErrorWithHint(loc, "cannot write a temporary object file: " + reason, kTemporaryHint);
    }
  }
  llvm::SmallVector<const char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string output, errors;
  llvm::raw_string_ostream outStream(output), errStream(errors);
  lld::Result status = lld::lldMain(argv, outStream, errStream, {{lld::Gnu, &lld::elf::link}});
  if (status.retCode != 0)
    return emitError(loc, "linking failed: ") << errors, failure();
  auto buffer = llvm::MemoryBuffer::getFile(result, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return mpc::emitErrorWithHint(loc, "cannot read the linked object: " + buffer.getError().message(), kTemporaryHint);
  return (*buffer)->getBuffer().str();
}

FailureOr<std::string> mpc::linkShared(Location loc, ArrayRef<std::string> objects, StringRef soname) {
  return link(loc, objects, {"-shared", "-nostdlib", "--strip-all", "--hash-style=gnu", "-soname", soname.str()});
}

FailureOr<std::string> mpc::linkRelocatable(Location loc, ArrayRef<std::string> objects) {
  return link(loc, objects, {"-r"});
}
