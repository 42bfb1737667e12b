// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Plugins.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <string_view>
#include <unistd.h>

namespace mpc::rt {

/// Returns the places in the order in which they are tried. Unless the user has named the place, no other user may have
/// been able to put the plugin there.
static std::vector<CodeFile> placesOf(const char *file, const std::string &installation) {
  std::vector<CodeFile> places;
  auto add = [&](const std::string &path, CodeFile (*check)(const std::string &)) {
    if (access(path.c_str(), F_OK) == 0)
      places.push_back(check ? check(path) : CodeFile{path, ""});
  };
  if (std::string folder = programFolder(); !folder.empty())
    add(folder + file, codeFileBeside);
  bool planted = !places.empty() && !places[0].distrusted.empty();
  if (installation.starts_with('/'))
    add(concat(installation, "/", file), codeFile);
  if (const char *variable = std::getenv("MPC_LIBRARY_PATH")) {
    std::string_view list = variable;
    while (!list.empty()) {
      size_t colon = std::min(list.find(':'), list.size());
      if (colon > 0)
        add(concat(list.substr(0, colon), "/", file), nullptr);
      list.remove_prefix(std::min(colon + 1, list.size()));
    }
  }
  if (!planted) // the system's loader may look beside the program too, so it is not asked then
    places.push_back({file, ""});
  return places;
}

std::string loadPlugin(const char *file, const std::string &installation,
                       const std::function<std::string(void *handle)> &accept) {
  std::string reason;
  for (const CodeFile &place : placesOf(file, installation)) {
    const std::string &path = place.path;
    if (!place.distrusted.empty()) {
      reason = concat(path, " is not loaded, because ", place.distrusted);
      continue;
    }
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *text = dlerror();
      if (path.find('/') != path.npos) // a file that is there and does not load is worth a message
        reason = text ? text : path;
      continue;
    }
    std::string refused = accept(handle);
    if (refused.empty())
      return "";
    reason = concat(path, " ", refused);
    dlclose(handle);
  }
  return reason.empty() ? concat(file, " not found") : reason;
}

} // namespace mpc::rt
