// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

LogicalResult mpc::emitErrorWithHint(Location loc, const Twine &message, const Twine &hint) {
  return emitErrorWithHint([&] { return emitError(loc); }, message, hint);
}

LogicalResult mpc::emitErrorWithHint(function_ref<InFlightDiagnostic()> emitError, const Twine &message,
                                     const Twine &hint) {
  InFlightDiagnostic diagnostic = emitError() << message;
  diagnostic.attachNote() << "hint: " << hint;
  return diagnostic;
}

std::string mpc::nodeName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return nodeName(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location inner : fused.getLocations())
      if (std::string name = nodeName(inner); !name.empty())
        return name;
  return {};
}

std::string mpc::locationName(Location loc) {
  if (std::string name = nodeName(loc); !name.empty())
    return name;
  auto file = dyn_cast<FileLineColLoc>(loc);
  if (!file)
    return "unknown";
  std::string text;
  llvm::raw_string_ostream(text) << file.getFilename().strref() << ':' << file.getLine() << ':' << file.getColumn();
  return text;
}
