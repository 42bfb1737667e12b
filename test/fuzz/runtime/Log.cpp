// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target resumes the JSONL log of a training after step 5: later lines are removed, all others stay, and doing it
// twice changes nothing. (A file that is not a log may begin with a line of one afterwards; it is refused then.)
#include "runtime/core/Log.h"
#include "test/fuzz/runtime/Input.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc::rt;
using namespace mpc::rt::fuzz;

namespace {
/// Returns the path of a file in memory. Unlike a memfd, the file can be replaced.
const std::string &logPath() {
  static std::string path;
  if (path.empty()) {
    std::string folder = "/dev/shm/mpc-fuzz-XXXXXX";
    if (!mkdtemp(folder.data())) {
      std::perror("/dev/shm");
      std::exit(1);
    }
    path = folder + "/log.jsonl";
    std::atexit([] {
      unlink(path.c_str());
      rmdir(path.substr(0, path.rfind('/')).c_str());
    });
  }
  return path;
}

void write(const uint8_t *data, size_t size) {
  int file = open(logPath().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ::write(file, data, size) != ssize_t(size))
    finding("cannot write the log");
  close(file);
}

std::string read() {
  int file = open(logPath().c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0)
    return "";
  std::string bytes(size_t(info.st_size), '\0');
  if (::read(file, bytes.data(), bytes.size()) != ssize_t(bytes.size()))
    finding("cannot read the log");
  close(file);
  return bytes;
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr int64_t kStep = 5;
  write(data, size);
  if (!accepts([] { RunLog log(logPath(), kStep); })) {
    if (read() != view(data, size))
      finding("a refused log was changed");
    return 0;
  }
  std::string kept = read();
  if (kept.size() > size + 1)
    finding("the log has grown");
  if (!kept.empty() && kept.back() != '\n')
    finding("the last line has no end, so that the next one would be added to it");
  bool accepted = accepts([] { RunLog log(logPath(), kStep); });
  if ((kept.starts_with("{\"step\":") && !accepted) || read() != kept)
    finding("resuming twice changes the log");
  return 0;
}
