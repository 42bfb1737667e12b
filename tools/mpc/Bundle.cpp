#include "tools/mpc/Bundle.h"
#include "tools/mpc/Common.h"
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <set>

namespace fs = std::filesystem;

namespace mpc::tool {

/// Paths of libdnnl and libgomp as the dynamic linker found them for the plugin, from this process's own map.
static std::set<std::string> loadedLibraries() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    size_t at = line.find('/');
    if (at == std::string::npos)
      continue;
    std::string path = line.substr(at), name = fs::path(path).filename().string();
    if (name.starts_with("libdnnl.so") || name.starts_with("libgomp.so"))
      paths.insert(path);
  }
  return paths;
}

bool writeBundle(const std::string &program) {
  std::string plugin = executableFolder() + "/libmpc_onednn.so";
  if (!dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    fail("--bundle", "the oneDNN plugin does not load: " + llvm::Twine(dlerror()), "install oneDNN, or leave --bundle out: the program then runs its own loops");
    return false;
  }
  fs::path folder = fs::absolute(program).parent_path();
  auto place = [&](const fs::path &from, const std::string &name) {
    fs::path to = folder / name, temporary = folder / (name + ".tmp");
    std::error_code code;
    if (fs::exists(to, code) && fs::equivalent(from, to, code))
      return true;
    fs::copy_file(from, temporary, fs::copy_options::overwrite_existing, code);
    if (!code)
      fs::rename(temporary, to, code);
    if (code) {
      std::error_code ignored;
      fs::remove(temporary, ignored);
      fail(to.string(), "cannot be written: " + llvm::Twine(code.message()), "choose another folder with -o");
    }
    return !code;
  };
  if (!place(plugin, "libmpc_onednn.so"))
    return false;
  for (const std::string &path : loadedLibraries()) {
    // The name that others ask for: libdnnl.so.2.6 is opened as libdnnl.so.2.
    std::string name = fs::path(path).filename().string();
    size_t major = name.find(".so.");
    size_t rest = major == std::string::npos ? major : name.find('.', major + 4);
    if (!place(path, rest == std::string::npos ? name : name.substr(0, rest)))
      return false;
  }
  return true;
}

} // namespace mpc::tool
