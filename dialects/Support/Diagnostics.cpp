#include "dialects/Support/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

LogicalResult mpc::emitErrorWithHint(Location loc, const Twine &message, const Twine &hint) {
  InFlightDiagnostic diagnostic = emitError(loc) << message;
  diagnostic.attachNote(loc) << "hint: " << hint;
  return diagnostic;
}

std::string mpc::locationName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location inner : fused.getLocations())
      if (std::string name = locationName(inner); name != "unknown")
        return name;
    return "unknown";
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return locationName(call.getCallee());
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    std::string text;
    llvm::raw_string_ostream(text) << file.getFilename().strref() << ':' << file.getLine() << ':' << file.getColumn();
    return text;
  }
  return "unknown";
}
