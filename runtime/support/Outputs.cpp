// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/Outputs.h"

#include "runtime/support/Error.h"

#include <sys/stat.h>

namespace mpc::rt {

void checkOutput(const std::string &output, const std::vector<std::string> &inputs) {
  struct stat written, read;
  if (stat(output.c_str(), &written) != 0 || !S_ISREG(written.st_mode))
    return;
  for (const std::string &input : inputs)
    if (stat(input.c_str(), &read) == 0 && read.st_dev == written.st_dev && read.st_ino == written.st_ino)
      fail(output,
           input == output ? std::string("is read, so it cannot be written")
                           : concat("is the same file as ", input, ", which is read, so it cannot be written"),
           "give the output another name");
}

bool makeFolders(const std::string &folder) {
  for (size_t end = 0; end != folder.npos;) { // the outermost first
    end = folder.find('/', end + 1);
    mkdir(folder.substr(0, end).c_str(), 0777);
  }
  struct stat info;
  return stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

} // namespace mpc::rt
