// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/FaultReport.h"

#include "runtime/support/Error.h"
#include "runtime/support/MappedFile.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <unistd.h>

namespace mpc::rt {

static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
/// The text is written in advance, because a signal handler may not even allocate.
static char message[1024];

static void print(const char *text) { [[maybe_unused]] ssize_t written = write(2, text, std::strlen(text)); }

/// Ends the process when the fault is in a mapped file: the kernel sends SIGBUS when a page has no file behind it. A
/// signal from another process has no address.
static void reportFile(int signal, const siginfo_t *info) {
  if (signal != SIGBUS || info->si_code <= 0)
    return;
  MappedFile::visit(info->si_addr, [](const MappedFile &file) {
    print("error: ");
    print(file.path().c_str());
    print(": became shorter while it was read, or its disk cannot be read\n"
          "hint: leave the file alone while the program runs; go on with --resume where there are checkpoints\n");
    _exit(1);
  });
}

static void onFileFault(int signal, siginfo_t *info, void *) {
  reportFile(signal, info);
  std::signal(signal,
              SIG_DFL); // the access is repeated, and then ends the process as it would have done without the handler
  if (info->si_code <= 0)
    raise(signal); // another process sent the signal, so nothing repeats it
}

static void onFault(int signal, siginfo_t *info, void *) {
  reportFile(signal, info);
  print(message);
  _exit(1);
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), struct sigaction *before) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, before);
}

void reportShortenedFiles() { handle(SIGBUS, onFileFault, nullptr); }

FaultReport::FaultReport() {
  enter("before the first launch");
  for (size_t i = 0; i < std::size(kSignals); ++i)
    handle(kSignals[i], onFault, &before_[i]);
}

FaultReport::~FaultReport() {
  for (size_t i = 0; i < std::size(kSignals); ++i)
    sigaction(kSignals[i], &before_[i], nullptr);
}

void FaultReport::enter(const std::string &what) {
  std::snprintf(
      message, sizeof message, "%s",
      Error("", what + ": its code faulted", "please report it with the model and the options").text().c_str());
}

} // namespace mpc::rt
