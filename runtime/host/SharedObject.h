// A shared object that is opened from memory.
#pragma once

#include <string>
#include <string_view>

namespace mpc::rt {

class SharedObject {
public:
  /// All symbols are bound now; `global` makes its own visible to objects that are opened later. Its imports resolve to libm, libc and what this program
  /// exports. Throws Error located at `where`.
  SharedObject(std::string_view bytes, const std::string &where, bool global = false);
  ~SharedObject();
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;

  /// Null when there is none of this name.
  void *symbol(const std::string &name) const;

private:
  void *handle_ = nullptr;
  int file_ = -1; // open as long as the object: dlopen takes two objects of one name, /proc/self/fd/N, for the same
};

} // namespace mpc::rt
