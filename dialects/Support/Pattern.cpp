// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Pattern.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;

FailureOr<llvm::Regex> mpc::compilePattern(Location loc, StringRef text) {
  return compilePattern([&] { return emitError(loc); }, text);
}

FailureOr<llvm::Regex> mpc::compilePattern(function_ref<InFlightDiagnostic()> emitError, StringRef text) {
  llvm::Regex regex(text);
  std::string why;
  if (regex.isValid(why))
    return regex;
  return emitErrorWithHint(emitError, "'" + text + "' is not a regular expression: " + why,
                           "write a POSIX extended regular expression, as in '^conv1\\.'");
}
