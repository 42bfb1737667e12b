// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses the provider of matrix products and convolutions: the oneDNN plugin if it is found, else the generic loops.
#pragma once

#include "mpc/library.h"
#include "runtime/host/Threads.h"

#include <functional>
#include <string>
#include <string_view>

namespace mpc::rt {

/// Receives one line for the user.
using NoteSink = std::function<void(const std::string &)>;

class LibraryProvider {
public:
  /// `choice`: "auto" (oneDNN, or generic with one note), "onednn" (throws Error when it is missing) or "generic".
  /// The plugin is libmpc_onednn.so; Plugins.h says where it is looked for.
  LibraryProvider(std::string_view choice, int threads, const std::string &installation, const NoteSink &note);

  /// A primitive together with its provider. create() takes the best provider that supports the description, and throws
  /// Error located at `where` when none does.
  struct Primitive {
    const mpc_library *library;
    mpc_library_primitive *primitive;
  };
  Primitive create(const mpc_library_desc &desc, const std::string &where) const;

  /// Makes the built-in provider execute on these threads from now on; null: on the calling thread. This setting
  /// is process-wide.
  static void useThreads(Threads *threads);

  /// Returns "oneDNN 2.6.3" or "generic".
  const char *name() const { return (plugin_ ? plugin_ : generic_)->name; }

private:
  const mpc_library *plugin_ = nullptr;
  const mpc_library *generic_ = nullptr;
};

} // namespace mpc::rt
