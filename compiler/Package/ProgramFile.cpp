// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/ProgramFile.h"
#include "dialects/Support/Diagnostics.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

using namespace mlir;

LogicalResult mpc::writeFileAtomically(Location loc, StringRef path, StringRef bytes, unsigned mode) {
  // A device or a pipe is written directly, since a file cannot replace it.
  struct stat info;
  bool device = stat(path.str().c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
  std::string temporary = device ? path.str() : path.str() + ".tmp" + std::to_string(getpid());
  auto fail = [&](StringRef what) {
    int code = errno;
    if (!device)
      unlink(temporary.c_str());
    return emitErrorWithHint(loc, Twine("cannot ") + what + " '" + path + "': " + strerror(code),
                             "choose another place with -o; nothing was written");
  };
  int fd = open(temporary.c_str(), O_WRONLY | O_CLOEXEC | (device ? O_NONBLOCK | O_NOCTTY : O_CREAT | O_TRUNC), mode);
  if (fd < 0 && device && errno == ENXIO && S_ISFIFO(info.st_mode))
    return emitErrorWithHint(loc, Twine("'") + path + "' is a pipe that nobody reads",
                             "start its reader first, or name a file with -o");
  if (fd < 0)
    return fail("create");
  if (device)
    fcntl(fd, F_SETFL, O_WRONLY); // O_NONBLOCK was only for opening: writing does wait for a slow reader
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      close(fd);
      return fail("write");
    }
    done += n;
  }
  if (!device && (fchmod(fd, mode) != 0 || fsync(fd) != 0)) {
    close(fd);
    return fail("finish");
  }
  if (close(fd) != 0)
    return fail("finish");
  if (!device && rename(temporary.c_str(), path.str().c_str()) != 0)
    return fail("replace");
  return success();
}

LogicalResult mpc::writeProgram(Location loc, StringRef path, StringRef runner,
                                const std::map<std::string, std::string> &sections) {
  std::string file = runner.str();
  auto checksum = [](StringRef bytes) {
    return uint32_t(crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
  };
  nlohmann::json toc = {{"sections", nlohmann::json::array()}};
  for (const auto &[name, bytes] : sections) {
    file.resize((file.size() + 63) / 64 * 64);
    toc["sections"].push_back(
        {{"name", name}, {"offset", file.size()}, {"bytes", bytes.size()}, {"crc32", checksum(bytes)}});
    file += bytes;
  }
  std::string text = toc.dump();
  uint64_t trailer[3] = {file.size(), text.size(), checksum(text)};
  file += text;
  file += "MPCPROG1";
  file.append(reinterpret_cast<const char *>(trailer), sizeof trailer);
  return writeFileAtomically(loc, path, file, 0755);
}
