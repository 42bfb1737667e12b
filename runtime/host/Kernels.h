// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiled kernels of a model on the host: shared objects that are opened from memory, or C++ functions that
// tests supply.
#pragma once

#include "mpc/kernel.h"
#include "runtime/host/SharedObject.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace mpc::rt {

/// Maps symbols to functions; with it tests and in-process users supply kernels without an object.
using KernelTable = std::map<std::string, mpc_kernel_fn, std::less<>>;

/// Returns the name of the section to load on this CPU: host.native.so, which needs the features that host.native.cpu
/// lists, then those of the levels of mpc/cpu.h, the best level first. Returns "" when there is no host object; throws
/// Error (located at `where`) when there are some but the CPU can run none.
std::string bestKernelObject(const std::map<std::string, std::string_view> &sections, const std::string &where);

class Kernels {
public:
  explicit Kernels(KernelTable table = {}) : table_(std::move(table)) {}

  /// Opens a shared object, whose imports resolve to libm, libc and the conversion helpers of KernelImports.cpp. Throws
  /// Error located at `where`.
  void load(std::string_view object, const std::string &where);

  /// Returns the kernel of that symbol; throws Error when there is none.
  mpc_kernel_fn find(const std::string &symbol) const;

private:
  KernelTable table_;
  std::optional<SharedObject> object_;
  std::string where_ = "program";
};

} // namespace mpc::rt
