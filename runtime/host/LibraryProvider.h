// Who executes matrix products and convolutions: the oneDNN plugin where it is found, else the generic loops.
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
  /// `choice`: "auto" (oneDNN, else generic with one note), "onednn" (throws Error when it is missing) or
  /// "generic". The plugin libmpc_onednn.so is looked for beside the program, in `installation` (the folder of the
  /// mpc that compiled it; may be empty), in $MPC_LIBRARY_PATH (folders separated by ':'), then by the system's loader. The
  /// first two are taken only where no other user can have put it (Trust.h). It stays loaded until the process ends.
  LibraryProvider(std::string_view choice, int threads, const std::string &installation, const NoteSink &note);

  /// A primitive of the best provider that supports the description, with its provider. Throws Error located
  /// at `where` when none does.
  struct Primitive {
    const mpc_library *library;
    mpc_library_primitive *primitive;
  };
  Primitive create(const mpc_library_desc &desc, const std::string &where) const;

  /// From now on the built-in provider executes on these threads; null: on the calling thread. Process-wide.
  static void useThreads(Threads *threads);

  /// "oneDNN 2.6.3" or "generic".
  const char *name() const { return (plugin_ ? plugin_ : generic_)->name; }

private:
  const mpc_library *plugin_ = nullptr;
  const mpc_library *generic_ = nullptr;
};

} // namespace mpc::rt
