#include "runtime/host/FaultReport.h"

#include "runtime/support/Error.h"

#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace mpc::rt {

static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
/// Written beforehand: a handler may not even allocate.
static char message[1024];

static void report(int) {
  size_t length = 0;
  while (message[length])
    ++length;
  [[maybe_unused]] ssize_t written = write(2, message, length);
  _exit(1);
}

FaultReport::FaultReport() {
  enter("before the first launch");
  for (int each : kSignals)
    std::signal(each, report);
}

FaultReport::~FaultReport() {
  for (int each : kSignals)
    std::signal(each, SIG_DFL);
}

void FaultReport::enter(const std::string &what) {
  std::snprintf(message, sizeof message, "%s",
                Error("", what + ": its code faulted", "please report it with the model and the options")
                    .text()
                    .c_str());
}

} // namespace mpc::rt
