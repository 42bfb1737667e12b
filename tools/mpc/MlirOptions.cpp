//===- MlirOptions.cpp - MLIR's own options on mpc's command line ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/MlirOptions.h"
#include "tools/mpc/Common.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"

bool mpc::tool::takeMlirOptions(std::vector<std::string> &words) {
  std::vector<std::string> ours{"mpc"};
  auto isMlirs = [](const std::string &word) { return llvm::StringRef(word).starts_with("--mlir-"); };
  llvm::copy_if(words, std::back_inserter(ours), isMlirs);
  llvm::erase_if(words, isMlirs);
  if (ours.size() == 1)
    return true;
  registerAllPasses(runtimeHooks()); // which --mlir-print-ir-after= and crash reproducers name
  mlir::registerAsmPrinterCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  std::vector<const char *> arguments;
  for (const std::string &word : ours)
    arguments.push_back(word.c_str());
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (llvm::cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(), "", &stream))
    return true;
  // Parsers of values print what they reject themselves.
  fail("command line",
       errors.empty() ? "an option of MLIR's has a wrong value, named above" : llvm::StringRef(errors).trim(),
       "run 'mpc-opt --help' for MLIR's options");
  return false;
}
