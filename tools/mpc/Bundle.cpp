// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/Bundle.h"
#include "runtime/core/data/Array.h"
#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"
#include "tools/mpc/Common.h"
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <map>

namespace fs = std::filesystem;

namespace mpc::tool {

/// Returns whether every Linux system with a C++ program has the library; all other libraries that a program opens
/// belong to its bundle.
static bool isOfTheSystem(llvm::StringRef name) {
  for (llvm::StringRef known :
       {"libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "libstdc++.so", "libgcc_s.so"})
    if (name.starts_with(known))
      return true;
  return false;
}

/// Returns the libraries that a loaded one needs by name (DT_NEEDED).
static std::vector<std::string> neededBy(const link_map &library) {
  const char *strings = nullptr;
  for (const ElfW(Dyn) *entry = library.l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB)
      strings = reinterpret_cast<const char *>(entry->d_un.d_ptr); // glibc has relocated this address
  std::vector<std::string> names;
  for (const ElfW(Dyn) *entry = library.l_ld; strings && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED)
      names.push_back(strings + entry->d_un.d_val);
  return names;
}

/// Maps name → file of everything that the program will open: the libraries that the plugin needs, directly or not, as
/// the dynamic linker found them for this process, and zlib, which the runner needs.
static std::map<std::string, std::string> opened(void *plugin) {
  link_map *at = nullptr;
  std::map<std::string, const link_map *> loaded;
  if (dlinfo(plugin, RTLD_DI_LINKMAP, &at) != 0)
    return {};
  const link_map *start = at;
  while (at->l_prev)
    at = at->l_prev;
  for (; at; at = at->l_next)
    if (*at->l_name)
      loaded[fs::path(at->l_name).filename().string()] = at;
  std::map<std::string, std::string> found;
  std::vector<std::string> todo = neededBy(*start);
  todo.push_back("libz.so.1");
  while (!todo.empty()) {
    std::string name = std::move(todo.back());
    todo.pop_back();
    auto it = loaded.find(name);
    if (it == loaded.end() || isOfTheSystem(name) || !found.try_emplace(name, it->second->l_name).second)
      continue;
    for (std::string &next : neededBy(*it->second))
      todo.push_back(std::move(next));
  }
  return found;
}

bool writeBundle(const std::string &program) {
  std::map<std::string, std::string> files; // by their names in the bundle
  for (const char *name : {"libmpc_onednn.so", "libmpc_images.so"}) {
    std::string plugin = executableFolder() + "/" + name;
    bool pictures = plugin.ends_with("images.so");
    if (pictures && !fs::exists(plugin)) // this mpc was built without libjpeg-turbo or libspng
      continue;
    void *handle = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      fail("--bundle",
           llvm::Twine(pictures ? "the plugin for pictures" : "the oneDNN plugin") + " does not load: " + dlerror(),
           pictures ? "install libjpeg-turbo and libspng, or remove " + plugin
                    : "install oneDNN, or leave --bundle out: the program then runs its own loops");
      return false;
    }
    files[name] = plugin;
    files.merge(opened(handle));
  }
  fs::path folder = fs::absolute(program).parent_path();
  for (const auto &[name, from] : files) {
    fs::path to = folder / name;
    std::error_code code;
    if (fs::exists(to, code) && fs::equivalent(from, to, code))
      continue;
    std::optional<rt::Error> error = rt::attempt([&, &from = from] {
      std::shared_ptr<const rt::MappedFile> library = rt::MappedFile::open(from);
      rt::AtomicFile file(to.string());
      file.write(library->bytes());
      file.commit();
    });
    if (error) {
      say(error->text());
      return false;
    }
  }
  return true;
}

} // namespace mpc::tool
