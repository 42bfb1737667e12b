// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled program: manifest, data section and kernels, from a file or from memory.
#pragma once

#include "runtime/core/Manifest.h"
#include "runtime/host/Kernels.h"
#include "runtime/support/MappedFile.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace mpc::rt {

class Program {
public:
  /// Opens the sections behind the running executable, or behind the library that contains the runtime. Throws Error
  /// when there are none or they are damaged.
  static std::shared_ptr<const Program> openSelf();
  /// Opens the sections of the program file at `path`.
  static std::shared_ptr<const Program> open(const std::string &path);
  /// Makes a program in this process. `sections` holds what a file would: "data" (may be absent) and shared objects by
  /// their section names; bytes are kept in strings. Kernels that `kernels` names replace those of the objects.
  static std::shared_ptr<const Program>
  fromMemory(std::string_view manifestJson, std::map<std::string, std::string> sections = {}, KernelTable kernels = {});
  ~Program();

  const Manifest &manifest() const { return manifest_; }
  /// Returns the location to name in errors about the program itself: the file's path or "program".
  const std::string &where() const { return where_; }
  std::string_view data() const { return section("data"); }
  /// Returns the bytes of a section, empty when there is none. The first call verifies its checksum and throws Error
  /// when it is wrong.
  std::string_view section(const std::string &name) const;
  bool has(const std::string &section) const { return sections_.count(section) != 0; }
  /// Gives the memory of the data section back to the system until somebody reads it again.
  void releaseData() const;
  /// Returns the kernels of the best object that this CPU runs; the first call loads them. Throws Error when every
  /// object needs another CPU or cannot be loaded.
  const Kernels &kernels() const;
  /// Returns the names of all sections, for `info`.
  const std::map<std::string, std::string_view> &sections() const { return sections_; }

private:
  Program() = default;
  void readSections();
  int64_t dataBytes() const;

  std::string where_ = "program";
  Manifest manifest_;
  std::map<std::string, std::string> owned_; // filled by fromMemory
  std::shared_ptr<const MappedFile> file_;   // set by open
  std::map<std::string, std::string_view> sections_;
  std::map<std::string, uint32_t> checksums_;
  KernelTable table_;
  mutable std::unique_ptr<Kernels> kernels_;
  mutable std::set<std::string> verified_; // sections whose checksum was verified
};

} // namespace mpc::rt
