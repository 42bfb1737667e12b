// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Interfaces/Precision.h"

using namespace mlir;
#include "dialects/Interfaces/Precision.cpp.inc"

llvm::StringRef mpc::stringify(PrecisionClass c) {
  switch (c) {
  case PrecisionClass::Low:
    return "low";
  case PrecisionClass::Fp32:
  case PrecisionClass::Fp32Range:
    return "fp32";
  case PrecisionClass::Promote:
    return "promote";
  case PrecisionClass::Follow:
    return "follow";
  case PrecisionClass::Neutral:
    return "neutral";
  case PrecisionClass::Body:
    return "body";
  }
  llvm_unreachable("all classes are handled");
}
